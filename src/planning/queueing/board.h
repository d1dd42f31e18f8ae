// Board: what one plan in the making looks at and moves: the snapshot, its trees of quota, who could be preempted.
#pragma once

#include "planning/queueing/candidates.h"
#include "planning/queueing/plan.h"
#include "planning/queueing/queues.h"
#include "planning/queueing/quota_forest.h"
#include "planning/queueing/snapshot.h"
#include "planning/queueing/usage.h"

namespace gangway::planning::queueing {

struct Board {
  Board(const Snapshot& from, const Queues& sorted, const Options& chosen)
      : snapshot(from), queues(sorted), options(chosen), forest(from, sorted), candidates(from, sorted, forest) {}
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  const Snapshot& snapshot;
  const Queues& queues;
  const Options& options;
  const QuotaForest forest;
  Candidates candidates;
};

}  // namespace gangway::planning::queueing
