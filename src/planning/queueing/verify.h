// verify(): states the laws of queueing over a plan, and says which of them it breaks.
//
// Shares nothing with the planner but the types of Snapshot and Plan. Whether a better plan exists is not its business.
//
//   heads   every queue in service decides about its head, the first in line, and about nobody else
//   whole   who gets something gets all podsets, none below its minimum, in flavors of the queue that take them
//   quota   nothing is given beyond a quota, borrowing and lending limits included, while victims still have theirs
//   policy  victims hold quota, belong to one preemptor, and go by a policy that its queue states
//   need    with its victims gone a preemptor has room, and none of them alone could stay
//   why     who waits has a reason, and is set aside only where its queue lets others pass
#pragma once

#include <string>
#include <vector>

#include "planning/queueing/plan.h"
#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {

// One line a violation, beginning with its law as above; empty when the plan keeps them all.
std::vector<std::string> verify(const Snapshot& snapshot, const Options& options, const Plan& plan);

}  // namespace gangway::planning::queueing
