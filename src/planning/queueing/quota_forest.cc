#include "planning/queueing/quota_forest.h"

#include <algorithm>

#include "planning/queueing/amounts.h"
#include "planning/queueing/queues.h"

namespace gangway::planning::queueing {

void add_to(Needs& needs, Slot slot, std::int64_t amount) {
  for (Need& need : needs) {
    if (need.slot != slot) continue;
    need.amount = plus(need.amount, amount);
    return;
  }
  needs.push_back({slot, amount});
}

QuotaForest::QuotaForest(const Snapshot& snapshot, const Queues& queues)
    : queue_count_(static_cast<std::uint32_t>(snapshot.queues.size())),
      nodes_(snapshot.queues.size() + snapshot.cohorts.size()) {
  link(snapshot);
  collect_slots(snapshot, queues);
  lay_out_cells();
  for (QueueId id = 0; id < snapshot.queues.size(); ++id) fill(node_of(id), snapshot.queues[id].groups);
  for (CohortId id = 0; id < snapshot.cohorts.size(); ++id) fill(node_of_cohort(id), snapshot.cohorts[id].groups);
  sum_up();
}

void QuotaForest::link(const Snapshot& snapshot) {
  for (QueueId id = 0; id < snapshot.queues.size(); ++id) {
    const ClusterQueue& queue = snapshot.queues[id];
    if (queue.cohort != kNone) nodes_[node_of(id)].parent = node_of_cohort(queue.cohort);
    nodes_[node_of(id)].weight = queue.weight;
  }
  for (CohortId id = 0; id < snapshot.cohorts.size(); ++id) {
    const Cohort& cohort = snapshot.cohorts[id];
    if (cohort.parent != kNone) nodes_[node_of_cohort(id)].parent = node_of_cohort(cohort.parent);
    nodes_[node_of_cohort(id)].weight = cohort.weight;
  }
  break_circles();

  const auto name_of = [&](TreeNode node) -> const std::string& {
    return is_queue(node) ? snapshot.queues[node].name : snapshot.cohorts[node - queue_count_].name;
  };
  for (TreeNode node = 0; node < nodes_.size(); ++node)
    if (nodes_[node].parent != kNone) nodes_[nodes_[node].parent].children.push_back(node);
  for (TreeNode node = 0; node < nodes_.size(); ++node) {
    std::sort(nodes_[node].children.begin(), nodes_[node].children.end(), [&](TreeNode a, TreeNode b) {
      return is_queue(a) != is_queue(b) ? is_queue(a) : name_of(a) < name_of(b);
    });
    if (nodes_[node].parent == kNone) downwards_.push_back(node);
  }
  for (std::size_t i = 0; i < downwards_.size(); ++i) {
    const TreeNode at = downwards_[i];
    Node& node = nodes_[at];
    node.root = node.parent == kNone ? at : nodes_[node.parent].root;
    node.depth = node.parent == kNone ? 0 : nodes_[node.parent].depth + 1;
    if (is_queue(at)) {
      node.place = nodes_[node.root].queues.size();
      nodes_[node.root].queues.push_back(at);
    }
    downwards_.insert(downwards_.end(), node.children.begin(), node.children.end());
  }
  for (auto at = downwards_.rbegin(); at != downwards_.rend(); ++at)
    if (const TreeNode above = nodes_[*at].parent; above != kNone)
      nodes_[above].height = std::max(nodes_[above].height, nodes_[*at].height + 1);
}

// Whoever never comes to a root is cut off from its parent.
void QuotaForest::break_circles() {
  enum class State : std::uint8_t { kNew, kOnPath, kGood, kBad };
  std::vector<State> states(nodes_.size(), State::kNew);
  for (TreeNode start = 0; start < nodes_.size(); ++start) {
    std::vector<TreeNode> path;
    TreeNode at = start;
    while (at != kNone && states[at] == State::kNew) {
      states[at] = State::kOnPath;
      path.push_back(at);
      at = nodes_[at].parent;
    }
    const bool is_bad = at != kNone && states[at] != State::kGood;
    for (const TreeNode node : path) states[node] = is_bad ? State::kBad : State::kGood;
  }
  for (TreeNode node = 0; node < nodes_.size(); ++node) {
    if (states[node] != State::kBad) continue;
    nodes_[node].is_cyclic = true;
    nodes_[node].parent = kNone;
  }
}

void QuotaForest::collect_slots(const Snapshot& snapshot, const Queues& queues) {
  for (TreeNode node = 0; node < nodes_.size(); ++node) {
    if (nodes_[node].parent != kNone) continue;
    nodes_[node].tree = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  }
  const auto add_groups = [&](TreeNode node, const std::vector<ResourceGroup>& groups) {
    std::vector<FlavorResource>& slots = slots_[nodes_[root(node)].tree];
    for (const ResourceGroup& group : groups)
      for (const FlavorQuotas& flavor : group.flavors)
        for (const ResourceId resource : group.covered) slots.push_back({resource, flavor.flavor});
  };
  for (QueueId id = 0; id < snapshot.queues.size(); ++id) {
    add_groups(node_of(id), snapshot.queues[id].groups);
    std::vector<FlavorResource>& slots = slots_[nodes_[root(node_of(id))].tree];
    for (const auto& [what, amount] : queues.usage(id)) slots.push_back(what);
  }
  for (CohortId id = 0; id < snapshot.cohorts.size(); ++id) add_groups(node_of_cohort(id), snapshot.cohorts[id].groups);
  for (std::vector<FlavorResource>& slots : slots_) {
    std::sort(slots.begin(), slots.end());
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  }
}

void QuotaForest::lay_out_cells() {
  std::size_t next = 0;
  for (TreeNode node = 0; node < nodes_.size(); ++node) {
    nodes_[node].first_cell = next;
    next += slots(node).size();
  }
  cells_.resize(next);
  // Who states no limits has none.
  for (Cell& cell : cells_) cell.borrowing_limit = cell.lending_limit = kUnlimited;
}

void QuotaForest::fill(TreeNode node, const std::vector<ResourceGroup>& groups) {
  for (const ResourceGroup& group : groups)
    for (const FlavorQuotas& flavor : group.flavors)
      for (std::size_t i = 0; i < group.covered.size() && i < flavor.quotas.size(); ++i) {
        Cell& cell = cells_[cell_index(node, slot_of(node, {group.covered[i], flavor.flavor}))];
        cell.nominal = flavor.quotas[i].nominal;
        cell.borrowing_limit = flavor.quotas[i].borrowing_limit.value_or(kUnlimited);
        cell.lending_limit = flavor.quotas[i].lending_limit.value_or(kUnlimited);
      }
}

void QuotaForest::sum_up() {
  for (Cell& cell : cells_) cell.subtree = cell.nominal;
  for (auto at = downwards_.rbegin(); at != downwards_.rend(); ++at) {
    const TreeNode above = parent(*at);
    for (Slot slot = 0; slot < slots(*at).size(); ++slot) {
      Cell& cell = cells_[cell_index(*at, slot)];
      if (cell.lending_limit != kUnlimited) cell.local = std::max<std::int64_t>(0, cell.subtree - cell.lending_limit);
      if (above == kNone) continue;
      Cell& upper = cells_[cell_index(above, slot)];
      upper.subtree = plus(upper.subtree, cell.subtree - cell.local);
    }
  }
  for (const TreeNode node : downwards_) {
    for (Slot slot = 0; slot < slots(node).size(); ++slot) {
      Cell& cell = cells_[cell_index(node, slot)];
      cell.potential = cell.subtree;
      if (parent(node) == kNone) continue;
      cell.potential = plus(cell.local, cells_[cell_index(parent(node), slot)].potential);
      if (cell.borrowing_limit != kUnlimited)
        cell.potential = std::min(cell.potential, plus(cell.subtree, cell.borrowing_limit));
    }
  }
}

Slot QuotaForest::slot_of(TreeNode node, FlavorResource what) const {
  const auto all = slots(node);
  const auto at = std::lower_bound(all.begin(), all.end(), what);
  return at != all.end() && *at == what ? static_cast<Slot>(at - all.begin()) : kNone;
}

TreeNode QuotaForest::common_ancestor(TreeNode a, TreeNode b) const {
  while (a != b) {
    if (nodes_[a].depth < nodes_[b].depth) std::swap(a, b);
    a = nodes_[a].parent;
    if (a == kNone) return kNone;
  }
  return a;
}

}  // namespace gangway::planning::queueing
