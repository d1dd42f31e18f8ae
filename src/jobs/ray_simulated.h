// What Ray would say of a program whose cluster is simulated: nothing runs there that could be asked. Pure.
//
// What hands the program over stands for it: it ends when its time is over, as the annotations of simulated nodes say
// it (docs/guide/simulated-nodes.md). Where no Job does, the head's template says how long the program takes.
#pragma once

#include "jobs/ray_dashboard.h"
#include "jobs/ray_job_state.h"

namespace gangway::jobs {

RayProgram simulated_program(const RayJob& job, const RayJobState& state, WallTime now);

}  // namespace gangway::jobs
