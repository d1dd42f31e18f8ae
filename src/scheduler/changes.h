// The smallest changes that would let somebody who waits run, each of them tried by the planner. Pure.
//
// Small is, in this order: what costs nobody anything (lifting a rule that keeps it off free room), ending or waiting
// for others, asking for less, taking room from others by priority, more machines. Several things at once come last,
// and are only looked for when nothing alone will do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planning/plan.h"
#include "planning/snapshot.h"
#include "scheduler/what_if.h"

namespace gangway::scheduler {

struct PriorityClass {
  std::string name;
  std::int64_t value = 0;
  bool never_preempts = false;
};

struct Change {
  Steps steps;
  Granted granted;  // what the asker then gets
};

// The smallest first. Empty when the asker gets its place as things are, or nothing was found.
std::vector<Change> find_changes(const planning::Snapshot& snapshot, const planning::Policies& policies,
                                 const std::vector<PriorityClass>& classes, const Asker& asker);

}  // namespace gangway::scheduler
