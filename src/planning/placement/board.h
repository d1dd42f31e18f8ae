// Board: a snapshot, and what the plan in the making has moved on it so far.
//
// Moves can be taken back: everything since a savepoint is undone by inverse moves. Judgements of shapes are kept for
// the whole plan. One plan, one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planning/placement/ledger.h"
#include "planning/placement/node_order.h"
#include "planning/placement/topology.h"
#include "planning/snapshot.h"

namespace gangway::planning {

// A pod that wants a place, or one that will be made later.
struct Claimant {
  const PodShape* shape = nullptr;
  const Labels* labels = nullptr;
  std::optional<WallTime> ends = {};
};

// What is known of a shape before any room is counted.
struct Judgement {
  struct Group {
    std::int64_t preference = 0;
    std::vector<ClassId> classes = {};
    std::vector<NodeId> nodes = {};  // by name; instead of classes, for shapes that ask for nodes by name
  };
  std::vector<Group> groups = {};                     // the most liked first
  std::map<std::string, std::int64_t> refusals = {};  // by reason, how many nodes
  bool asks_for_names = false;
};

class Board {
 public:
  Board(const Snapshot& snapshot, const Policies& policies);

  const Snapshot& snapshot() const { return snapshot_; }
  const Policies& policies() const { return policies_; }
  const NodeOrder& order() const { return order_; }
  Ledger& ledger() { return ledger_; }
  const Ledger& ledger() const { return ledger_; }
  Topology& topology() { return topology_; }

  const Judgement& judge(const PodShape& shape);
  // Nodes that the shape may be on, whatever their room; by name.
  const std::vector<NodeId>& admitted(const PodShape& shape);
  bool admits(const PodShape& shape, NodeId node);

  // Whether the claimant can be on a node that admits its shape, as things stand.
  bool fits(const Claimant& claimant, NodeId node);
  bool has_free_ports(const PodShape& shape, NodeId node) const;
  // Whether more than room and the node's own rules matter.
  bool looks_around(const Claimant& claimant) const;

  void place(const Claimant& claimant, NodeId node);
  // The same for a ticket that waits for others to go: it is there for all that look around, but takes room only as far
  // as `victims` leave too little.
  struct Seat {
    Claimant claimant;
    NodeId node = kNone;
  };
  void hold(const std::vector<Seat>& seats, const std::vector<PodId>& victims);
  // A bound pod goes.
  void remove(PodId pod);
  void put_back(PodId pod);
  // An open ticket is taken back, or kept after all.
  void withdraw(GangId gang);
  void restore(GangId gang);
  bool is_withdrawn(GangId gang) const { return withdrawn_[gang]; }

  using Savepoint = std::size_t;
  Savepoint savepoint() const { return moves_.size(); }
  void roll_back(Savepoint to);

  // Nodes whose room has changed, one entry a change. Those who keep something by node read on from where they were.
  const std::vector<NodeId>& changes() const { return changes_; }
  // Something else about the node is no longer what it was.
  void note_change(NodeId node) {
    if (order_.rank(node) != kNone) changes_.push_back(node);
  }

  // While it lives, moves are only tried: its end takes them all back, and nobody is told.
  class Trial {
   public:
    explicit Trial(Board& board) : board_(board), before_(board.savepoint()) { ++board_.trials_; }
    ~Trial() {
      board_.roll_back(before_);
      --board_.trials_;
    }
    Trial(const Trial&) = delete;
    Trial& operator=(const Trial&) = delete;

   private:
    Board& board_;
    Savepoint before_;
  };

 private:
  struct Move {
    enum class Kind : std::uint8_t { kPlace, kPresence, kAmounts, kRemove, kWithdraw };
    Kind kind = Kind::kPlace;
    std::int64_t sign = 1;  // -1: the inverse
    Claimant claimant = {};
    NodeId node = kNone;
    std::uint32_t id = kNone;  // of a pod or a gang
    Amounts amounts = {};
  };

  void make(Move move);
  void apply(const Move& move);
  void move_room(const Amounts& amounts, NodeId node, std::int64_t sign);
  void move_presence(const Claimant& claimant, NodeId node, std::int64_t sign, bool is_terminating);
  void move_ticket(const Gang& gang, std::int64_t sign);
  void add_ports(const PodShape& shape, NodeId node, std::int64_t sign);
  void room_changed(NodeId node) {
    if (trials_ == 0) note_change(node);
  }

  const Snapshot& snapshot_;
  const Policies& policies_;
  NodeOrder order_;
  Ledger ledger_;
  Topology topology_;
  std::map<const PodShape*, Judgement> judgements_;
  std::map<const PodShape*, std::vector<NodeId>> admitted_;
  std::map<NodeId, std::vector<HostPort>> ports_;
  std::vector<Move> moves_;
  std::vector<bool> withdrawn_;  // by gang
  std::vector<NodeId> changes_;
  int trials_ = 0;
};

Claimant claimant_of(const Pod& pod);
Claimant claimant_of(const LateMembers& late);

}  // namespace gangway::planning
