// Who made what asks for GPUs: the annotation gangway.dev/created-by, which the server alone writes (api/gang.h).
//
// Usage is accounted to it. Objects that ask for no GPUs stay as they are on any other Kubernetes.
#pragma once

#include "apiserver/strategy.h"

namespace gangway::apiserver {

// On create: the user who asks. The system's own controllers act for others: what they make is its owner's, and a pod
// that has none and is made again keeps what it says. On update: what it was, or the user who first asks for GPUs.
void write_creator(Review& review);

// The same, as an admission of kinds that have no other.
Result<void> admit_with_creator(Review& review);

}  // namespace gangway::apiserver
