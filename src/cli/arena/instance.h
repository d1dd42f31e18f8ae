// One pod as an instance of a training job. Pure; for job_view.cc.
#pragma once

#include <string>

#include "cli/arena/job_view.h"
#include "json/value.h"

namespace gangway::cli::arena {

// Whose pod it is: "PyTorchJob/default/demo", "RayCluster/default/demo-x7k2p"; empty: no training job's.
std::string owner_key(const json::Value& pod);
Instance instance_of(const json::Value& pod);

// RFC 3339 at a path; the epoch where there is none.
WallTime time_at(const json::Value& object, std::initializer_list<std::string_view> path);

}  // namespace gangway::cli::arena
