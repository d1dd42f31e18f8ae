// The rules that every pod of a cluster lives under: the way out, ports of the machine that lead to a pod, and what
// keeps clusters and the machine apart. A pure function to a script for `nft -f -` that replaces the whole table.
#pragma once

#include <string>
#include <vector>

#include "agent/network/layout.h"
#include "agent/network/service_view.h"

namespace gangway::agent {

// A port of the machine that is a pod's.
struct HostPort {
  Protocol protocol = Protocol::kTcp;
  std::uint32_t address = 0;  // 0: all of the machine's
  std::uint16_t port = 0;
  Backend pod;
};

// Of two pods that want the same port, the first in the list has it.
std::string pod_rules(const NetworkLayout& layout, const std::vector<HostPort>& host_ports);

}  // namespace gangway::agent
