// A RayCluster, or a RayJob, as a Trainable. Pure.
#pragma once

#include <vector>

#include "jobs/trainable.h"

namespace gangway::jobs {

// `pods`: those of the cluster.
Trainable ray_cluster_trainable(const api::Version& version, const json::Value& tree,
                                const std::vector<api::Version>& pods);
// `pods`: those of its cluster, and that which hands its program over.
Trainable ray_job_trainable(const api::Version& version, const json::Value& tree,
                            const std::vector<api::Version>& pods);

}  // namespace gangway::jobs
