// What `gangway up` was asked for, in one place, whether it came from flags or from a cluster file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/node/node_registrar.h"

namespace gangway::cli {

struct UpOptions {
  std::string data_dir;
  std::string bind = "127.0.0.1";
  std::uint16_t port = 6443;
  // Where pods of this machine reach the API, besides: the gateway of their network, which need not be there yet.
  // Empty: no pods run on this machine.
  std::string pod_gateway;
  std::string kubeconfig;  // empty: DIR/kubeconfig
  std::vector<agent::NodeSpec> nodes;
  std::vector<std::string> without;                      // controllers that are left out, by name
  std::uint64_t flight_bytes = std::uint64_t{64} << 20;  // of recorded cycles; 0: none are
  std::vector<std::string> warnings;                     // what the user should know before it starts
};

}  // namespace gangway::cli
