// Usage: who uses how much in a QuotaForest, and what is left. A value of plain numbers; belongs to one plan in the
// making, which copies it where it needs a second view.
//
// A node shows its parent only what exceeds the quota that it keeps to itself (Cell::local). Adding and removing the
// same amount in any order leaves what was there before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "planning/queueing/amounts.h"
#include "planning/queueing/quota_forest.h"
#include "planning/queueing/share.h"

namespace gangway::planning::queueing {

class Usage {
 public:
  // What the workloads hold that have quota.
  Usage(const QuotaForest& forest, const Queues& queues);

  const QuotaForest& forest() const { return *forest_; }
  std::int64_t used(TreeNode node, Slot slot) const { return used_[forest_->cell_index(node, slot)]; }

  void add(TreeNode node, Slot slot, std::int64_t amount);
  void remove(TreeNode node, Slot slot, std::int64_t amount);
  void add(TreeNode node, const Needs& needs) {
    for (const Need& need : needs) add(node, need.slot, need.amount);
  }
  void remove(TreeNode node, const Needs& needs) {
    for (const Need& need : needs) remove(node, need.slot, need.amount);
  }

  // What the node can still be given, with all that it may borrow. Below zero after quota was cut.
  std::int64_t available(TreeNode node, Slot slot) const;
  bool fits(TreeNode node, const Needs& needs) const;
  // With `more` on top it uses more than it and all below it bring along.
  bool borrows_with(TreeNode node, Slot slot, std::int64_t more) const {
    return plus(used(node, slot), more) > forest_->cell(node, slot).subtree;
  }
  bool borrows(TreeNode node, Slot slot) const { return borrows_with(node, slot, 0); }
  bool borrows_any(TreeNode node, const std::vector<Slot>& slots) const {
    return std::any_of(slots.begin(), slots.end(), [&](Slot slot) { return borrows(node, slot); });
  }
  // What is left of the quota that it keeps to itself.
  std::int64_t local_left(TreeNode node, Slot slot) const {
    return std::max<std::int64_t>(0, forest_->cell(node, slot).local - used(node, slot));
  }

  // From how far away a request is met: 0 from the queue's own quota, else the height of the lowest cohort that does
  // not have to borrow for it, or of the root.
  struct Level {
    int height = 0;
    bool is_below_root = false;  // that subtree is not the whole tree: what others have of it can be reclaimed
  };
  Level level(TreeNode queue, Slot slot, std::int64_t amount) const;

  Share share(TreeNode node) const;

 private:
  const QuotaForest* forest_;
  std::vector<std::int64_t> used_;
};

}  // namespace gangway::planning::queueing
