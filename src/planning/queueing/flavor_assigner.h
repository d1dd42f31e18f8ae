// FlavorAssigner: which flavors the podsets of a workload get, and whether that needs borrowing or victims.
//
// Podsets in order, each group of resources by itself: flavors are tried in the queue's order until one is good enough
// by the queue's rules (flavorFungibility), else the best of those tried. All resources of a group come from one
// flavor.
#pragma once

#include <cstdint>
#include <vector>

#include "planning/queueing/board.h"
#include "planning/queueing/preemption.h"

namespace gangway::planning::queueing {

// How a request can be met, worst first.
enum class Mode : std::uint8_t {
  kNoFit,
  kNoCandidates,  // quota would do, but nobody can be preempted for it
  kPreempt,       // at the cost of somebody in the own queue
  kReclaim,       // at the cost of other queues only
  kFit,
};

struct Assignment {
  Mode mode = Mode::kFit;  // of the worst podset
  int level = 0;           // of borrowing, the highest
  Grant grant = {};
  Needs needs = {};
  std::vector<Slot> scarce = {};  // what victims are needed for
  std::vector<Shortfall> shortfalls = {};
  PendingReason reason = PendingReason::kNone;
  ScanProgress progress = {};

  bool is_fit() const { return mode == Mode::kFit; }
  bool has_flavors_left() const;
};

class FlavorAssigner {
 public:
  FlavorAssigner(Board& board, VictimFinder& victims) : board_(board), victims_(victims) {}

  // With so many pods a podset. `pinned`: only these flavors are tried. `usage` is left as it was.
  Assignment assign(Usage& usage, WorkloadId workload, const std::vector<std::int64_t>& counts,
                    const Grant* pinned = nullptr);

 private:
  struct Job {
    Usage& usage;
    WorkloadId id;
    const Workload& workload;
    const ClusterQueue& queue;
    const Grant* pinned;
    Assignment& result;
  };
  // A group's requests of one podset.
  struct Part {
    std::uint32_t podset = 0;
    std::size_t group = 0;
    std::vector<std::pair<std::size_t, std::int64_t>> requests = {};  // place among the covered, amount
  };
  // One flavor, tried.
  struct Trial {
    Mode mode = Mode::kNoFit;
    int level = 0;
    std::size_t flavor = 0;
    std::vector<Mode> modes = {};  // by request of the part
    PendingReason reason = PendingReason::kNone;
  };

  bool add_podset(Job& job, std::uint32_t podset, std::int64_t count);
  bool add_part(Job& job, const Part& part);
  Trial try_flavor(Job& job, const Part& part, std::size_t index);
  bool is_excluded(Job& job, const Part& part, FlavorId flavor, Trial& trial);
  Mode fit_one(Job& job, const Part& part, FlavorResource what, std::int64_t amount, int& level, Trial& trial);
  Mode simulate(Job& job, Slot slot, std::int64_t amount, int& level);
  void grant(Job& job, const Part& part, const Trial& best);
  bool is_pinned_elsewhere(const Job& job, const Part& part, FlavorId flavor) const;

  Board& board_;
  VictimFinder& victims_;
};

}  // namespace gangway::planning::queueing
