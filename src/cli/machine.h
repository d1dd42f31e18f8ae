// What this machine has: the capacity of the one node that `gangway up` makes without arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/node/node_spec.h"

namespace gangway::cli {

struct Machine {
  std::string host_name;
  int cpus = 1;
  std::uint64_t memory_bytes = 0;
  int gpus = 0;  // NVIDIA devices
};

Machine this_machine();

// Whether somebody can be reached here at this address: one of an interface of this machine, or loopback.
bool has_address(const std::string& address);

// What its nodes say of it. `version` is Gangway's.
agent::NodeSystem this_system(std::string_view version);

}  // namespace gangway::cli
