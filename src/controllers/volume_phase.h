// What becomes of a volume: its phase as its claim is, and its end. The part of ClaimBinder that looks at volumes.
// Pure.
#pragma once

#include <string>

#include "client/reconciler.h"

namespace gangway::controllers {

client::Outcome look_at_volume(const std::string& name, const client::View& view);

}  // namespace gangway::controllers
