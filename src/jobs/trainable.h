// Trainable: a training job of any kind, as whoever queues, sizes, preempts or shows jobs sees it. A pure value,
// computed from the job object and the headers of its pods; what is to be changed is handed back as a patch of the job.
//
// It decides nothing and holds no client. job_kinds.h finds the kinds that have one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "client/api_client.h"
#include "jobs/pod_groups.h"
#include "json/value.h"

namespace gangway::jobs {

// Suspended ─► Queued ─► Starting ─► Running ─► Succeeded or Failed
//                ▲──── Restarting ◄─────┘
enum class Phase : std::uint8_t {
  kSuspended,
  kQueued,    // it wants to run, and no pod of it has a node
  kStarting,  // pods have nodes, and it does not run yet
  kRunning,
  kRestarting,
  kSucceeded,
  kFailed,
};
std::string_view to_text(Phase phase);

// The pods of one role.
struct ReplicaSet {
  std::string role = {};     // "worker"
  std::int64_t wish = 0;     // as the job says
  std::int64_t granted = 0;  // pods that have a node and have not ended
  std::int64_t minimum = 0;  // it can do with so many
  std::int64_t maximum = 0;  // and use so many
  std::string priority_class = {};
  json::Value pod_template = {};            // what one pod asks for
  std::vector<std::string> resize_at = {};  // the field that holds the wish; empty: it cannot be changed

  bool is_elastic() const { return minimum < maximum && !resize_at.empty(); }
};

// What a job can give up so that others get room.
struct Offer {
  std::int64_t shrink_by = 0;  // pods that it goes on without
  bool suspend = false;        // all of them, and it comes back from its last checkpoint
  OnPreempt when_preempted = OnPreempt::kFail;
};

struct Trainable {
  client::Resource resource = {};
  std::string kind = {};
  api::ObjectName name = {};
  std::string uid = {};
  std::vector<ReplicaSet> replicas = {};
  std::int64_t minimum = 1;         // pods that must start together
  std::string priority_class = {};  // of its chief
  Phase phase = Phase::kQueued;
  std::string message = {};  // what its last condition says
  std::string chief = {};    // the pod whose log is the job's
  std::string gang = {};     // its PodGroup; empty: it has none
  bool is_suspended = false;
  std::vector<std::string> suspend_at = {};  // the field that suspends it; empty: it cannot be
  std::int64_t attempt = 1;
  OnPreempt on_preempt = OnPreempt::kFail;

  bool is_over() const { return phase == Phase::kSucceeded || phase == Phase::kFailed; }
  const ReplicaSet* find(std::string_view role) const;
  std::int64_t wish() const;
  std::int64_t granted() const;
  Offer offer() const;

  // Merge patches of the job; an error says why it cannot be done.
  Result<json::Value> suspend(bool suspended) const;
  Result<json::Value> resize(std::string_view role, std::int64_t replicas) const;
};

// How many of the pods have a node and have not ended, by a label's value; pods that are told to end do not count.
std::int64_t count_granted(const std::vector<api::Version>& pods, std::string_view label, std::string_view value);

// The phase of a job that says its state by conditions.
Phase phase_by_conditions(const json::Value& job, bool is_suspended, std::int64_t granted);
// What its last condition says.
std::string last_message(const json::Value& job);
// The pod with that label that was made last; `otherwise` when there is none.
std::string newest_pod(const std::vector<api::Version>& pods, std::string_view label, std::string_view value,
                       std::string otherwise);

}  // namespace gangway::jobs
