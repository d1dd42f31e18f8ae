#include "planning/placement/finder.h"

#include <algorithm>

namespace gangway::planning {

ResourceId device_wanted(const Snapshot& snapshot, const PodShape& shape) {
  ResourceId best = kCpu;
  std::int64_t most = 0;
  for (const auto& [id, amount] : shape.request) {
    if (id < kFirstExtended) continue;
    const std::int64_t weight = snapshot.resources.is_gpu(id) ? amount + kLargestAmount : amount;
    if (weight > most) {
      best = id;
      most = weight;
    }
  }
  return best;
}

Finder::Finder(Board& board)
    : board_(board),
      orders_(board.order().classes().size()),
      devices_(board.snapshot().nodes.size()),
      loads_(board.snapshot().nodes.size()) {}

std::int64_t Finder::devices_left(NodeId node) const {
  return board_.ledger().left(node, board_.order().classes()[board_.order().class_of(node)].gpu);
}

Finder::Orders& Finder::orders(ClassId id, bool packed) {
  Orders& orders = orders_[id];
  bool& is_made = packed ? orders.is_packed : orders.is_spread;
  if (is_made) return orders;
  is_made = true;
  std::vector<Key> keys;
  for (const NodeId node : board_.order().classes()[id].nodes) {
    std::int64_t& key = packed ? devices_[node] : loads_[node];
    key = packed ? devices_left(node) : board_.ledger().load(node);
    keys.emplace_back(key, board_.order().rank(node));
  }
  std::sort(keys.begin(), keys.end());
  (packed ? orders.by_devices : orders.by_load) = std::set<Key>(keys.begin(), keys.end());
  return orders;
}

void Finder::follow_changes() {
  for (; seen_ < board_.changes().size(); ++seen_) {
    const NodeId node = board_.changes()[seen_];
    Orders& orders = orders_[board_.order().class_of(node)];
    const std::uint32_t rank = board_.order().rank(node);
    const auto move = [rank](std::set<Key>& keys, std::int64_t& known, std::int64_t now) {
      if (known == now) return;
      auto handle = keys.extract({known, rank});
      known = now;
      handle.value() = {now, rank};
      keys.insert(std::move(handle));
    };
    if (orders.is_packed) move(orders.by_devices, devices_[node], devices_left(node));
    if (orders.is_spread) move(orders.by_load, loads_[node], board_.ledger().load(node));
  }
}

Finder::Score Finder::score(const Claimant& claimant, NodeId node) const {
  const ResourceId device = device_wanted(board_.snapshot(), *claimant.shape);
  const std::uint32_t rank = board_.order().rank(node);
  if (device != kCpu) return {board_.ledger().left(node, device), 0, rank};
  // Nodes with devices are left to pods that need them, as long as there are others.
  const bool has_devices = board_.order().classes()[board_.order().class_of(node)].gpu != kCpu;
  return {has_devices ? 1 : 0, board_.ledger().load_with(node, *claimant.shape), rank};
}

NodeId Finder::first_fit(const Claimant& claimant, ClassId id, bool packed) {
  Orders& in = orders(id, packed);
  const std::set<Key>& keys = packed ? in.by_devices : in.by_load;
  const ResourceId device = board_.order().classes()[id].gpu;
  auto at = packed ? keys.lower_bound({amount_of(claimant.shape->request, device), 0}) : keys.begin();
  for (; at != keys.end(); ++at) {
    const NodeId node = board_.order().by_name()[at->second];
    if (board_.ledger().fits(node, *claimant.shape, claimant.ends)) return node;
  }
  return kNone;
}

NodeId Finder::find_in_classes(const Claimant& claimant, const std::vector<ClassId>& classes) {
  NodeId best = kNone;
  const ResourceId device = device_wanted(board_.snapshot(), *claimant.shape);
  for (const ClassId id : classes) {
    const NodeClass& in = board_.order().classes()[id];
    // A class that could not take it when empty need not be walked through.
    const Amounts& whole = board_.snapshot().nodes[in.nodes.front()].allocatable;
    if (std::any_of(claimant.shape->request.begin(), claimant.shape->request.end(),
                    [&](const auto& wanted) { return amount_of(whole, wanted.first) < wanted.second; }))
      continue;
    const NodeId node = first_fit(claimant, id, device != kCpu && in.gpu == device);
    if (node != kNone && (best == kNone || score(claimant, node) < score(claimant, best))) best = node;
  }
  return best;
}

NodeId Finder::find_among(const Claimant& claimant, const std::vector<NodeId>& nodes) {
  NodeId best = kNone;
  std::pair<std::int64_t, Score> best_score;
  for (const NodeId node : nodes) {
    if (!board_.fits(claimant, node)) continue;
    const std::pair<std::int64_t, Score> now{-board_.topology().preference_for(*claimant.shape, node),
                                             score(claimant, node)};
    if (best == kNone || now < best_score) {
      best = node;
      best_score = now;
    }
  }
  return best;
}

NodeId Finder::find(const Claimant& claimant) {
  const Judgement& judgement = board_.judge(*claimant.shape);
  const bool looks_around = board_.looks_around(claimant);
  if (!looks_around) follow_changes();
  for (const Judgement::Group& group : judgement.groups) {
    NodeId found = kNone;
    if (judgement.asks_for_names) {
      found = find_among(claimant, group.nodes);
    } else if (!looks_around) {
      found = find_in_classes(claimant, group.classes);
    } else {
      std::vector<NodeId> nodes;
      for (const ClassId id : group.classes) {
        const auto& in = board_.order().classes()[id].nodes;
        nodes.insert(nodes.end(), in.begin(), in.end());
      }
      found = find_among(claimant, nodes);
    }
    if (found != kNone) return found;
  }
  return kNone;
}

}  // namespace gangway::planning
