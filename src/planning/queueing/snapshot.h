// Snapshot: all that a plan of who may run is made from. A value; whoever fills it keeps it true, the planner reads it.
//
// Queues, cohorts, flavors and workloads are named by their place in its tables. Tables have gaps where something has
// gone (an empty name), and places are used again, so nothing that is decided may depend on them: equal choices break
// on names and uids. Amounts are those of planning/resources.h: thousandths of a cpu, whole units of everything else.
//
//   Cohort ◄── parent ── Cohort ◄── cohort ── ClusterQueue ◄── queue ── Workload ── podsets ──► PodShape
//                                   groups ──► Flavor                      └── admission: what it holds
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "planning/shapes.h"
#include "planning/snapshot.h"

namespace gangway::planning::queueing {

using FlavorId = std::uint32_t;
using CohortId = std::uint32_t;
using QueueId = std::uint32_t;  // of a ClusterQueue
using LocalQueueId = std::uint32_t;
using WorkloadId = std::uint32_t;

// A kind of machines, as far as quota tells them apart.
struct Flavor {
  std::string name;
  bool exists = true;  // false: queues name it, and no such ResourceFlavor is there
  Labels node_labels = {};
  std::vector<Taint> taints = {};
  std::vector<Toleration> tolerations = {};  // given to the pods, and good against its own taints
};

struct Quota {
  std::int64_t nominal = 0;
  std::optional<std::int64_t> borrowing_limit = {};  // none: without limit
  std::optional<std::int64_t> lending_limit = {};    // none: all of it
  bool operator==(const Quota&) const = default;
};

struct FlavorQuotas {
  FlavorId flavor = kNone;
  std::vector<Quota> quotas = {};  // one for each covered resource, in their order
};

// Resources that come from the same flavor, and the flavors in the order in which they are tried.
struct ResourceGroup {
  std::vector<ResourceId> covered = {};
  std::vector<FlavorQuotas> flavors = {};
};

// Weights of fair sharing count in billionths, the finest that a quantity can say.
inline constexpr std::int64_t kWeightOne = 1'000'000'000;

struct Cohort {
  std::string name;
  CohortId parent = kNone;
  std::vector<ResourceGroup> groups = {};  // beside what its members bring along
  std::int64_t weight = kWeightOne;
};

enum class PreemptionPolicy : std::uint8_t { kNever, kLowerPriority, kLowerOrNewerEqualPriority, kAny };

struct BorrowWithinCohort {
  bool is_allowed = false;                                  // policy LowerPriority
  std::optional<std::int64_t> max_priority_threshold = {};  // no victims above it
};

struct Preemption {
  PreemptionPolicy within_queue = PreemptionPolicy::kNever;
  PreemptionPolicy reclaim = PreemptionPolicy::kNever;  // what other queues of the cohort have borrowed
  BorrowWithinCohort while_borrowing = {};
};

struct Fungibility {
  enum class Preference : std::uint8_t { kBorrowingOverPreemption, kPreemptionOverBorrowing };
  bool stops_when_borrowing = true;    // whenCanBorrow: MayStopSearch
  bool stops_when_preempting = false;  // whenCanPreempt: MayStopSearch
  Preference preference = Preference::kBorrowingOverPreemption;
};

enum class QueueingStrategy : std::uint8_t { kStrictFifo, kBestEffortFifo };

struct ClusterQueue {
  std::string name;
  CohortId cohort = kNone;
  bool is_active = true;  // false: stopped, or something it names is missing
  QueueingStrategy strategy = QueueingStrategy::kBestEffortFifo;
  std::vector<ResourceGroup> groups = {};
  Fungibility fungibility = {};
  Preemption preemption = {};
  std::int64_t weight = kWeightOne;
  bool orders_by_local_usage = false;  // admission fair sharing: the local queue that has used least comes first
};

struct LocalQueue {
  std::string ns;
  std::string name;
  std::int64_t usage = 0;  // decayed and weighted; counts only where the ClusterQueue orders by it
};

struct PodSet {
  std::string name;
  std::shared_ptr<const PodShape> shape = {};
  std::int64_t count = 1;  // that have yet to run: reclaimable pods are taken off
  std::optional<std::int64_t> min_count = {};
};

// So much of one resource in one flavor.
struct Charge {
  FlavorId flavor = kNone;
  ResourceId resource = 0;
  std::int64_t amount = 0;
  bool operator==(const Charge&) const = default;
};

struct PodSetGrant {
  std::int64_t count = 0;
  std::vector<Charge> charges = {};  // for all of its pods together
  bool operator==(const PodSetGrant&) const = default;
};

// One for each podset, in their order.
using Grant = std::vector<PodSetGrant>;

// How far the flavors of a podset's groups have been tried: the next to try, by group of the ClusterQueue.
using ScanProgress = std::vector<std::vector<std::uint32_t>>;

// Quota that is held, until the pods have gone: also by one that has been told to go.
struct Admission {
  QueueId queue = kNone;
  Grant grant = {};
  WallTime reserved = {};
  bool is_evicted = false;
};

//   waits ──► (tried) ──► holds quota ──► evicted ──► waits
//     └──► is_inadmissible ──┘ when something in the cohort changes
struct Workload {
  std::string ns;
  std::string name;
  std::string uid;
  std::string job_uid = {};
  QueueId queue = kNone;  // of its LocalQueue
  LocalQueueId local_queue = kNone;
  std::int64_t priority = 0;
  WallTime queued = {};  // its place in line: creation, or the eviction where that counts as coming anew
  std::vector<PodSet> podsets = {};
  // Pending workloads of one queue with the same number differ only in names, uids and times. Zero: like nobody.
  std::uint64_t likeness = 0;
  std::optional<Admission> admission = {};
  bool is_inadmissible = false;  // was tried, or is held back: not in line until something changes
  bool is_sticky = false;        // waits for victims of its own, at the head of a BestEffortFIFO queue
  bool has_failed_checks = false;
  bool is_namespace_selected = true;  // by the ClusterQueue
  ScanProgress progress = {};         // empty: from the first flavor
};

struct Snapshot {
  WallTime now = {};
  ResourceNames resources = {};
  std::vector<Flavor> flavors = {};
  std::vector<Cohort> cohorts = {};  // also those that are only mentioned
  std::vector<ClusterQueue> queues = {};
  std::vector<LocalQueue> local_queues = {};
  std::vector<Workload> workloads = {};
};

// "ns/name"
std::string full_name(const Workload& workload);

}  // namespace gangway::planning::queueing
