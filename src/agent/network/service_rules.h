// What Services are on the wire: a pure function from services and endpoints to a script for `nft -f -`.
//
// The script replaces the whole table in one transaction; connections that exist go on, since the kernel remembers
// their translation itself. A packet costs one look into a map, however many services there are.
//
// Not here: masquerading of what leaves the machine, and what keeps clusters apart (pod_rules.h).
#pragma once

#include <optional>
#include <string>

#include "agent/network/layout.h"
#include "agent/network/service_view.h"

namespace gangway::agent {

struct ServiceRulesInput {
  const NetworkLayout& layout;
  const Services& services;
  const Slices& slices;
  // Where pods of this machine reach the API server: instead of the endpoints of default/kubernetes, which may be an
  // address that only the server's own machine knows.
  std::optional<Backend> api_server = std::nullopt;
};

std::string service_rules(const ServiceRulesInput& input);

// Which endpoint a client keeps: one index into `backends` a slot, spread evenly. An endpoint that goes or comes moves
// only its own share of the slots.
std::vector<std::size_t> sticky_slots(const std::vector<Backend>& backends, std::size_t slots);

}  // namespace gangway::agent
