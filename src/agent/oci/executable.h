// Looks for a container's program before it is started, so that a missing one is an error with a reason and not an exit
// code. Blocking; the container does not run yet, so nobody changes its root meanwhile.
#pragma once

#include <string>
#include <vector>

#include "agent/oci/bundle.h"
#include "agent/oci/process.h"
#include "base/result.h"

namespace gangway::agent::oci {

// kBadRequest when the program certainly cannot be run. What lies behind a mount may not be known, and is tried.
Result<void> check_executable(const std::string& root, const std::vector<BindMount>& mounts, const Process& process);

}  // namespace gangway::agent::oci
