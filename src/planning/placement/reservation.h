// Keeps room for a gang that cannot start yet, so that smaller ones do not starve it: on named nodes, what is freed
// there stays free. Others may be on these nodes as far as the gang leaves room, or if they end before it can start.
#pragma once

#include <optional>
#include <vector>

#include "planning/placement/board.h"
#include "planning/placement/gang_placer.h"
#include "planning/placement/victims.h"
#include "planning/plan.h"

namespace gangway::planning {

// Chooses the nodes that will have room the soonest, and tells the board's ledger. Nothing, when not even an empty
// cluster would have it.
std::optional<Reservation> reserve(Board& board, const Victims& victims, GangId gang,
                                   const std::vector<Seeker>& seekers);

}  // namespace gangway::planning
