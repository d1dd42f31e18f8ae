// What a pod's header alone says of its life.
#pragma once

#include <string_view>

#include "api/object.h"

namespace gangway::api {

// Requires: status.phase is a selectable field of the kind, as it is of pods.
inline bool has_ended(const Header& pod) {
  const std::string_view phase = pod.field("status.phase");
  return phase == "Succeeded" || phase == "Failed";
}

}  // namespace gangway::api
