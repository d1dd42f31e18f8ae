// What the pods of a RayCluster look like, and the Service that leads to its head. Pure; nothing here decides when they
// are made.
//
// A pod is one of its group by its slot, a number that no other living pod of the group has. One that takes the place
// of another has another name: who waits for the end of a pod would take the next for it. Its first container runs Ray;
// the others are the user's own affair.
#pragma once

#include <cstdint>
#include <string>

#include "jobs/ray_cluster.h"
#include "json/value.h"

namespace gangway::jobs {

// `incarnation`: a number that grows with the pods that the cluster has lost.
std::string ray_pod_name(const RayCluster& cluster, const RayGroup& group, std::int64_t slot,
                         std::uint64_t incarnation);
json::Value ray_pod(const RayCluster& cluster, const RayGroup& group, std::int64_t slot, const std::string& name);

// The ports of the head that others may use, by name.
json::Array ray_head_ports(const json::Value& cluster_spec);
// Headless unless the cluster wants another type: its name then leads to the pod, also before that is ready.
json::Value ray_head_service_object(const RayCluster& cluster);

// Annotations of simulated nodes that say how a program goes, which Ray's pods do not run.
void forget_simulated_program(json::Value& pod_template);

}  // namespace gangway::jobs
