// Ledger: what is left on every node, next to all that is bound, held and kept back. Belongs to one plan in the making,
// which moves everything on it but the pods that are bound in the snapshot.
//
// Room has four owners:
//   bound      a pod is there, terminating ones included: until it is gone its room is nobody else's
//   held       an open ticket counts on it; as far as its own victims are still there, on theirs
//   kept       a reservation wants it; others may use it if they end before the reservation can start
//   left       the rest: what `fits` gives away
// One row of numbers a node; nothing here looks at more than one node.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "planning/snapshot.h"

namespace gangway::planning {

class Ledger {
 public:
  explicit Ledger(const Snapshot& snapshot);

  // Whether a pod has room on the node that ends at `ends`, or never.
  bool fits(NodeId node, const PodShape& shape, const std::optional<WallTime>& ends) const;
  // How many such pods have, at most `limit`.
  std::int64_t count_fits(NodeId node, const PodShape& shape, const std::optional<WallTime>& ends,
                          std::int64_t limit) const;
  // Takes the room, whether it is there or not; gives it back.
  void take(NodeId node, const PodShape& shape) { change(node, shape, -1); }
  void give(NodeId node, const PodShape& shape) { change(node, shape, 1); }
  // More precisely: amounts by resource that a ticket takes beyond what its victims leave.
  void take(NodeId node, const Amounts& amounts);
  void give(NodeId node, const Amounts& amounts);

  std::int64_t left(NodeId node, ResourceId resource) const { return row(node)[resource]; }
  // Nothing is owed: no resource is below zero, as it is after an administrator's cut.
  bool is_sound(NodeId node) const;
  std::size_t width() const { return width_; }

  // From now on `amounts` of the node are kept for a reservation that starts at `starts`, or whenever it can.
  // `leaving` is what is there now and will have gone by then: who takes its place before that takes from what is kept.
  void keep(NodeId node, const Amounts& amounts, const Amounts& leaving, std::optional<WallTime> starts);
  // Somebody comes (sign 1) who was not there when it was kept, or goes again (-1).
  void come(NodeId node, const PodShape& shape, const std::optional<WallTime>& ends, std::int64_t sign);

  // The load of a node, for comparing: the shares of cpu and memory in use, as whole numbers.
  std::int64_t load(NodeId node) const;
  std::int64_t load_with(NodeId node, const PodShape& shape) const;

 private:
  struct Kept {
    Amounts spare;  // what others may take and stay
    std::optional<WallTime> starts;
    bool is_over_by(const std::optional<WallTime>& ends) const { return ends && starts && *ends <= *starts; }
  };

  const std::int64_t* row(NodeId node) const { return &left_[node * stride_]; }
  std::int64_t* row(NodeId node) { return &left_[node * stride_]; }
  void change(NodeId node, const PodShape& shape, std::int64_t sign);
  static bool respects(const Kept& kept, const PodShape& shape, const std::optional<WallTime>& ends,
                       std::int64_t count);
  const Kept* kept_on(NodeId node) const;

  const Snapshot& snapshot_;
  std::size_t width_;   // resources
  std::size_t stride_;  // and the two loads behind them
  std::vector<std::int64_t> left_;
  std::vector<std::uint32_t> kept_index_;  // by node; empty while nothing is kept
  std::vector<Kept> kept_;
};

// What a ticket takes of a node beyond what its own victims there will leave.
struct NetHold {
  NodeId node = kNone;
  Amounts amounts;
};
std::vector<NetHold> net_holds(const Snapshot& snapshot, const OpenTicket& ticket);
// `wanted`: by node.
std::vector<NetHold> beyond_victims(const Snapshot& snapshot, std::map<NodeId, Amounts> wanted,
                                    const std::vector<PodId>& victims);

}  // namespace gangway::planning
