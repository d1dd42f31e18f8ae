// The kinds of Kueue that say what there is (kueue.x-k8s.io/v1beta2), as values. Pure.
//
// For controllers and for whoever makes snapshots for the planner. What a schema fills in is filled in here too, so
// that objects of a server without defaults read the same. What cannot be read is an error that names the field.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/selector.h"
#include "api/taints.h"
#include "base/quantity.h"
#include "base/result.h"
#include "json/value.h"

namespace gangway::api {

// Labels, annotations, gates and finalizers.
namespace kueue {
inline constexpr std::string_view kQueueNameLabel = "kueue.x-k8s.io/queue-name";
inline constexpr std::string_view kPriorityClassLabel = "kueue.x-k8s.io/priority-class";
inline constexpr std::string_view kMaxExecTimeLabel = "kueue.x-k8s.io/max-exec-time-seconds";
inline constexpr std::string_view kPrebuiltWorkloadLabel = "kueue.x-k8s.io/prebuilt-workload-name";
inline constexpr std::string_view kJobUidLabel = "kueue.x-k8s.io/job-uid";
inline constexpr std::string_view kPodSetLabel = "kueue.x-k8s.io/podset";
inline constexpr std::string_view kWorkloadAnnotation = "kueue.x-k8s.io/workload";
inline constexpr std::string_view kAdmissionGate = "kueue.x-k8s.io/admission";
inline constexpr std::string_view kTopologyGate = "kueue.x-k8s.io/topology";
inline constexpr std::string_view kInUseFinalizer = "kueue.x-k8s.io/resource-in-use";
}  // namespace kueue

enum class QueueingStrategy : std::uint8_t { kBestEffortFifo, kStrictFifo };
enum class StopPolicy : std::uint8_t { kNone, kHold, kHoldAndDrain };
enum class PreemptionPolicy : std::uint8_t { kNever, kLowerPriority, kLowerOrNewerEqualPriority, kAny };
enum class FungibilityPolicy : std::uint8_t { kMayStopSearch, kTryNextFlavor };
enum class FlavorPreference : std::uint8_t { kBorrowingOverPreemption, kPreemptionOverBorrowing };

struct QuotaOfResource {
  std::string name;
  Quantity nominal;
  std::optional<Quantity> borrowing_limit;  // none: as much as there is
  std::optional<Quantity> lending_limit;    // none: all of it
};

struct QuotaOfFlavor {
  std::string name;
  std::vector<QuotaOfResource> resources;  // in the order of the group's
};

struct ResourceGroup {
  std::vector<std::string> covered;
  std::vector<QuotaOfFlavor> flavors;  // in the order in which they are tried
};

struct CheckRule {
  std::string name;
  std::vector<std::string> on_flavors;  // none: all
};

struct ClusterQueue {
  std::string name;
  std::string cohort;  // empty: none
  std::vector<ResourceGroup> groups;
  QueueingStrategy strategy = QueueingStrategy::kBestEffortFifo;
  LabelSelector namespaces = LabelSelector::nothing();
  FungibilityPolicy when_can_borrow = FungibilityPolicy::kMayStopSearch;
  FungibilityPolicy when_can_preempt = FungibilityPolicy::kTryNextFlavor;
  FlavorPreference preference = FlavorPreference::kBorrowingOverPreemption;
  PreemptionPolicy reclaim_within_cohort = PreemptionPolicy::kNever;
  PreemptionPolicy within_cluster_queue = PreemptionPolicy::kNever;
  PreemptionPolicy borrow_within_cohort = PreemptionPolicy::kNever;
  std::optional<std::int64_t> borrow_threshold;  // the highest priority that leaves for one that borrows
  std::vector<CheckRule> checks;
  StopPolicy stop = StopPolicy::kNone;
  Quantity weight = Quantity::of(1);
  bool orders_by_usage = false;  // admissionScope: UsageBasedAdmissionFairSharing
};

struct LocalQueue {
  std::string ns;
  std::string name;
  std::string cluster_queue;
  StopPolicy stop = StopPolicy::kNone;
  Quantity weight = Quantity::of(1);
};

struct Cohort {
  std::string name;
  std::string parent;  // empty: none
  std::vector<ResourceGroup> groups;
  Quantity weight = Quantity::of(1);
};

struct ResourceFlavor {
  std::string name;
  std::vector<std::pair<std::string, std::string>> node_labels;
  std::vector<Taint> taints;
  std::vector<Toleration> tolerations;
  std::string topology;  // empty: none
};

struct WorkloadPriorityClass {
  std::string name;
  std::int64_t value = 0;
};

struct AdmissionCheck {
  std::string name;
  std::string controller;
};

struct Topology {
  std::string name;
  std::vector<std::string> levels;  // node labels, the widest first
};

Result<ClusterQueue> read_cluster_queue(const json::Value& object);
Result<LocalQueue> read_local_queue(const json::Value& object);
Result<Cohort> read_cohort(const json::Value& object);
Result<ResourceFlavor> read_resource_flavor(const json::Value& object);
Result<WorkloadPriorityClass> read_workload_priority_class(const json::Value& object);
Result<AdmissionCheck> read_admission_check(const json::Value& object);
Result<Topology> read_topology(const json::Value& object);

}  // namespace gangway::api
