#include "planning/queueing/cycle_order.h"

#include <algorithm>
#include <tuple>

namespace gangway::planning::queueing {

CycleOrder::CycleOrder(const Board& board, std::vector<Entry>& entries)
    : board_(board), contender_of_(board.snapshot.queues.size(), kNone) {
  for (Entry& entry : entries) {
    const TreeNode root = board.forest.root(QuotaForest::node_of(entry.queue));
    if (!board.options.fair_sharing || board.forest.is_queue(root)) {
      line_.push_back(&entry);
      continue;
    }
    contender_of_[entry.queue] = static_cast<std::uint32_t>(contenders_.size());
    contenders_.push_back({&entry});
    roots_.push_back(root);
  }
  std::sort(line_.begin(), line_.end(), [&](const Entry* a, const Entry* b) {
    const int one = a->nomination.assignment.level;
    const int other = b->nomination.assignment.level;
    return one != other ? one < other : comes_before(*a, *b);
  });
  const auto name_of = [&](TreeNode root) -> const std::string& {
    return board.snapshot.cohorts[root - board.snapshot.queues.size()].name;
  };
  std::sort(roots_.begin(), roots_.end(), [&](TreeNode a, TreeNode b) { return name_of(a) < name_of(b); });
  roots_.erase(std::unique(roots_.begin(), roots_.end()), roots_.end());
}

bool CycleOrder::comes_before(const Entry& a, const Entry& b) const {
  const Workload& one = board_.snapshot.workloads[a.workload];
  const Workload& other = board_.snapshot.workloads[b.workload];
  return std::tie(other.priority, one.queued, one.uid) < std::tie(one.priority, other.queued, other.uid);
}

Entry* CycleOrder::next(Usage& counted) {
  if (served_ < line_.size()) return line_[served_++];
  if (last_) outdate(*last_);
  last_ = nullptr;
  while (!roots_.empty()) {
    for (Contender& contender : contenders_)
      if (contender.is_stale && contender_of_[contender.entry->queue] != kNone) refresh(contender, counted);
    const Winner winner = winner_below(roots_.front());
    if (!winner.contender) {
      roots_.erase(roots_.begin());
      continue;
    }
    last_ = winner.contender->entry;
    contender_of_[last_->queue] = kNone;
    return last_;
  }
  return nullptr;
}

void CycleOrder::refresh(Contender& contender, Usage& counted) const {
  const QuotaForest& forest = board_.forest;
  const TreeNode queue = QuotaForest::node_of(contender.entry->queue);
  const Needs& needs = contender.entry->nomination.assignment.needs;
  contender.standings.clear();
  contender.is_stale = false;
  counted.add(queue, needs);
  for (TreeNode node = queue; forest.parent(node) != kNone; node = forest.parent(node))
    contender.standings.push_back(
        {std::any_of(needs.begin(), needs.end(), [&](const Need& need) { return counted.borrows(node, need.slot); }),
         counted.share(node)});
  counted.remove(queue, needs);
}

bool CycleOrder::beats(const Winner& a, const Winner& b) const {
  const Standing& one = a.contender->standings[a.step];
  const Standing& other = b.contender->standings[b.step];
  if (one.borrows != other.borrows) return other.borrows;
  if (const auto by = one.share <=> other.share; by != 0) return by < 0;
  return comes_before(*a.contender->entry, *b.contender->entry);
}

CycleOrder::Winner CycleOrder::winner_below(TreeNode node) {
  if (board_.forest.is_queue(node))
    return contender_of_[node] == kNone ? Winner{} : Winner{&contenders_[contender_of_[node]], 0};
  Winner best;
  for (const TreeNode child : board_.forest.children(node)) {
    const Winner winner = winner_below(child);
    if (winner.contender && (!best.contender || beats(winner, best))) best = winner;
  }
  // Among its own siblings the one above it is judged.
  if (best.contender) ++best.step;
  return best;
}

TreeNode CycleOrder::below_root(TreeNode node) const {
  const TreeNode root = board_.forest.root(node);
  while (node != root && board_.forest.parent(node) != root) node = board_.forest.parent(node);
  return node;
}

// What was given below one child of the root changes the standing of nobody below another.
void CycleOrder::outdate(const Entry& served) {
  const TreeNode branch = below_root(QuotaForest::node_of(served.queue));
  if (board_.forest.is_queue(branch)) return;
  for (Contender& contender : contenders_)
    if (below_root(QuotaForest::node_of(contender.entry->queue)) == branch) contender.is_stale = true;
}

}  // namespace gangway::planning::queueing
