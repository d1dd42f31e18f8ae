// One look at a RayCluster: what is to be done for it now. Pure; ray_cluster_controller.h draws the states.
#pragma once

#include "client/reconciler.h"
#include "jobs/ray_cluster.h"

namespace gangway::jobs {

client::Outcome look_at(const RayCluster& cluster, const client::View& view);

}  // namespace gangway::jobs
