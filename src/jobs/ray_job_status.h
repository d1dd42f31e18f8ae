// The status of a RayJob as it is written. Pure.
#pragma once

#include <optional>

#include "client/action.h"
#include "jobs/ray_job.h"

namespace gangway::jobs {

// The write that makes the status say `record`, and of the cluster what that says of itself; nothing when it does.
std::optional<client::Action> write_ray_job(const RayJob& job, const RayJobRecord& record,
                                            const json::Value& cluster_status);

}  // namespace gangway::jobs
