// Which nodes of a store are ready to be used. Reads a root; reachable_nodes() also knocks at ports of this machine,
// and blocks for that.
#pragma once

#include <cstddef>

#include "store/store.h"

namespace gangway {

// Those that say so themselves.
std::size_t ready_nodes(const store::Root& root);

// Those of them whose agent answers. What a node said before its agent was replaced stays true to the letter until the
// next one has spoken, while nobody listens at the port that it names. Simulated nodes name none and need none.
std::size_t reachable_nodes(const store::Root& root);

}  // namespace gangway
