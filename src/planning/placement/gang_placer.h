// Places all members of a gang that must start together, or none, and keeps them near each other: on one node, else in
// the nearest domain that has room for all, else anywhere.
//
// Works on the board and leaves its moves there when it succeeds. Costs a walk over the nodes that admit the members
// and a sort of those that have room, for each kind of member.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planning/placement/board.h"

namespace gangway::planning {

// One member that wants a place.
struct Seeker {
  Claimant claimant;
  PodId pod = kNone;
  std::uint32_t late = kNone;  // which of Gang::late, for one that does not exist yet
};

struct Seated {
  Seeker seeker;
  NodeId node = kNone;
};

class GangPlacer {
 public:
  explicit GangPlacer(Board& board) : board_(board) {}

  // Nothing, with the board as it was, when not all of them find a place.
  std::optional<std::vector<Seated>> place(std::vector<Seeker> seekers);

 private:
  struct Room {
    NodeId node = kNone;
    std::int64_t count = 0;  // how many members it takes
  };
  using Nodes = std::vector<NodeId>;

  std::optional<std::vector<Seated>> place_near(const std::vector<std::vector<Seeker>>& kinds,
                                                const std::string& label);
  std::optional<std::vector<Seated>> place_within(const std::vector<std::vector<Seeker>>& kinds, const Nodes* domain);
  bool seat_equals(const std::vector<Seeker>& kind, const Nodes& nodes, std::vector<Seated>& seated);
  bool seat_one_by_one(const std::vector<Seeker>& kind, const Nodes& nodes, std::vector<Seated>& seated);
  void seat(const Seeker& seeker, NodeId node, std::vector<Seated>& seated);
  std::vector<Room> rooms(const Claimant& claimant, std::int64_t wanted, const Nodes& nodes) const;

  Board& board_;
};

}  // namespace gangway::planning
