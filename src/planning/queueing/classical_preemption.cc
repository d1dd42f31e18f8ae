#include "planning/queueing/classical_preemption.h"

#include <algorithm>

namespace gangway::planning::queueing {
namespace {

// The cursor whose candidate comes first is at the front of a heap.
constexpr auto kLater = [](const auto& a, const auto& b) { return b.candidate().comes_before(a.candidate()); };

// Restores the heap after its front has changed, in one walk down.
template <class Cursors>
void sift_down(Cursors& cursors) {
  for (std::size_t at = 0;;) {
    std::size_t first = 2 * at + 1;
    if (first >= cursors.size()) return;
    if (first + 1 < cursors.size() && kLater(cursors[first], cursors[first + 1])) ++first;
    if (!kLater(cursors[at], cursors[first])) return;
    std::swap(cursors[at], cursors[first]);
    at = first;
  }
}

}  // namespace

std::vector<Chosen> ClassicalPreemption::find(Usage& usage, const PreemptionRequest& request) {
  find_sources(usage, request);
  for (const bool may_borrow : attempts(usage, request)) {
    if (!may_borrow && !could_stay_within_nominal(usage, request)) continue;
    Attempt attempt{usage, request, may_borrow};
    run(attempt);
    put_back(usage, attempt.victims);
    if (attempt.is_done) return std::move(attempt.victims);
  }
  return {};
}

void ClassicalPreemption::find_sources(const Usage& usage, const PreemptionRequest& request) {
  sources_.clear();
  has_hierarchical_ = false;
  if (board_.snapshot.queues[request.queue].preemption.reclaim == PreemptionPolicy::kNever) return;
  const QuotaForest& forest = board_.forest;
  Needs rest = request.needs;
  // Whether what is still asked for is within the node's own quota; what it keeps to itself is not asked of those
  // above.
  const auto fits_into = [&](TreeNode node) {
    bool fits = true;
    for (Need& need : rest) {
      fits = fits && !usage.borrows_with(node, need.slot, need.amount);
      need.amount = minus(need.amount, usage.local_left(node, need.slot));
    }
    return fits;
  };
  TreeNode below = QuotaForest::node_of(request.queue);
  bool has_fitted = fits_into(below);
  for (TreeNode cohort = forest.parent(below); cohort != kNone; cohort = forest.parent(cohort)) {
    const Class why = has_fitted ? Class::kHierarchical : Class::kByPriority;
    add_sources(usage, request, cohort, below, {why, cohort});
    const bool fits = fits_into(cohort);
    has_fitted = has_fitted || fits;
    below = cohort;
  }
}

void ClassicalPreemption::add_sources(const Usage& usage, const PreemptionRequest& request, TreeNode below,
                                      TreeNode except, Source source) {
  for (const TreeNode child : board_.forest.children(below)) {
    if (child == except || !usage.borrows_any(child, request.scarce)) continue;
    if (!board_.forest.is_queue(child)) {
      add_sources(usage, request, child, except, source);
    } else if (has_candidate(request, child)) {
      sources_.push_back(child);
      classes_[child] = source;
      has_hierarchical_ = has_hierarchical_ || source.why == Class::kHierarchical;
    }
  }
}

bool ClassicalPreemption::is_eligible(const PreemptionRequest& request, const Candidate& candidate) const {
  const Preemption& policies = board_.snapshot.queues[request.queue].preemption;
  const PreemptionPolicy policy = candidate.queue == request.queue ? policies.within_queue : policies.reclaim;
  return !board_.candidates.is_taken(candidate.workload()) &&
         allows(policy, board_.snapshot.workloads[request.workload], *candidate.holder) &&
         candidate.uses_any(request.scarce);
}

bool ClassicalPreemption::has_candidate(const PreemptionRequest& request, QueueId queue) const {
  const std::vector<Candidate>& all = board_.candidates.of(queue);
  return std::any_of(all.begin(), all.end(),
                     [&](const Candidate& candidate) { return is_eligible(request, candidate); });
}

// Whether to try with borrowing, without, or both, and which of them first.
std::vector<bool> ClassicalPreemption::attempts(const Usage& usage, const PreemptionRequest& request) const {
  const TreeNode node = QuotaForest::node_of(request.queue);
  const bool is_forbidden = !board_.snapshot.queues[request.queue].preemption.while_borrowing.is_allowed;
  const bool has_own_quota_left = std::all_of(request.scarce.begin(), request.scarce.end(), [&](Slot slot) {
    return usage.used(node, slot) < board_.forest.cell(node, slot).nominal;
  });
  if (sources_.empty() || (is_forbidden && !has_own_quota_left)) return {true};
  if (is_forbidden && !has_hierarchical_) return {false, true};
  return {true, false};
}

bool ClassicalPreemption::could_stay_within_nominal(const Usage& usage, const PreemptionRequest& request) const {
  const TreeNode node = QuotaForest::node_of(request.queue);
  return std::all_of(request.needs.begin(), request.needs.end(), [&](const Need& need) {
    if (!usage.borrows_with(node, need.slot, need.amount)) return true;
    std::int64_t leaving = 0;
    for (const Candidate& candidate : board_.candidates.of(request.queue)) {
      if (!is_eligible(request, candidate)) continue;
      for (const Need& use : candidate.uses)
        if (use.slot == need.slot) leaving = plus(leaving, use.amount);
    }
    return !usage.borrows_with(node, need.slot, minus(need.amount, leaving));
  });
}

std::vector<ClassicalPreemption::Cursor> ClassicalPreemption::cursors_of(Class why, const PreemptionRequest& request) {
  std::vector<Cursor> cursors;
  const auto add = [&](QueueId queue) {
    const std::vector<Candidate>& list = board_.candidates.of(queue);
    if (!list.empty()) cursors.push_back({&list});
  };
  if (why == Class::kOwn) {
    if (board_.snapshot.queues[request.queue].preemption.within_queue != PreemptionPolicy::kNever) add(request.queue);
  } else {
    for (const QueueId queue : sources_)
      if (classes_[queue].why == why) add(queue);
  }
  std::make_heap(cursors.begin(), cursors.end(), kLater);
  return cursors;
}

void ClassicalPreemption::run(Attempt& attempt) {
  static constexpr Class kClasses[] = {Class::kHierarchical, Class::kByPriority, Class::kOwn};
  std::vector<Cursor> cursors[3];
  const Preemption& policies = board_.snapshot.queues[attempt.request.queue].preemption;
  for (const Class why : kClasses) {
    // They would all be passed over.
    if (why == Class::kByPriority && attempt.may_borrow && !policies.while_borrowing.is_allowed) continue;
    cursors[static_cast<int>(why)] = cursors_of(why, attempt.request);
  }
  for (const bool evicted : {true, false})
    for (const Class why : kClasses) {
      take(attempt, why, cursors[static_cast<int>(why)], evicted);
      if (!attempt.is_done) continue;
      spare_needless(attempt.usage, attempt.request, attempt.may_borrow, attempt.victims);
      return;
    }
}

// A queue that is within its own quota again, or below a cohort that is, gives nothing more: it has what is its own.
bool ClassicalPreemption::still_lends(const Attempt& attempt, QueueId queue) const {
  if (queue == attempt.request.queue) return true;
  for (TreeNode node = QuotaForest::node_of(queue); node != classes_[queue].common; node = board_.forest.parent(node))
    if (!attempt.usage.borrows_any(node, attempt.request.scarce)) return false;
  return true;
}

bool ClassicalPreemption::may_take_while_borrowing(const PreemptionRequest& request, const Candidate& candidate) const {
  const BorrowWithinCohort& rule = board_.snapshot.queues[request.queue].preemption.while_borrowing;
  const std::int64_t priority = candidate.holder->priority;
  return rule.is_allowed && priority < board_.snapshot.workloads[request.workload].priority &&
         priority <= rule.max_priority_threshold.value_or(priority);
}

Victim::Reason ClassicalPreemption::reason_of(const Attempt& attempt, Class why, const Candidate& candidate) const {
  if (why == Class::kOwn) return Victim::Reason::kInClusterQueue;
  return why == Class::kByPriority && may_take_while_borrowing(attempt.request, candidate)
             ? Victim::Reason::kInCohortReclaimWhileBorrowing
             : Victim::Reason::kInCohortReclamation;
}

void ClassicalPreemption::take(Attempt& attempt, Class why, std::vector<Cursor>& cursors, bool evicted) {
  while (!cursors.empty() && cursors.front().candidate().is_evicted == evicted) {
    Cursor& cursor = cursors.front();
    const Candidate& candidate = cursor.candidate();
    const bool lends = still_lends(attempt, candidate.queue);
    const bool is_usable =
        lends && is_eligible(attempt.request, candidate) &&
        (why != Class::kByPriority || !attempt.may_borrow || may_take_while_borrowing(attempt.request, candidate));
    // Usage only falls from here on, so who lends nothing now never will.
    if (!lends || ++cursor.at == cursor.list->size()) {
      cursor = cursors.back();
      cursors.pop_back();
    }
    sift_down(cursors);
    if (!is_usable) continue;
    attempt.usage.remove(QuotaForest::node_of(candidate.queue), candidate.uses);
    attempt.victims.push_back({&candidate, reason_of(attempt, why, candidate)});
    attempt.is_done = has_room(attempt.usage, attempt.request, attempt.may_borrow);
    if (attempt.is_done) return;
  }
}

}  // namespace gangway::planning::queueing
