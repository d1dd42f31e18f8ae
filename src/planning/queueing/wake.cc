#include "planning/queueing/wake.h"

#include <algorithm>

namespace gangway::planning::queueing {
namespace {

// The topmost cohort, or none. In a circle there is no topmost one: then any that is in it, the same for all.
CohortId root_of(const Snapshot& snapshot, QueueId queue) {
  CohortId cohort = snapshot.queues[queue].cohort;
  CohortId lowest = kNone;
  for (std::size_t steps = 0; cohort != kNone && snapshot.cohorts[cohort].parent != kNone; ++steps) {
    cohort = snapshot.cohorts[cohort].parent;
    if (steps < snapshot.cohorts.size()) continue;
    lowest = std::min(lowest, cohort);
    if (steps > 2 * snapshot.cohorts.size()) return lowest;
  }
  return cohort;
}

}  // namespace

std::vector<WorkloadId> to_wake(const Snapshot& snapshot, const Queues& queues, QueueId changed) {
  const CohortId root = root_of(snapshot, changed);
  std::vector<WorkloadId> found;
  for (QueueId queue = 0; queue < snapshot.queues.size(); ++queue) {
    if (queue != changed && (root == kNone || root_of(snapshot, queue) != root)) continue;
    for (const Turn& turn : queues.inadmissible(queue)) found.push_back(turn.workload);
  }
  std::sort(found.begin(), found.end(),
            [&](WorkloadId a, WorkloadId b) { return snapshot.workloads[a].uid < snapshot.workloads[b].uid; });
  return found;
}

}  // namespace gangway::planning::queueing
