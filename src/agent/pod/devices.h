// Which GPUs of its node a pod gets. Pure: what others hold comes from their records, and is held until all of a pod's
// containers have ended and been removed.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/pod/pod_spec.h"

namespace gangway::agent {

// The lowest free indexes for each container that asks for some. None when there are too few.
std::optional<std::map<std::string, std::vector<unsigned>>> assign_gpus(const PodSpec& pod, unsigned gpus,
                                                                        const std::set<unsigned>& in_use);

}  // namespace gangway::agent
