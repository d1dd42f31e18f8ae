// Preemption: the cheapest way to make room for somebody, found on paper before anyone is touched.
//
// In the way of a claimant are, from cheap to dear: pods that are ending already, room that is held for gangs of lower
// priority which do not run yet, members above the minimum of elastic gangs, and jobs of lower priority. For one pod
// every node is weighed, and the answers are kept for the next pod of its kind; for a gang, victims are given up in the
// order of their cost until it fits, and then spared again, the dearest first, as far as it still does.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "planning/placement/board.h"
#include "planning/placement/gang_placer.h"
#include "planning/placement/victims.h"
#include "planning/plan.h"

namespace gangway::planning {

// Where a gang would go, and what that takes.
struct Bargain {
  std::vector<Seated> seated = {};
  std::vector<PodId> evicted = {};
  std::vector<PodId> waits_for = {};
  std::vector<GangId> withdrawn = {};
};

class Preemption {
 public:
  Preemption(Board& board, Victims& victims);

  // The board is left as it was.
  std::optional<Bargain> find(GangId gang, const std::vector<Seeker>& seekers, std::int64_t priority);

 private:
  // Something in the way that could be moved.
  struct Obstacle {
    PodId pod = kNone;
    GangId ticket = kNone;  // instead of a pod: room that is held for this gang
    Cost cost = {};
  };
  struct Weighed {
    Cost cost;
    bool withdraws = false;
    std::vector<PodId> evicted;
    std::vector<PodId> waits_for;
    std::vector<GangId> withdrawn;
  };
  // What all nodes would cost for one kind of pod. Less is better.
  struct Book {
    using Key = std::tuple<Cost, bool, std::uint32_t>;
    std::set<Key> best;
    std::map<NodeId, Key> keys;
    std::size_t seen = 0;  // of the board's changes
    bool is_made = false;
  };

  std::optional<Bargain> find_for_one(GangId gang, const Seeker& seeker, std::int64_t priority);
  std::optional<Bargain> find_for_many(GangId gang, const std::vector<Seeker>& seekers, std::int64_t priority);
  std::optional<Weighed> weigh(GangId gang, const Claimant& claimant, std::int64_t priority, NodeId node);
  void write(Book& book, GangId gang, const Claimant& claimant, std::int64_t priority, NodeId node);
  std::vector<Obstacle> obstacles_on(GangId gang, std::int64_t priority, NodeId node) const;
  std::vector<GangId> withdrawable(GangId gang, std::int64_t priority) const;
  void withdraw(GangId ticket);
  void restore(GangId ticket);
  void sort_by_name(std::vector<PodId>& pods) const;
  std::vector<PodId> still_unclaimed(std::vector<PodId> pods) const;
  // Pods that end anyway and whose end may help on this node: anywhere, for who looks around.
  std::vector<PodId> ending_for(const Claimant& claimant, NodeId node) const;
  void count_on(PodId pod, std::vector<PodId>& evicted, std::vector<PodId>& waits_for) const;
  void remove(const Obstacle& obstacle);
  void put_back(const Obstacle& obstacle);
  std::vector<std::vector<PodId>> offers(GangId gang, std::int64_t priority) const;
  Bargain settle(std::vector<Seated> seated, std::vector<PodId> ending, const std::vector<GangId>& tickets,
                 const std::vector<std::vector<PodId>>& given);
  bool looks_around(const std::vector<Seated>& seated) const;
  bool can_sit(const std::vector<Seated>& seated);
  bool survives(const Bargain& bargain);
  bool stands(const std::vector<Seated>& seated, const std::vector<NodeId>& nodes) const;

  Board& board_;
  Victims& victims_;
  std::vector<PodId> ending_;    // all that are, by name
  std::vector<GangId> holders_;  // of open tickets, the least important first
  std::map<std::tuple<const PodShape*, std::int64_t, bool>, Book> books_;
};

}  // namespace gangway::planning
