// In which order the heads of different queues are served within a cycle.
//
// Classical: who borrows from nearest by, then priority, then place in line. Fair sharing: a tournament in every tree,
// cohort by cohort: who does not borrow what it asks for, then the lower share with the request counted, then priority
// and place in line; what has been given in this cycle counts for those who come after.
#pragma once

#include <vector>

#include "planning/queueing/board.h"
#include "planning/queueing/entry.h"

namespace gangway::planning::queueing {

class CycleOrder {
 public:
  // `entries` stay where they are and must outlive it.
  CycleOrder(const Board& board, std::vector<Entry>& entries);

  // Null when all have been served. `counted` is what is used and has been given or reserved so far.
  Entry* next(Usage& counted);

 private:
  // What a node on the way from a queue to its root is judged by when the entry is counted in.
  struct Standing {
    bool borrows = false;
    Share share = {};
  };
  struct Contender {
    Entry* entry = nullptr;
    std::vector<Standing> standings = {};  // from the queue upwards, without the root
    bool is_stale = true;
  };
  struct Winner {
    Contender* contender = nullptr;
    std::size_t step = 0;  // which of its standings counts
  };

  bool comes_before(const Entry& a, const Entry& b) const;
  bool beats(const Winner& a, const Winner& b) const;
  void refresh(Contender& contender, Usage& counted) const;
  Winner winner_below(TreeNode node);
  void outdate(const Entry& served);
  TreeNode below_root(TreeNode node) const;

  const Board& board_;
  std::vector<Entry*> line_;  // classical, and those without a cohort
  std::size_t served_ = 0;
  std::vector<TreeNode> roots_;  // of trees with contenders, by name
  std::vector<Contender> contenders_;
  std::vector<std::uint32_t> contender_of_;  // by queue; kNone: served, or has none
  Entry* last_ = nullptr;
};

}  // namespace gangway::planning::queueing
