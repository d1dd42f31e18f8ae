// A Plan as text, in which only names occur. Pure.
//
//   {"takenBack":"group default/late"}
//   {"ticket":"pod default/a","places":[{"pod":"default/a","node":"n0"}],"evicts":[{"of":"group default/b",…}]}
//   {"reservation":"group default/c","places":[…],"starts":"…"}
//   {"waits":"pod default/d","because":[{"code":"Unschedulable","message":"0/3 nodes are available: …"}]}
//
// Tickets keep their order, since each stands on those before it. Who waits is in the order of names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "planning/plan.h"
#include "planning/snapshot.h"
#include "scheduler/flight/snapshot_text.h"

namespace gangway::scheduler::flight {

struct PlanLines {
  std::vector<std::string> steps = {};  // what is taken back, tickets, the reservation
  Lines waits = {};                     // by their keys
  bool operator==(const PlanLines&) const = default;

  std::vector<std::string> all() const;
};
PlanLines lines_of(const planning::Snapshot& snapshot, const planning::Plan& plan);

// One of those lines for people, in a few lines of its own.
Result<std::string> readable(std::string_view line);
// A whole plan; "nothing to do" when there is nothing in it. A line that cannot be read stands there as it is.
std::string readable(const PlanLines& plan);

}  // namespace gangway::scheduler::flight
