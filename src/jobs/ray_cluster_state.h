// RayClusterState: the pods of a RayCluster as one look finds them. Pure.
//
// A pod belongs to the attempt that it says. Those of an earlier one count for nothing: they only have to go before
// those of the next are made.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "client/view.h"
#include "controllers/pods.h"
#include "jobs/ray_cluster.h"

namespace gangway::jobs {

struct RayPodFacts {
  controllers::PodPhase phase = controllers::PodPhase::kPending;
  bool is_ready = false;
  std::string not_ready;  // why, as its condition says
  std::string address;
  std::string node;
  std::int64_t attempt = 1;
  bool is_disrupted = false;  // somebody of higher priority has been promised its room
  bool has_lost_ray = false;  // the container that runs Ray has ended and is not started again
  struct End {
    std::int64_t code = 0;
    std::optional<WallTime> at;
  };
  std::map<std::string, End, std::less<>> ended;  // containers that have
};
RayPodFacts read_ray_pod(const api::Version& pod);

struct RayPod {
  api::Version version;
  std::shared_ptr<const RayPodFacts> facts;
  std::string_view group;  // its label
  std::int64_t slot = 0;

  const std::string& name() const { return version.header->name.name; }
  bool is_terminating() const { return controllers::is_terminating(version); }
  // It has to be replaced.
  bool has_ended() const {
    return facts->phase == controllers::PodPhase::kFailed || facts->phase == controllers::PodPhase::kSucceeded ||
           facts->has_lost_ray;
  }
  bool is_living() const { return !is_terminating() && !has_ended(); }
  bool is_running() const { return is_living() && facts->phase == controllers::PodPhase::kRunning; }
  bool is_ready() const { return is_running() && facts->is_ready; }
  // It goes, and its place is somebody else's.
  bool is_preempted() const { return facts->is_disrupted && is_terminating(); }
};

struct RayClusterState {
  RayClusterState(const RayCluster& cluster, const client::View& view);

  std::vector<RayPod> pods;  // of the present attempt, in the order of names
  std::vector<RayPod> old;   // of earlier ones

  // Null when there is none that lives.
  const RayPod* head() const;
  std::vector<const RayPod*> of_group(std::string_view group) const;
  // All that there should be are there and ready; of an elastic gang, those that it starts with.
  bool is_complete(const RayCluster& cluster) const;
  // Null when none of the present attempt is.
  const RayPod* preempted() const;
};

}  // namespace gangway::jobs
