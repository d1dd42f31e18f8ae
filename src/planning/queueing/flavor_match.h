// Whether the machines of a flavor take the pods of a podset: taints and node labels, without a look at any node.
#pragma once

#include <cstddef>
#include <optional>

#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {

// The first taint of the flavor that keeps the pods off; what only discourages them does not count.
std::optional<std::size_t> untolerated_taint(const Flavor& flavor, const PodShape& shape);

// What the pods ask of their nodes, as far as it is about labels that this flavor has: the others may be on its
// machines without the flavor saying so.
bool selects(const PodShape& shape, const Flavor& flavor);

}  // namespace gangway::planning::queueing
