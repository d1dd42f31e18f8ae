// Preemption by fair sharing: those go who have borrowed most for their weight, as long as the preemptor's share stays
// below theirs. Own workloads go by the queue's own policy, and who only wants its nominal quota back always gets it.
//
// Shares count the preemptor's request as if it were admitted already.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "planning/queueing/board.h"
#include "planning/queueing/preemption_request.h"

namespace gangway::planning::queueing {

class FairPreemption {
 public:
  explicit FairPreemption(Board& board) : board_(board) {}

  std::vector<Chosen> find(Usage& usage, const PreemptionRequest& request);

 private:
  // How far a queue's candidates have been walked through.
  struct Line {
    const std::vector<Candidate>* candidates = nullptr;  // null: it gives nobody
    std::size_t next = 0;                                // an eligible one, or the end
    const Candidate* passed_over = nullptr;              // the first that was not fair to take
    bool is_empty() const { return !candidates || next == candidates->size(); }
    const Candidate& front() const { return (*candidates)[next]; }
  };
  // Which queue to take from next. A node that borrows nothing is passed over for good.
  struct Round {
    Usage& usage;
    const PreemptionRequest& request;
    std::vector<Line> lines;       // by place in the tree
    std::vector<bool> is_on_path;  // by node of the forest: the preemptor's queue and all above it
    std::vector<Share> shares;     // likewise, of what has been looked at
    std::vector<bool> is_known;    // likewise: whether that is still true
    std::map<TreeNode, std::vector<TreeNode>> open = {};  // by cohort: the children that may still give somebody
    std::vector<Chosen> victims = {};
    bool is_done = false;
  };

  Round start(Usage& usage, const PreemptionRequest& request);
  Line& line_of(Round& round, QueueId queue) const { return round.lines[board_.forest.place_in_tree(queue)]; }
  void skip_ineligible(const PreemptionRequest& request, Line& line) const;
  QueueId next_queue(Round& round) const;
  QueueId next_below(Round& round, TreeNode cohort) const;
  std::vector<TreeNode>& open_children(Round& round, TreeNode cohort) const;
  bool is_spent(Round& round, TreeNode node) const;
  // Whether to take from the one rather than from the other.
  bool is_better(Round& round, TreeNode one, TreeNode other) const;
  const Share& share_of(Round& round, TreeNode node) const;
  void change(Round& round, QueueId queue, const Needs& needs, int sign) const;
  void run_first(Round& round, FairStrategy strategy);
  void run_second(Round& round);
  void take(Round& round, const Candidate& candidate, Victim::Reason reason);
  bool is_within_nominal(const Round& round) const;

  // The nodes just below the common ancestor of preemptor and target, whose shares are compared.
  struct Sides {
    TreeNode preemptor = kNone;
    TreeNode target = kNone;
  };
  Sides sides(const Round& round, QueueId target) const;
  bool is_fair(Round& round, FairStrategy strategy, const Candidate& candidate) const;

  Board& board_;
};

}  // namespace gangway::planning::queueing
