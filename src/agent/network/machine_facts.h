// Facts about the machine that the network depends on. Blocking, small reads of /proc and /sys; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/network/layout.h"

namespace gangway::agent {

bool interface_exists(const std::string& name);
// The MTU of the interface that the default route goes out by; 0 when there is none or it is the usual 1500.
unsigned uplink_mtu();
// The machine's own address as others see it: that of the default route's interface, or else the first that is neither
// loopback nor a Gangway bridge's. Empty: it has none.
std::string machine_address();

// Pure: the interface of the default route in /proc/net/route; empty: there is none.
std::string default_interface(std::string_view proc_net_route);

}  // namespace gangway::agent
