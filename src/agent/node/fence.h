// Fence: when an agent that has lost contact must stop its pods. A lease fences nothing by itself: somebody may give
// the pods' names and work to others once they count as gone, and they must not run any more by then. Pure.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace gangway::agent {

// How long after the last contact pods are stopped. Whoever gives their work away waits two minutes more.
inline constexpr Duration kFenceAfter = std::chrono::minutes(5);

// What is known of a server on this machine: while none runs on the data directory, nobody can give anything away.
enum class LocalServer : std::uint8_t { kNone, kStopped, kRunning };

// When the agent was last in contact, or needed none. `before`: the answer of the last look.
MonoTime last_contact(MonoTime before, MonoTime renewed_at, LocalServer server, MonoTime now);

bool is_fenced(MonoTime last_contact, MonoTime now);

}  // namespace gangway::agent
