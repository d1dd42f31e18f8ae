// CycleSink: who is told what was decided, and from what. The seam of the flight recorder; without one nothing is kept.
//
// Called on the scheduler's loop, between planning and the first effect. What a Cycle refers to is only there during
// the call.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "api/object.h"
#include "planning/plan.h"
#include "planning/schedule/schedule.h"
#include "planning/snapshot.h"

namespace gangway::scheduler {

// What of a snapshot is not as it was when somebody last took the changes: its place in the tables, kNone for what has
// gone. More may be named than has changed, nothing that has is left out.
struct Changes {
  std::map<std::string, planning::NodeId> nodes = {};
  std::map<api::ObjectName, planning::PodId> pods = {};  // what a plain pod says for its gang is part of it
  std::map<api::ObjectName, planning::GangId> groups = {};
  bool budgets = false;  // any of them
};

// The newest revision of each resource that planning has heard of.
using Basis = std::map<std::string, api::Revision>;

struct Cycle {
  const planning::Snapshot& snapshot;
  const planning::Policies& policies;
  const planning::Budget& budget;
  const planning::Plan& plan;              // as it was made, also when it was then refused
  const std::vector<std::string>& broken;  // the laws it breaks: then nothing of it is done
  const Basis& basis;
};

class CycleSink {
 public:
  virtual ~CycleSink() = default;
  // Whether this one is to be kept. The changes of those that are not come with the next that is.
  virtual bool wants(const Cycle& cycle) = 0;
  virtual void record(const Cycle& cycle, const Changes& changes) = 0;
};

}  // namespace gangway::scheduler
