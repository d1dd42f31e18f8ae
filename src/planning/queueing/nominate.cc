#include "planning/queueing/nominate.h"

#include <algorithm>
#include <utility>

namespace gangway::planning::queueing {
namespace {

bool is_possible(const Nomination& nomination) {
  return nomination.assignment.is_fit() || (nomination.needs_victims() && !nomination.victims.empty());
}

}  // namespace

Nomination Nominator::with_counts(Usage& usage, WorkloadId workload, const std::vector<std::int64_t>& counts,
                                  const Grant* pinned) {
  Nomination nomination{.assignment = assigner_.assign(usage, workload, counts, pinned)};
  const Assignment& assignment = nomination.assignment;
  if (nomination.needs_victims())
    nomination.victims = finder_.find(usage, {.workload = workload,
                                              .queue = board_.snapshot.workloads[workload].queue,
                                              .needs = assignment.needs,
                                              .scarce = assignment.scarce});
  return nomination;
}

Nomination Nominator::nominate(Usage& usage, WorkloadId workload) {
  const std::vector<PodSet>& podsets = board_.snapshot.workloads[workload].podsets;
  std::vector<std::int64_t> counts(podsets.size());
  for (std::size_t i = 0; i < podsets.size(); ++i) counts[i] = podsets[i].count;
  Nomination full = with_counts(usage, workload, counts);
  const bool is_elastic = std::any_of(podsets.begin(), podsets.end(), [](const PodSet& podset) {
    return podset.min_count && *podset.min_count < podset.count;
  });
  return is_possible(full) || !is_elastic ? full : reduced(usage, workload, std::move(full));
}

// Searches the least number of pods to give up; every podset gives up its part of them.
Nomination Nominator::reduced(Usage& usage, WorkloadId workload, Nomination full) {
  const std::vector<PodSet>& podsets = board_.snapshot.workloads[workload].podsets;
  std::vector<std::int64_t> spare;
  std::int64_t total = 0;
  for (const PodSet& podset : podsets) {
    spare.push_back(std::max<std::int64_t>(0, podset.count - podset.min_count.value_or(podset.count)));
    total += spare.back();
  }
  const auto without = [&](std::int64_t given_up) {
    std::vector<std::int64_t> counts(podsets.size());
    for (std::size_t i = 0; i < podsets.size(); ++i) counts[i] = podsets[i].count - times(spare[i], given_up) / total;
    return with_counts(usage, workload, counts);
  };
  std::int64_t low = 0;
  std::int64_t high = total + 1;
  Nomination found = std::move(full);
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    Nomination smaller = without(middle);
    if (is_possible(smaller)) {
      high = middle;
      found = std::move(smaller);
    } else {
      low = middle + 1;
    }
  }
  return found;
}

Nomination Nominator::nominate_again(Usage& usage, WorkloadId workload, const Grant& grant) {
  std::vector<std::int64_t> counts(grant.size());
  for (std::size_t i = 0; i < grant.size(); ++i) counts[i] = grant[i].count;
  return with_counts(usage, workload, counts, &grant);
}

}  // namespace gangway::planning::queueing
