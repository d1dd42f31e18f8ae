// NodeOrder: the nodes of a plan by name, and in classes whose members differ in nothing but their load and their name.
//
// Within a class the order by load is the same for every pod, so that the best node for a pod is the first that has
// room. Made once a plan: it costs a sort by name.
#pragma once

#include <cstdint>
#include <vector>

#include "planning/snapshot.h"

namespace gangway::planning {

using ClassId = std::uint32_t;

struct NodeClass {
  std::vector<NodeId> nodes;  // by name
  ResourceId gpu = 0;         // what its nodes are packed by; kCpu when they have no devices
};

class NodeOrder {
 public:
  explicit NodeOrder(const Snapshot& snapshot);

  const std::vector<NodeId>& by_name() const { return by_name_; }
  std::uint32_t rank(NodeId node) const { return rank_[node]; }
  const std::vector<NodeClass>& classes() const { return classes_; }
  ClassId class_of(NodeId node) const { return class_of_[node]; }
  std::size_t size() const { return by_name_.size(); }

 private:
  std::vector<NodeId> by_name_;
  std::vector<std::uint32_t> rank_;
  std::vector<ClassId> class_of_;
  std::vector<NodeClass> classes_;  // in the order of their first nodes
};

}  // namespace gangway::planning
