// One look at a RayJob: what is to be done for it now. Pure; ray_job_controller.h draws the states.
#pragma once

#include "client/reconciler.h"
#include "jobs/ray_job.h"

namespace gangway::jobs {

client::Outcome look_at(const RayJob& job, const client::View& view);

}  // namespace gangway::jobs
