// Who is to be tried again when something has changed for a queue: a workload of it has gone, or its quota is another.
#pragma once

#include <vector>

#include "planning/queueing/queues.h"
#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {

// All that were set aside in the queue's tree: what one queue gives up any other may borrow. In the order of uids.
std::vector<WorkloadId> to_wake(const Snapshot& snapshot, const Queues& queues, QueueId changed);

}  // namespace gangway::planning::queueing
