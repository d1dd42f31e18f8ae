// Ray's own autoscaler beside the head of a cluster, and what it is allowed: to see these pods and to change this
// cluster. Pure.
#pragma once

#include <string>

#include "jobs/ray_cluster.h"
#include "json/value.h"

namespace gangway::jobs {

// The account that the head runs as: one of its own, unless the template names one.
std::string ray_autoscaler_account(const RayCluster& cluster);

// Adds its container to the head.
void add_autoscaler(const RayCluster& cluster, json::Value& pod);
json::Value ray_autoscaler_service_account(const RayCluster& cluster);
json::Value ray_autoscaler_role(const RayCluster& cluster);
json::Value ray_autoscaler_binding(const RayCluster& cluster);

}  // namespace gangway::jobs
