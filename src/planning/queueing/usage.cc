#include "planning/queueing/usage.h"

#include "planning/queueing/queues.h"

namespace gangway::planning::queueing {

Usage::Usage(const QuotaForest& forest, const Queues& queues) : forest_(&forest), used_(forest.cell_count()) {
  for (TreeNode node = 0; node < forest.size() && forest.is_queue(node); ++node)
    for (const auto& [what, amount] : queues.usage(node)) add(node, forest.slot_of(node, what), amount);
}

void Usage::add(TreeNode node, Slot slot, std::int64_t amount) {
  while (node != kNone) {
    const std::int64_t hidden = local_left(node, slot);
    std::int64_t& here = used_[forest_->cell_index(node, slot)];
    here = plus(here, amount);
    if (amount <= hidden) return;
    amount -= hidden;
    node = forest_->parent(node);
  }
}

void Usage::remove(TreeNode node, Slot slot, std::int64_t amount) {
  while (node != kNone) {
    std::int64_t& here = used_[forest_->cell_index(node, slot)];
    const std::int64_t shown = here - forest_->cell(node, slot).local;
    here = minus(here, amount);
    if (shown <= 0) return;
    amount = std::min(amount, shown);
    node = forest_->parent(node);
  }
}

std::int64_t Usage::available(TreeNode node, Slot slot) const {
  const QuotaForest::Cell& cell = forest_->cell(node, slot);
  const TreeNode above = forest_->parent(node);
  if (above == kNone) return minus(cell.subtree, used(node, slot));
  std::int64_t from_parent = available(above, slot);
  if (cell.borrowing_limit != kUnlimited) {
    const std::int64_t shown = std::max<std::int64_t>(0, used(node, slot) - cell.local);
    from_parent = std::min(from_parent, minus(plus(cell.subtree - cell.local, cell.borrowing_limit), shown));
  }
  return plus(local_left(node, slot), from_parent);
}

bool Usage::fits(TreeNode node, const Needs& needs) const {
  return std::all_of(needs.begin(), needs.end(),
                     [&](const Need& need) { return need.amount <= available(node, need.slot); });
}

Usage::Level Usage::level(TreeNode queue, Slot slot, std::int64_t amount) const {
  if (forest_->parent(queue) == kNone) return {};
  if (!borrows_with(queue, slot, amount)) return {0, true};
  std::int64_t rest = minus(amount, local_left(queue, slot));
  for (TreeNode node = forest_->parent(queue); node != kNone; node = forest_->parent(node)) {
    if (!borrows_with(node, slot, rest)) return {forest_->height(node), forest_->parent(node) != kNone};
    rest = minus(rest, local_left(node, slot));
  }
  return {forest_->height(forest_->root(queue)), false};
}

// Slots are in the order of resources, so that one resource's flavors follow each other.
Share Usage::share(TreeNode node) const {
  const TreeNode above = forest_->parent(node);
  if (above == kNone) return {};
  const auto slots = forest_->slots(node);
  Share highest;
  for (Slot slot = 0; slot < slots.size();) {
    const ResourceId resource = slots[slot].resource;
    std::int64_t borrowed = 0;
    std::int64_t lendable = 0;
    for (; slot < slots.size() && slots[slot].resource == resource; ++slot) {
      const std::int64_t beyond = used(node, slot) - forest_->cell(node, slot).subtree;
      borrowed = plus(borrowed, std::max<std::int64_t>(0, beyond));
      lendable = plus(lendable, forest_->cell(above, slot).potential);
    }
    if (borrowed > 0) highest.raise_to({borrowed, lendable, forest_->weight(node)});
  }
  return highest;
}

}  // namespace gangway::planning::queueing
