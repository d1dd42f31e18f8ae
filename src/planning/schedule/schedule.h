// schedule(): one pure function from a snapshot to a plan. Its steps are numbered where it is implemented.
//
// Budgets count work, never time, so that the same snapshot gives the same plan on any machine.
#pragma once

#include <cstdint>

#include "planning/plan.h"
#include "planning/snapshot.h"

namespace gangway::planning {

struct Budget {
  // Gangs that may be tried in one plan; the rest are left to the next, in their order.
  std::int64_t gangs = 1'000'000;
  // Searches for victims: each may weigh every node.
  std::int64_t preemptions = 10'000;
};

Plan schedule(const Snapshot& snapshot, const Policies& policies, const Budget& budget = {});

}  // namespace gangway::planning
