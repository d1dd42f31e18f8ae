// What a pod's status says about the training in it, as conditions.
#pragma once

#include <string_view>

namespace gangway::api {

// Its message is where the last checkpoint is, its lastTransitionTime when it was saved.
inline constexpr std::string_view kCheckpointCondition = "gangway.dev/Checkpoint";
// Its message is JSON: epoch, step, total, loss, as far as they are known; `since` has what epoch, step and time were
// at the first report of this run of the program.
inline constexpr std::string_view kProgressCondition = "gangway.dev/Progress";

}  // namespace gangway::api
