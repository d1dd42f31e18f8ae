// What both ways of preempting share: the question, the answer, and the step back to the victims that can stay.
#pragma once

#include <vector>

#include "planning/queueing/candidates.h"
#include "planning/queueing/plan.h"
#include "planning/queueing/usage.h"

namespace gangway::planning::queueing {

struct PreemptionRequest {
  WorkloadId workload = kNone;
  QueueId queue = kNone;
  Needs needs = {};               // all that it asks for
  std::vector<Slot> scarce = {};  // of which there is too little: victims must use one of these
  bool operator==(const PreemptionRequest&) const = default;
};

struct Chosen {
  const Candidate* candidate = nullptr;
  Victim::Reason reason = Victim::Reason::kInClusterQueue;
};

// Whether it fits now, if need be without more than its queue's own quota.
bool has_room(const Usage& usage, const PreemptionRequest& request, bool may_borrow);

// Victims that turn out not to be needed stay: all but the last are tried, the latest first. All of them are removed
// from `usage` before, and those that are left are after.
void spare_needless(Usage& usage, const PreemptionRequest& request, bool may_borrow, std::vector<Chosen>& victims);

void put_back(Usage& usage, const std::vector<Chosen>& victims);

}  // namespace gangway::planning::queueing
