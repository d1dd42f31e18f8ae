// Replay: plans a recorded cycle again and says whether the same comes out. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "scheduler/flight/record.h"

namespace gangway::scheduler::flight {

struct Replay {
  CycleRecord record;
  PlanLines planned;                // now
  std::vector<std::string> broken;  // laws that the plan of now breaks
  bool is_same() const { return planned == record.plan; }
};
Result<Replay> replay(CycleRecord record);

// For people: what was decided on what, and whether it is the same; else what is different.
std::string report(const Replay& replay);
json::Value report_json(const Replay& replay);
// Only what is different: "-" as recorded, "+" as planned now. Empty when nothing is.
std::string difference(const PlanLines& recorded, const PlanLines& planned);

}  // namespace gangway::scheduler::flight
