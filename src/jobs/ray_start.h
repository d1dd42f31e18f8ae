// The command by which a pod of a RayCluster becomes a node of Ray. Pure.
#pragma once

#include <map>
#include <string>

#include "jobs/ray_cluster.h"
#include "json/value.h"

namespace gangway::jobs {

// Flags of ray start, with what the cluster leaves open filled in: where the head is, what the node is for, and what it
// has, from the resources of its first container.
std::map<std::string, std::string> ray_start_flags(const RayCluster& cluster, const RayGroup& group);
// "ulimit …; ray start --head --block …"
std::string ray_start_command(const RayCluster& cluster, const RayGroup& group);
// Waits until the head's control answers.
std::string ray_wait_command(const RayCluster& cluster);

// In single quotes, for a shell.
std::string shell_quoted(std::string_view text);

}  // namespace gangway::jobs
