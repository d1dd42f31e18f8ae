// NodeSpec: a node as a cluster description states it, and what its machine says of itself. Values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/runtime_types.h"
#include "api/taints.h"
#include "base/quantity.h"

namespace gangway::agent {

struct NodeSpec {
  std::string name;
  std::string address;  // InternalIP; empty: none is shown
  std::vector<std::string> roles;
  std::map<std::string, Quantity> capacity;  // "pods" is 110 unless stated
  std::map<std::string, Quantity> reserved;  // allocatable = capacity - reserved
  std::map<std::string, std::string> labels;
  std::vector<api::Taint> taints;
  std::string runtime;       // "oci", "simulated"; empty: as this machine can
  std::string image_policy;  // "host", "pull"; empty: host
};

// What all nodes of a process say about their machine.
struct NodeSystem {
  std::string gangway_version;         // "0.1.0"
  std::string architecture = "amd64";  // as Go calls it
  std::string operating_system = "linux";
  std::string kernel_version;
  std::string os_image;
  std::string container_runtime = "simulated://1";
  std::string machine_id;
  std::string boot_id;
};

// What a node says of itself that may change while it runs.
struct NodeCondition {
  std::string problem;     // why it takes no pods; empty: it does
  std::uint16_t port = 0;  // where it serves what a kubelet serves; 0: nowhere
  std::vector<NodeImage> images;
};

}  // namespace gangway::agent
