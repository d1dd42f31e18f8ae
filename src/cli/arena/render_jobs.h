// The job itself, one function a kind. Pure; for render.cc.
#pragma once

#include "cli/arena/submission.h"
#include "json/value.h"

namespace gangway::cli::arena {

json::Value mpi_job(const Submission& submission);
json::Value elastic_mpi_job(const Submission& submission);
json::Value pytorch_job(const Submission& submission);
json::Value tf_job(const Submission& submission);
json::Value ray_job(const Submission& submission);

}  // namespace gangway::cli::arena
