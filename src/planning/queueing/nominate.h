// Nominating: what a head would get if it were alone, on the usage as it is, and at whose cost.
#pragma once

#include <vector>

#include "planning/queueing/flavor_assigner.h"

namespace gangway::planning::queueing {

struct Nomination {
  Assignment assignment = {};
  std::vector<Chosen> victims = {};  // none although some are needed: nobody can be preempted

  bool needs_victims() const { return assignment.mode > Mode::kNoFit && !assignment.is_fit(); }
};

class Nominator {
 public:
  explicit Nominator(Board& board) : board_(board), finder_(board), assigner_(board, finder_) {}

  // In full, with victims if need be; else as many pods as possible, where podsets say how few will do.
  Nomination nominate(Usage& usage, WorkloadId workload);
  // As many pods in the same flavors as the grant says.
  Nomination nominate_again(Usage& usage, WorkloadId workload, const Grant& grant);

 private:
  Nomination with_counts(Usage& usage, WorkloadId workload, const std::vector<std::int64_t>& counts,
                         const Grant* pinned = nullptr);
  Nomination reduced(Usage& usage, WorkloadId workload, Nomination full);

  Board& board_;
  VictimFinder finder_;
  FlavorAssigner assigner_;
};

}  // namespace gangway::planning::queueing
