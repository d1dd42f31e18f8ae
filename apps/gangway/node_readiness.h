// Which nodes of a store are ready to be used. Reads a root; reachable_nodes() also knocks at ports of this machine,
// and blocks for that.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "store/store.h"

namespace gangway {

// Those that say so themselves.
std::size_t ready_nodes(const store::Root& root);

// Those of `wanted` that do, and whose agent answers. What a node said before its agent was replaced stays true to the
// letter until the next one has spoken, while nobody listens at the port that it names. `agents`: the addresses at
// which they listen, by node; simulated nodes have none and need none.
std::size_t reachable_nodes(const store::Root& root, const std::set<std::string>& wanted,
                            const std::map<std::string, std::string>& agents);

}  // namespace gangway
