// Whether a Job goes on, has failed or has succeeded, and why. Pure.
//
//   goes on ──► FailureTarget ──► (its pods are deleted and counted) ──► Failed
//           ──► SuccessCriteriaMet ──► (the rest of its pods are deleted) ──► Complete
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "controllers/job_state.h"

namespace gangway::controllers {

struct JobVerdict {
  enum class Kind : std::uint8_t { kGoesOn, kFails, kSucceeds };
  Kind kind = Kind::kGoesOn;
  std::string reason;
  std::string message;
  bool is_recorded = false;  // the status says so already

  // The condition that says it first, and the one that says it when everything is counted.
  const char* interim() const { return kind == Kind::kFails ? "FailureTarget" : "SuccessCriteriaMet"; }
  const char* final() const { return kind == Kind::kFails ? "Failed" : "Complete"; }
};

JobVerdict judge(const JobState& job, const JobTally& tally, WallTime now);

// When it will have been active for too long; none when nothing limits it, or now.
std::optional<WallTime> deadline_of(const JobState& job);

}  // namespace gangway::controllers
