// plan(): one cycle over the heads of all queues, as a pure function. Its steps are numbered where it is implemented.
//
//   heads ─► nominated, each as if alone ─► in order ─► admitted │ preempts │ waits, and where
//
// The same snapshot gives the same plan. Costs what the heads and their trees cost, whatever waits behind them.
#pragma once

#include "planning/queueing/plan.h"
#include "planning/queueing/queues.h"
#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {

// `queues` are those of the snapshot.
Plan plan(const Snapshot& snapshot, const Queues& queues, const Options& options);
Plan plan(const Snapshot& snapshot, const Options& options = {});

}  // namespace gangway::planning::queueing
