// Classical preemption: victims by priority, from the own queue and from those of the cohort that have borrowed.
//
// Walking up from the preemptor's queue, as long as its request does not fit into a subtree's own quota, whoever is met
// in the next cohort yields by priority; once it fits, whoever is met further away has what belongs to that subtree
// ("hierarchical"). Victims are taken greedily in order and then spared where possible: small sets, not the smallest.
#pragma once

#include <cstdint>
#include <vector>

#include "planning/queueing/board.h"
#include "planning/queueing/preemption_request.h"

namespace gangway::planning::queueing {

class ClassicalPreemption {
 public:
  explicit ClassicalPreemption(Board& board) : board_(board), classes_(board.snapshot.queues.size()) {}

  std::vector<Chosen> find(Usage& usage, const PreemptionRequest& request);

 private:
  enum class Class : std::uint8_t { kHierarchical, kByPriority, kOwn };
  // Of another queue: why it could be taken from, and the cohort that it has in common with the preemptor's.
  struct Source {
    Class why = Class::kByPriority;
    TreeNode common = kNone;
  };
  // Where the walk through a queue's candidates has come to.
  struct Cursor {
    const std::vector<Candidate>* list = nullptr;
    std::size_t at = 0;
    const Candidate& candidate() const { return (*list)[at]; }
  };
  struct Attempt {
    Usage& usage;
    const PreemptionRequest& request;
    bool may_borrow = true;
    std::vector<Chosen> victims = {};
    bool is_done = false;
  };

  void find_sources(const Usage& usage, const PreemptionRequest& request);
  void add_sources(const Usage& usage, const PreemptionRequest& request, TreeNode below, TreeNode except,
                   Source source);
  bool has_candidate(const PreemptionRequest& request, QueueId queue) const;
  std::vector<bool> attempts(const Usage& usage, const PreemptionRequest& request) const;
  void run(Attempt& attempt);
  // Takes what is evicted already, or else the rest, of one class, in order.
  void take(Attempt& attempt, Class why, std::vector<Cursor>& cursors, bool evicted);
  bool is_eligible(const PreemptionRequest& request, const Candidate& candidate) const;
  // Whether it could do without borrowing if all of its own queue went that may.
  bool could_stay_within_nominal(const Usage& usage, const PreemptionRequest& request) const;
  bool still_lends(const Attempt& attempt, QueueId queue) const;
  std::vector<Cursor> cursors_of(Class why, const PreemptionRequest& request);
  bool may_take_while_borrowing(const PreemptionRequest& request, const Candidate& candidate) const;
  Victim::Reason reason_of(const Attempt& attempt, Class why, const Candidate& candidate) const;

  Board& board_;
  std::vector<QueueId> sources_;  // those that have candidates
  std::vector<Source> classes_;   // by queue; true of those only
  bool has_hierarchical_ = false;
};

}  // namespace gangway::planning::queueing
