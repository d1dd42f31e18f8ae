#include "planning/queueing/fair_preemption.h"

#include <algorithm>

namespace gangway::planning::queueing {

std::vector<Chosen> FairPreemption::find(Usage& usage, const PreemptionRequest& request) {
  Round round = start(usage, request);
  if (std::all_of(round.lines.begin(), round.lines.end(), [](const Line& line) { return line.is_empty(); })) return {};

  change(round, request.queue, request.needs, 1);
  const std::vector<FairStrategy>& strategies = board_.options.strategies;
  run_first(round, strategies.front());
  if (!round.is_done && strategies.size() > 1) run_second(round);
  change(round, request.queue, request.needs, -1);

  if (round.is_done) spare_needless(usage, request, /*may_borrow=*/true, round.victims);
  put_back(usage, round.victims);
  return round.is_done ? std::move(round.victims) : std::vector<Chosen>{};
}

FairPreemption::Round FairPreemption::start(Usage& usage, const PreemptionRequest& request) {
  const QuotaForest& forest = board_.forest;
  const TreeNode own = QuotaForest::node_of(request.queue);
  const auto queues = forest.queues_of(forest.root(own));
  Round round{.usage = usage,
              .request = request,
              .lines = std::vector<Line>(queues.size()),
              .is_on_path = std::vector<bool>(forest.size()),
              .shares = std::vector<Share>(forest.size()),
              .is_known = std::vector<bool>(forest.size())};
  for (TreeNode node = own; node != kNone; node = forest.parent(node)) round.is_on_path[node] = true;
  const Preemption& policies = board_.snapshot.queues[request.queue].preemption;
  for (const QueueId queue : queues) {
    const bool is_own = queue == request.queue;
    if ((is_own ? policies.within_queue : policies.reclaim) == PreemptionPolicy::kNever) continue;
    if (!is_own && !usage.borrows_any(QuotaForest::node_of(queue), request.scarce)) continue;
    Line& line = line_of(round, queue);
    line.candidates = &board_.candidates.of(queue);
    skip_ineligible(request, line);
  }
  return round;
}

void FairPreemption::skip_ineligible(const PreemptionRequest& request, Line& line) const {
  const Preemption& policies = board_.snapshot.queues[request.queue].preemption;
  const Workload& preemptor = board_.snapshot.workloads[request.workload];
  for (; !line.is_empty(); ++line.next) {
    const Candidate& candidate = line.front();
    const PreemptionPolicy policy = candidate.queue == request.queue ? policies.within_queue : policies.reclaim;
    if (allows(policy, preemptor, *candidate.holder) && candidate.uses_any(request.scarce) &&
        !board_.candidates.is_taken(candidate.workload()))
      return;
  }
}

// What a queue uses changes the shares of itself and of those above it, and of nobody else.
void FairPreemption::change(Round& round, QueueId queue, const Needs& needs, int sign) const {
  const TreeNode node = QuotaForest::node_of(queue);
  if (sign > 0) {
    round.usage.add(node, needs);
  } else {
    round.usage.remove(node, needs);
  }
  for (TreeNode at = node; at != kNone; at = board_.forest.parent(at)) round.is_known[at] = false;
}

const Share& FairPreemption::share_of(Round& round, TreeNode node) const {
  if (!round.is_known[node]) {
    round.shares[node] = round.usage.share(node);
    round.is_known[node] = true;
  }
  return round.shares[node];
}

// kNone when nobody is left to take from.
QueueId FairPreemption::next_queue(Round& round) const {
  const TreeNode root = board_.forest.root(QuotaForest::node_of(round.request.queue));
  if (board_.forest.is_queue(root)) return line_of(round, root).is_empty() ? kNone : root;
  while (!open_children(round, root).empty())
    if (const QueueId queue = next_below(round, root); queue != kNone) return queue;
  return kNone;
}

std::vector<TreeNode>& FairPreemption::open_children(Round& round, TreeNode cohort) const {
  const auto [at, is_new] = round.open.try_emplace(cohort);
  if (is_new) at->second.assign(board_.forest.children(cohort).begin(), board_.forest.children(cohort).end());
  return at->second;
}

// It borrows nothing, or has nobody left: for good, since usage only falls. The preemptor's own way up is walked to its
// end.
bool FairPreemption::is_spent(Round& round, TreeNode node) const {
  if (board_.forest.is_queue(node) ? line_of(round, node).is_empty() : open_children(round, node).empty()) return true;
  return !round.is_on_path[node] && share_of(round, node).is_zero();
}

// The higher share; between equals a cohort before a queue, and of queues the one whose first candidate comes first in
// the order of victims, others before the preemptor's own. Of equal cohorts neither, so that the first by name stays.
bool FairPreemption::is_better(Round& round, TreeNode one, TreeNode other) const {
  const QuotaForest& forest = board_.forest;
  if (const auto by = share_of(round, one) <=> share_of(round, other); by != 0) return by > 0;
  if (!forest.is_queue(one)) return forest.is_queue(other);
  const TreeNode own = QuotaForest::node_of(round.request.queue);
  const Candidate& first = line_of(round, one).front();
  const Candidate& second = line_of(round, other).front();
  if (first.is_evicted != second.is_evicted) return first.is_evicted;
  if ((one == own) != (other == own)) return other == own;
  return first.comes_before(second);
}

QueueId FairPreemption::next_below(Round& round, TreeNode cohort) const {
  std::vector<TreeNode>& children = open_children(round, cohort);  // queues come first
  std::erase_if(children, [&](TreeNode child) { return is_spent(round, child); });
  TreeNode best = kNone;
  for (const TreeNode child : children)
    if (best == kNone || is_better(round, child, best)) best = child;
  if (best == kNone || board_.forest.is_queue(best)) return best;
  return next_below(round, best);
}

bool FairPreemption::is_within_nominal(const Round& round) const {
  return !round.usage.borrows_any(QuotaForest::node_of(round.request.queue), round.request.scarce);
}

FairPreemption::Sides FairPreemption::sides(const Round& round, QueueId target) const {
  const QuotaForest& forest = board_.forest;
  Sides sides{QuotaForest::node_of(round.request.queue), QuotaForest::node_of(target)};
  const TreeNode common = forest.common_ancestor(sides.preemptor, sides.target);
  while (forest.parent(sides.preemptor) != common) sides.preemptor = forest.parent(sides.preemptor);
  while (forest.parent(sides.target) != common) sides.target = forest.parent(sides.target);
  return sides;
}

bool FairPreemption::is_fair(Round& round, FairStrategy strategy, const Candidate& candidate) const {
  const Sides nodes = sides(round, candidate.queue);
  const Share preemptors = share_of(round, nodes.preemptor);
  if (strategy == FairStrategy::kLessThanInitialShare) return preemptors < share_of(round, nodes.target);
  const TreeNode queue = QuotaForest::node_of(candidate.queue);
  round.usage.remove(queue, candidate.uses);
  const Share after = round.usage.share(nodes.target);
  round.usage.add(queue, candidate.uses);
  return preemptors <= after;
}

// Done when the preemptor, whose request counts already, fits.
void FairPreemption::take(Round& round, const Candidate& candidate, Victim::Reason reason) {
  change(round, candidate.queue, candidate.uses, -1);
  round.victims.push_back({&candidate, reason});
  const TreeNode own = QuotaForest::node_of(round.request.queue);
  round.usage.remove(own, round.request.needs);
  round.is_done = has_room(round.usage, round.request, /*may_borrow=*/true);
  round.usage.add(own, round.request.needs);
}

void FairPreemption::run_first(Round& round, FairStrategy strategy) {
  while (!round.is_done) {
    const QueueId queue = next_queue(round);
    if (queue == kNone) return;
    Line& line = line_of(round, queue);
    const auto leave = [&] {
      ++line.next;
      skip_ineligible(round.request, line);
    };
    if (queue == round.request.queue || is_within_nominal(round)) {
      take(round, line.front(),
           queue == round.request.queue ? Victim::Reason::kInClusterQueue : Victim::Reason::kInCohortReclamation);
      leave();
      continue;
    }
    // Nobody's going makes a share larger: where it is below the preemptor's already, no one may go by any rule.
    const Sides nodes = sides(round, queue);
    if (share_of(round, nodes.preemptor) > share_of(round, nodes.target)) {
      // Nor has any other queue of a flat cohort a larger share, and only own victims could make the preemptor's
      // smaller.
      const TreeNode root = board_.forest.root(QuotaForest::node_of(queue));
      if (board_.forest.height(root) == 1 && line_of(round, round.request.queue).is_empty()) return;
      if (!line.passed_over) line.passed_over = &line.front();
      line.next = line.candidates->size();
      continue;
    }
    // The first that may go; after it another queue may have the highest share. What holds for one holds for the next
    // that uses the same.
    const Candidate* refused = nullptr;
    while (!line.is_empty()) {
      const Candidate& candidate = line.front();
      if ((!refused || refused->uses != candidate.uses) && is_fair(round, strategy, candidate)) break;
      refused = &candidate;
      if (!line.passed_over) line.passed_over = &candidate;
      leave();
    }
    if (line.is_empty()) continue;
    take(round, line.front(), Victim::Reason::kInCohortFairSharing);
    leave();
  }
}

// By the share before anybody goes, which does not depend on who goes: one of those that were passed over in each
// queue.
void FairPreemption::run_second(Round& round) {
  round.open.clear();
  for (Line& line : round.lines) {
    line.next = line.passed_over ? static_cast<std::size_t>(line.passed_over - line.candidates->data())
                                 : (line.candidates ? line.candidates->size() : 0);
  }
  while (!round.is_done) {
    const QueueId queue = next_queue(round);
    if (queue == kNone) return;
    Line& line = line_of(round, queue);
    if (is_fair(round, FairStrategy::kLessThanInitialShare, line.front()))
      take(round, line.front(), Victim::Reason::kInCohortFairSharing);
    line.next = line.candidates->size();
  }
}

}  // namespace gangway::planning::queueing
