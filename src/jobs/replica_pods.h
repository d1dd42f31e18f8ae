// The pods of a job of Kubeflow's: what is read off them, how they are counted and what new ones look like, with
// the Service that leads to each. Pure.
//
// A pod belongs to the attempt that it says. Pods of earlier attempts count for nothing: they only have to go before
// those of the next are made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "client/view.h"
#include "controllers/pods.h"
#include "jobs/kubeflow_job.h"
#include "json/value.h"

namespace gangway::jobs {

struct ReplicaPodFacts {
  controllers::PodPhase phase = controllers::PodPhase::kPending;
  std::int64_t restarts = 0;  // of all its containers, init containers included
  std::int64_t attempt = 1;
  bool is_ready = false;
  std::string reason;  // of the pod as a whole: "Evicted"
  std::string message;
  bool is_disrupted = false;  // somebody of higher priority has been promised its room
  struct Exit {
    std::string container;
    std::int64_t code = 0;
  };
  std::vector<Exit> exits;  // of containers that have ended for good
};
ReplicaPodFacts read_replica_pod(const api::Version& pod);

struct ReplicaPod {
  api::Version version;
  std::shared_ptr<const ReplicaPodFacts> facts;
  const ReplicaSpec* spec = nullptr;  // null: of no type that the job has
  std::int64_t index = -1;

  const api::Header& header() const { return *version.header; }
  bool is_terminating() const { return controllers::is_terminating(version); }
  bool has_failed() const { return facts->phase == controllers::PodPhase::kFailed; }
  bool has_succeeded() const { return facts->phase == controllers::PodPhase::kSucceeded; }
  bool is_running() const { return facts->phase == controllers::PodPhase::kRunning; }
  bool has_ended() const { return has_failed() || has_succeeded(); }
  // It goes, and its place is somebody else's.
  bool is_preempted() const { return facts->is_disrupted && is_terminating(); }
  bool is_evicted() const { return has_failed() && facts->reason == "Evicted"; }
  bool has_node() const { return !header().field("spec.nodeName").empty(); }
};

// Those that the job manages, in the order of names, and then those that its Launcher's Job does.
std::vector<ReplicaPod> pods_of(const KubeflowJob& job, const client::View& view);

// Names of those of the type that run and are not told to end, in order.
std::vector<std::string> running_pods(const KubeflowJob& job, const std::vector<ReplicaPod>& pods,
                                      std::string_view type);
// As many pods of the type are ready as the job starts with: all, or what is enough for an elastic one.
bool are_enough_ready(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const ReplicaSpec& spec);

// It has a part in the present attempt.
bool has_a_part(const KubeflowJob& job, const ReplicaPod& pod);

// How the main container ended. A pod that was taken away before it could say so has none.
std::optional<std::int64_t> exit_code(const KubeflowJob& job, const ReplicaPod& pod);

json::Value replica_pod(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index);
// Headless: its name leads to the pod itself.
json::Value replica_service(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index);

}  // namespace gangway::jobs
