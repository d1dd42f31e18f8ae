#include "planning/queueing/candidates.h"

#include <algorithm>

namespace gangway::planning::queueing {

bool Candidate::uses_any(const std::vector<Slot>& slots) const {
  return std::any_of(uses.begin(), uses.end(), [&](const Need& use) {
    return use.amount > 0 && std::find(slots.begin(), slots.end(), use.slot) != slots.end();
  });
}

bool Candidate::comes_before(const Candidate& other) const {
  if (is_evicted != other.is_evicted) return is_evicted;
  if (priority != other.priority) return priority < other.priority;
  if (reserved != other.reserved) return reserved > other.reserved;
  return holder->uid < other.holder->uid;
}

Candidates::Candidates(const Snapshot& snapshot, const Queues& queues, const QuotaForest& forest)
    : queues_(queues), forest_(forest), lists_(snapshot.queues.size()), is_taken_(snapshot.workloads.size()) {}

const std::vector<Candidate>& Candidates::of(QueueId queue) {
  List& list = lists_[queue];
  if (list.is_made) return list.candidates;
  list.is_made = true;
  list.candidates.reserve(queues_.holders(queue).size());
  for (const Holder& holder : queues_.holders(queue)) {
    Candidate& candidate = list.candidates.emplace_back(Candidate{.holder = &holder,
                                                                  .queue = queue,
                                                                  .is_evicted = holder.is_evicted,
                                                                  .priority = holder.priority,
                                                                  .reserved = holder.reserved});
    for (const auto& [what, amount] : holder.charges)
      candidate.uses.push_back({forest_.slot_of(QuotaForest::node_of(queue), what), amount});
  }
  return list.candidates;
}

bool allows(PreemptionPolicy policy, const Workload& preemptor, const Holder& other) {
  switch (policy) {
    case PreemptionPolicy::kNever:
      return false;
    case PreemptionPolicy::kLowerPriority:
      return preemptor.priority > other.priority;
    case PreemptionPolicy::kLowerOrNewerEqualPriority:
      return preemptor.priority > other.priority ||
             (preemptor.priority == other.priority && preemptor.queued < other.queued);
    case PreemptionPolicy::kAny:
      return true;
  }
  return false;
}

}  // namespace gangway::planning::queueing
