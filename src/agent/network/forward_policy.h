// Other programs of the machine may have it drop what is forwarded unless somebody accepts it: Docker and most
// firewalls do, by the policy of iptables' FORWARD chain. What pods send passes there, to each other too, so it is
// accepted by the bridge's name. What keeps clusters apart is dropped by our own table all the same.
//
// A machine without iptables, or whose policy is to accept, needs nothing and gets nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agent/network/layout.h"
#include "sys/command.h"

namespace gangway::agent {

using Arguments = std::vector<std::string>;

// Pure: the commands that are needed where `iptables -S FORWARD` says this.
std::vector<Arguments> missing_accepts(std::string_view rules, const std::string& bridge);
// Pure: the commands that take back what is there.
std::vector<Arguments> removals(std::string_view rules, const std::string& bridge);

void accept_forwarding(const NetworkLayout& layout, sys::CommandRunner& runner, sys::Completion<void> done);
void forget_forwarding(const NetworkLayout& layout, sys::CommandRunner& runner, sys::Completion<void> done);

}  // namespace gangway::agent
