// Making and removing what a cluster's network has on the machine: the bridge, the namespaces, the rules.
//
// Both are idempotent: what is there is kept, what is gone is not missed. They belong to the runner's loop.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "agent/network/layout.h"
#include "sys/command.h"
#include "sys/event_loop.h"

namespace gangway::agent {

// Pure: for `ip -batch -`.
std::string bridge_batch(const NetworkLayout& layout, bool exists);
// Pure: the kernel's settings, as files under /proc/sys and what they must hold.
std::vector<std::pair<std::string, std::string>> bridge_settings(const NetworkLayout& layout);

void ensure_bridge(const NetworkLayout& layout, sys::CommandRunner& runner, sys::Completion<void> done);

// Takes away everything of the cluster: namespaces, their interfaces, the bridge, both tables, the name server and the
// run directory with the claim of the subnet. For `gangway down`, and before the first `up` after a crash where the
// pods are not to go on.
void tear_down_network(const NetworkLayout& layout, sys::EventLoop& loop, sys::CommandRunner& runner,
                       sys::Completion<void> done);

}  // namespace gangway::agent
