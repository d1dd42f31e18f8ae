// Plan: what one cycle decided about the heads of the queues, as a value. Refers to the Snapshot it was made from.
//
// Doing it is the scheduler's business: writing admissions, evicting victims, keeping the marks that decide when
// somebody is tried again. Texts are made of it on demand (messages.h), so that a cycle costs none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {

// One reason why a flavor does not serve a podset.
struct Shortfall {
  enum class Kind : std::uint8_t {
    kUnused,    // quota, but too little of it is free: `amount` more is needed
    kCapacity,  // `before` + `amount` is more than the `capacity` that the queue could ever have
    kTaint,     // the taint number `amount` of the flavor
    kAffinity,
    kNoFlavor,
    kNotCovered,  // no group of the queue has the resource
  };
  std::uint32_t podset = 0;
  Kind kind = Kind::kUnused;
  FlavorId flavor = kNone;
  ResourceId resource = 0;
  std::int64_t amount = 0;
  std::int64_t before = 0;
  std::int64_t capacity = 0;
  bool operator==(const Shortfall&) const = default;
};

struct Victim {
  enum class Reason : std::uint8_t {
    kInClusterQueue,
    kInCohortReclamation,
    kInCohortReclaimWhileBorrowing,
    kInCohortFairSharing,
  };
  WorkloadId workload = kNone;
  Reason reason = Reason::kInClusterQueue;
  bool operator==(const Victim&) const = default;
};

// Why a workload is not admitted: the reason of its condition QuotaReserved.
enum class PendingReason : std::uint8_t {
  kNone,
  kNoMatchingFlavor,
  kExceedsMaxQuota,
  kWaitingForQuota,
  kWaitingForPreemptedWorkloads,
  kMisconfigured,
};

// What happened beside the shortfalls.
enum class Remark : std::uint8_t {
  kNone,
  kNoLongerFits,        // somebody before it in this cycle took the room
  kOverlappingVictims,  // somebody before it takes the same victims
  kFitsAfterOthers,     // and when they have gone there is room for both
  kFailedChecks,
  kNamespaceNotSelected,
};

struct Decision {
  enum class Outcome : std::uint8_t { kAdmit, kPreempt, kWait };
  enum class Requeue : std::uint8_t { kNone, kAtOnce, kInadmissible };
  WorkloadId workload = kNone;
  Outcome outcome = Outcome::kWait;
  Grant grant = {};      // kAdmit: what it gets; kPreempt: what it will ask for when the victims have gone
  int borrow_level = 0;  // from how far up the tree
  std::vector<Victim> victims = {};
  // What a waiting one keeps from those who come after it in this cycle.
  std::vector<Charge> reserved = {};
  PendingReason reason = PendingReason::kNone;
  Remark remark = Remark::kNone;
  std::vector<Shortfall> shortfalls = {};
  Requeue requeue = Requeue::kNone;
  bool becomes_sticky = false;
  ScanProgress progress = {};
  bool operator==(const Decision&) const = default;
};

struct Plan {
  std::vector<Decision> decisions = {};  // in the order in which they were made: each stands on those before
  // Found inadmissible because one that is like them is.
  std::vector<WorkloadId> moved_along = {};
  bool operator==(const Plan&) const = default;
};

enum class FairStrategy : std::uint8_t { kLessThanOrEqualToFinalShare, kLessThanInitialShare };

struct Options {
  bool fair_sharing = false;
  // One of the two, or both in this order.
  std::vector<FairStrategy> strategies = {FairStrategy::kLessThanOrEqualToFinalShare,
                                          FairStrategy::kLessThanInitialShare};
};

}  // namespace gangway::planning::queueing
