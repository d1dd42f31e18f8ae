// Entry: one head of a queue on its way through a cycle.
#pragma once

#include "planning/queueing/nominate.h"
#include "planning/queueing/plan.h"

namespace gangway::planning::queueing {

struct Entry {
  WorkloadId workload = kNone;
  QueueId queue = kNone;
  Nomination nomination = {};
  Decision decision = {};
};

}  // namespace gangway::planning::queueing
