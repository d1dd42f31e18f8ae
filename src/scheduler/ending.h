// Whose end would let somebody run: the pods that have the room it needs, or stand before it in line. Pure.
#pragma once

#include <optional>
#include <vector>

#include "scheduler/what_if.h"

namespace gangway::scheduler {

// The fewest GPUs, then pods, that were found and suffice after the steps of `base`. Nothing when no end of others
// would help.
std::optional<std::vector<planning::PodId>> find_ending(WhatIf& what_if, const Steps& base);

}  // namespace gangway::scheduler
