// Whom to preempt so that a workload fits: one question, answered by classical preemption or by fair sharing.
//
// Answers are for the usage that is passed in; it is changed on the way and left as it was.
#pragma once

#include <optional>
#include <vector>

#include "planning/queueing/board.h"
#include "planning/queueing/classical_preemption.h"
#include "planning/queueing/fair_preemption.h"
#include "planning/queueing/preemption_request.h"

namespace gangway::planning::queueing {

class VictimFinder {
 public:
  explicit VictimFinder(Board& board) : board_(board), classical_(board), fair_(board) {}

  // In the order in which they were taken; empty when no set of victims that policies allow makes room.
  std::vector<Chosen> find(Usage& usage, const PreemptionRequest& request);

 private:
  Board& board_;
  // What was asked last: choosing a flavor and then the victims is the same question where one resource is scarce.
  // Whoever asks twice about one workload in a row has changed nothing in between.
  struct Answer {
    const Usage* usage = nullptr;
    PreemptionRequest request = {};
    std::vector<Chosen> victims = {};
  };
  Answer last_;
  ClassicalPreemption classical_;
  FairPreemption fair_;
};

}  // namespace gangway::planning::queueing
