// verify(): states the laws of placement over a plan, and says which of them it breaks.
//
// Shares nothing with the planner but the types of Snapshot and Plan: a mistake in one is not repeated in the other.
// Costs one pass over the tables and the work of what the plan touches, so that it runs before every apply. Whether a
// better plan exists is not its business.
//
//   places   every pod is placed once, exists, waits, and belongs to the ticket's gang
//   fit      its node takes it: cordon, taints, selectors, limits, ports, and what pods say about each other
//   law 1    no node is given more than it has, in whatever order tickets come to their room
//   law 2    nobody goes for an equal or lower priority, nor against what protects it
//   law 3    gangs start whole, with room for late members; who gives up something gives up what it chose to
//   law 4    room that somebody leaves is counted on by one ticket only
//   law 7    who waits knows why
//   reservation  those who come later leave room for it, or have ended by then
#pragma once

#include <string>
#include <vector>

#include "planning/plan.h"
#include "planning/snapshot.h"

namespace gangway::planning {

// One line a violation, beginning with its law as above; empty when the plan keeps them all.
std::vector<std::string> verify(const Snapshot& snapshot, const Policies& policies, const Plan& plan);

}  // namespace gangway::planning
