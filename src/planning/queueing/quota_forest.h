// QuotaForest: what queues and cohorts may use, as trees of numbers. Says nothing about who uses what: see Usage.
//
// Every root cohort with all below it is a tree, and so is a queue without a cohort. All nodes of one tree have the
// same slots: one for each pair of flavor and resource that anybody in the tree has quota for or uses. A cell is one
// slot of one node. Immutable once made; costs one pass over queues and cohorts.
//
//   lendable  = subtree - local          what the parent sees of a node's quota
//   local     = subtree - lending limit  what it keeps to itself, if there is a limit
//   subtree   = nominal + lendable of all children
//   potential = local + potential of the parent, at most subtree + borrowing limit: the most it could ever have
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {

class Queues;

using TreeNode = std::uint32_t;  // queues first, then cohorts
using Slot = std::uint32_t;

struct FlavorResource {
  ResourceId resource = 0;
  FlavorId flavor = kNone;
  auto operator<=>(const FlavorResource&) const = default;
};

// What somebody wants or has, in the slots of one tree; each slot once.
struct Need {
  Slot slot = 0;
  std::int64_t amount = 0;
  bool operator==(const Need&) const = default;
};
using Needs = std::vector<Need>;
void add_to(Needs& needs, Slot slot, std::int64_t amount);

class QuotaForest {
 public:
  // Slots are made for what is used, too: `queues` knows.
  QuotaForest(const Snapshot& snapshot, const Queues& queues);

  struct Cell {
    std::int64_t nominal = 0;
    std::int64_t borrowing_limit = 0;  // kUnlimited: none
    std::int64_t lending_limit = 0;    // kUnlimited: none
    std::int64_t subtree = 0;
    std::int64_t local = 0;
    std::int64_t potential = 0;
  };

  static TreeNode node_of(QueueId queue) { return queue; }
  TreeNode node_of_cohort(CohortId cohort) const { return queue_count_ + cohort; }
  bool is_queue(TreeNode node) const { return node < queue_count_; }
  std::size_t size() const { return nodes_.size(); }
  std::size_t cell_count() const { return cells_.size(); }

  TreeNode parent(TreeNode node) const { return nodes_[node].parent; }
  TreeNode root(TreeNode node) const { return nodes_[node].root; }
  // Of a root: the queues of its tree.
  std::span<const QueueId> queues_of(TreeNode root) const { return nodes_[root].queues; }
  // Where the queue is among them.
  std::size_t place_in_tree(QueueId queue) const { return nodes_[queue].place; }
  // Child nodes in the order of their names, queues first.
  std::span<const TreeNode> children(TreeNode node) const { return nodes_[node].children; }
  // Distance to its deepest leaf.
  int height(TreeNode node) const { return nodes_[node].height; }
  std::int64_t weight(TreeNode node) const { return nodes_[node].weight; }
  // Its cohorts go round in a circle: nobody in them gets anything until that is mended.
  bool is_cyclic(TreeNode node) const { return nodes_[node].is_cyclic; }

  std::span<const FlavorResource> slots(TreeNode node) const { return slots_[nodes_[root(node)].tree]; }
  // kNone when nobody in the tree has such a thing.
  Slot slot_of(TreeNode node, FlavorResource what) const;
  std::size_t cell_index(TreeNode node, Slot slot) const { return nodes_[node].first_cell + slot; }
  const Cell& cell(TreeNode node, Slot slot) const { return cells_[cell_index(node, slot)]; }

  // The lowest node that both are below, or are themselves.
  TreeNode common_ancestor(TreeNode a, TreeNode b) const;

 private:
  struct Node {
    TreeNode parent = kNone;
    TreeNode root = kNone;
    std::uint32_t tree = kNone;  // of a root: its place in slots_
    std::size_t first_cell = 0;
    std::size_t place = 0;  // of a queue
    int height = 0;
    int depth = 0;
    std::int64_t weight = kWeightOne;
    bool is_cyclic = false;
    std::vector<TreeNode> children = {};
    std::vector<QueueId> queues = {};
  };

  void link(const Snapshot& snapshot);
  void break_circles();
  void collect_slots(const Snapshot& snapshot, const Queues& queues);
  void lay_out_cells();
  void fill(TreeNode node, const std::vector<ResourceGroup>& groups);
  void sum_up();

  std::uint32_t queue_count_ = 0;
  std::vector<Node> nodes_;
  std::vector<TreeNode> downwards_;  // every node after its parent
  std::vector<std::vector<FlavorResource>> slots_;
  std::vector<Cell> cells_;
};

}  // namespace gangway::planning::queueing
