// What tickets that are still open say of their gang. PURE.
#pragma once

#include "planning/snapshot.h"

namespace gangway::planning {

// All that it placed runs, and it is open only for members that do not exist yet.
inline bool only_holds(const OpenTicket& ticket) {
  return ticket.places.empty() && ticket.victims.empty();
}

}  // namespace gangway::planning
