// The status that a Job should have, and which of its pods it may let go of. Pure; job_state.h draws the steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/action.h"
#include "controllers/job_state.h"
#include "controllers/job_verdict.h"

namespace gangway::controllers {

// The pods whose end is on record, or need not be: their finalizer may come off.
std::vector<const JobPod*> pods_to_let_go(const JobState& job, const JobTally& tally, const JobVerdict& verdict);

struct NextStatus {
  json::Value status;
  // What users are told when it is written.
  std::optional<client::Emit> event;
};
NextStatus next_status(const JobState& job, const JobTally& tally, const JobVerdict& verdict, WallTime now);

}  // namespace gangway::controllers
