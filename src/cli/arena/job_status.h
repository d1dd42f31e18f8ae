// The status of a job: what its conditions and its pods say together. Pure; for job_view.cc.
#pragma once

#include <string>
#include <vector>

#include "cli/arena/job_view.h"

namespace gangway::cli::arena {

// Sets status, reason, message, end and duration. Requires: the view has its instances and counts.
void judge(JobView& job, const std::vector<JobRole>& roles, WallTime now);

// `by`: whose room it waits for to come back, as namespace/name. `told`: the last preemption in an event's words.
void note_preemption(JobView& job, const std::string& by, const std::string& told);

}  // namespace gangway::cli::arena
