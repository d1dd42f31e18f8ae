// An MPIJob of any generation as a Trainable. Pure.
#pragma once

#include <vector>

#include "jobs/trainable.h"

namespace gangway::jobs {

// `pods`: those that bear the job's label.
Trainable mpi_trainable(const api::Version& version, const json::Value& tree, const std::vector<api::Version>& pods);

}  // namespace gangway::jobs
