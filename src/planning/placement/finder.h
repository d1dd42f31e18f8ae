// Finder: the best node for one pod, or for k equal ones, without looking at all nodes for each.
//
// Nodes of a class are kept in two orders: by the devices they have left, which pods with devices are packed into from
// the fullest, and by load, which other pods are spread over from the emptiest. Pods that look around (ports, other
// pods) are tried on every node that admits them.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "planning/placement/board.h"

namespace gangway::planning {

class Finder {
 public:
  explicit Finder(Board& board);

  // The best node that has room; kNone when there is none.
  NodeId find(const Claimant& claimant);

 private:
  // What a node is ordered by, then the rank of its name.
  using Key = std::pair<std::int64_t, std::uint32_t>;
  struct Orders {
    std::set<Key> by_devices;
    std::set<Key> by_load;
    bool is_packed = false;  // by_devices is in use
    bool is_spread = false;  // by_load is
  };
  // How good a node is for a pod; less is better.
  struct Score {
    std::int64_t first = 0;
    std::int64_t second = 0;
    std::uint32_t rank = 0;
    auto operator<=>(const Score&) const = default;
  };

  void follow_changes();
  Orders& orders(ClassId id, bool packed);
  NodeId find_in_classes(const Claimant& claimant, const std::vector<ClassId>& classes);
  NodeId first_fit(const Claimant& claimant, ClassId id, bool packed);
  NodeId find_among(const Claimant& claimant, const std::vector<NodeId>& nodes);
  Score score(const Claimant& claimant, NodeId node) const;
  std::int64_t devices_left(NodeId node) const;

  Board& board_;
  std::vector<Orders> orders_;         // by class
  std::vector<std::int64_t> devices_;  // by node, as they are in the orders
  std::vector<std::int64_t> loads_;
  std::size_t seen_ = 0;  // of the board's changes
};

// The device that a pod asks for most of; kCpu when it asks for none.
ResourceId device_wanted(const Snapshot& snapshot, const PodShape& shape);

}  // namespace gangway::planning
