// Candidates: who could be preempted, queue by queue in the order in which victims are taken, and by whom.
//
// Belongs to one plan in the making. A queue's list is made when it is first asked for: most queues never are.
#pragma once

#include <cstdint>
#include <vector>

#include "planning/queueing/queues.h"
#include "planning/queueing/quota_forest.h"
#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {

struct Candidate {
  const Holder* holder = nullptr;
  QueueId queue = kNone;
  // Copies of what decides nearly always, so that comparing stays in one place of memory.
  bool is_evicted = false;
  std::int64_t priority = 0;
  WallTime reserved = {};
  Needs uses = {};

  WorkloadId workload() const { return holder->workload; }
  bool uses_any(const std::vector<Slot>& slots) const;
  // As Holders are.
  bool comes_before(const Candidate& other) const;
};

class Candidates {
 public:
  Candidates(const Snapshot& snapshot, const Queues& queues, const QuotaForest& forest);

  // Sorted as Holders are.
  const std::vector<Candidate>& of(QueueId queue);

  // Victims of this plan are nobody else's.
  void take(WorkloadId workload) { is_taken_[workload] = true; }
  bool is_taken(WorkloadId workload) const { return is_taken_[workload]; }

 private:
  struct List {
    bool is_made = false;
    std::vector<Candidate> candidates;
  };
  const Queues& queues_;
  const QuotaForest& forest_;
  std::vector<List> lists_;
  std::vector<bool> is_taken_;
};

// Whether the policy lets the one preempt the other.
bool allows(PreemptionPolicy policy, const Workload& preemptor, const Holder& other);

}  // namespace gangway::planning::queueing
