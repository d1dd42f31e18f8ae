// One look at an MPIJob: what is to be done for it now. Pure; mpi_controller.h draws the states.
#pragma once

#include "client/reconciler.h"
#include "jobs/mpi_job.h"

namespace gangway::jobs {

client::Outcome look_at(const MpiJob& job, const client::View& view);

}  // namespace gangway::jobs
