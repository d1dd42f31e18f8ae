#include "planning/placement/node_order.h"

#include <algorithm>
#include <map>
#include <utility>

namespace gangway::planning {
namespace {

// The device that a node has most of.
ResourceId device_of(const Snapshot& snapshot, const Amounts& allocatable) {
  ResourceId best = kCpu;
  for (ResourceId id = kFirstExtended; id < allocatable.size(); ++id) {
    if (allocatable[id] <= 0) continue;
    const auto weight = [&](ResourceId resource) {
      return std::make_pair(snapshot.resources.is_gpu(resource), allocatable[resource]);
    };
    if (best == kCpu || weight(id) > weight(best) ||
        (weight(id) == weight(best) && snapshot.resources.name_of(id) < snapshot.resources.name_of(best)))
      best = id;
  }
  return best;
}

}  // namespace

NodeOrder::NodeOrder(const Snapshot& snapshot)
    : rank_(snapshot.nodes.size(), kNone), class_of_(snapshot.nodes.size(), kNone) {
  for (NodeId id = 0; id < snapshot.nodes.size(); ++id)
    if (!snapshot.nodes[id].name.empty()) by_name_.push_back(id);
  std::sort(by_name_.begin(), by_name_.end(),
            [&](NodeId a, NodeId b) { return snapshot.nodes[a].name < snapshot.nodes[b].name; });

  std::map<std::pair<const NodeTraits*, Amounts>, ClassId> known;
  for (std::uint32_t rank = 0; rank < by_name_.size(); ++rank) {
    const NodeId id = by_name_[rank];
    const Node& node = snapshot.nodes[id];
    rank_[id] = rank;
    const auto [at, is_new] =
        known.try_emplace({node.traits.get(), node.allocatable}, static_cast<ClassId>(classes_.size()));
    if (is_new) classes_.push_back({{}, device_of(snapshot, node.allocatable)});
    class_of_[id] = at->second;
    classes_[at->second].nodes.push_back(id);
  }
}

}  // namespace gangway::planning
