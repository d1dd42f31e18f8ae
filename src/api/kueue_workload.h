// Workload of Kueue (kueue.x-k8s.io/v1beta2) as a value, with the words of its conditions. Pure.
//
// For controllers and for whoever makes snapshots for the planner. What cannot be read is an error that names the
// field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/topology_assignment.h"
#include "base/quantity.h"
#include "base/result.h"
#include "base/time.h"
#include "json/value.h"

namespace gangway::api {

namespace kueue {
// Types of conditions.
inline constexpr std::string_view kQuotaReserved = "QuotaReserved";
inline constexpr std::string_view kAdmitted = "Admitted";
inline constexpr std::string_view kEvicted = "Evicted";
inline constexpr std::string_view kPreempted = "Preempted";
inline constexpr std::string_view kRequeued = "Requeued";
inline constexpr std::string_view kPodsReady = "PodsReady";
inline constexpr std::string_view kFinished = "Finished";
}  // namespace kueue

struct TopologyRequest {
  std::string required;   // the level; empty: none
  std::string preferred;  // the level; empty: none
  bool unconstrained = false;
  std::string pod_index_label;
  std::string sub_group_index_label;
  std::optional<std::int64_t> sub_group_count;
  std::string group;  // pod sets of one group get one flavor
  struct Slice {
    std::string level;
    std::int64_t size = 0;
  };
  std::vector<Slice> slices;  // from the largest to the smallest
};

struct PodSet {
  std::string name;
  json::Value pod_template;
  std::int64_t count = 1;
  std::optional<std::int64_t> min_count;  // none: it is admitted whole
  std::optional<TopologyRequest> topology;
};

struct PriorityClassReference {
  std::string group;
  std::string kind;
  std::string name;
};

struct PodSetAssignment {
  std::string name;
  std::vector<std::pair<std::string, std::string>> flavors;  // of each resource
  std::vector<std::pair<std::string, Quantity>> usage;       // of all its pods
  std::int64_t count = 0;                                    // as the spec has it where it is not said
  std::optional<TopologyAssignment> topology;
  bool awaits_topology = false;  // delayedTopologyRequest: Pending
};

struct Admission {
  std::string cluster_queue;
  std::vector<PodSetAssignment> assignments;
};

enum class CheckState : std::uint8_t { kPending, kReady, kRetry, kRejected };

struct AdmissionCheckStatus {
  std::string name;
  CheckState state = CheckState::kPending;
  std::optional<WallTime> since;
  std::string message;
  std::optional<std::int64_t> requeue_after_seconds;
  std::int64_t retries = 0;
};

struct Workload {
  std::string ns;
  std::string name;
  std::string uid;
  std::optional<WallTime> created;
  std::vector<PodSet> pod_sets;
  std::string queue;  // empty: none
  std::optional<PriorityClassReference> priority_class;
  std::int64_t priority = 0;
  bool active = true;
  std::optional<std::int64_t> maximum_seconds;
  std::vector<std::string> preemption_gates;
  std::vector<std::string> open_gates;  // of these

  std::optional<Admission> admission;
  std::vector<std::pair<std::string, std::int64_t>> reclaimable;  // pods, by pod set
  std::vector<AdmissionCheckStatus> checks;
  std::int64_t requeues = 0;
  std::optional<WallTime> requeue_at;
  std::int64_t past_seconds = 0;
  std::vector<std::string> unhealthy_nodes;
};

Result<Workload> read_workload(const json::Value& object);

}  // namespace gangway::api
