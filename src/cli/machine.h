// What this machine has: the capacity of the one node that `gangway up` makes without arguments.
#pragma once

#include <cstdint>
#include <string>

namespace gangway::cli {

struct Machine {
  std::string host_name;
  int cpus = 1;
  std::uint64_t memory_bytes = 0;
  int gpus = 0;  // NVIDIA devices
};

Machine this_machine();

}  // namespace gangway::cli
