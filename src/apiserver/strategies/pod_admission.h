// What happens to a pod on its way in: its priority, its service account, the taints it bears for a while.
#pragma once

#include "apiserver/strategy.h"

namespace gangway::apiserver {

Result<void> admit_pod(Review& review);

}  // namespace gangway::apiserver
