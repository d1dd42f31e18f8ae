// NodeSpec: a node as a cluster description states it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/quantity.h"

namespace gangway::controllers {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute
};

struct NodeSpec {
  std::string name;
  std::string address;  // InternalIP; empty: none is shown
  std::vector<std::string> roles;
  std::map<std::string, Quantity> capacity;  // "pods" is 110 unless stated
  std::map<std::string, Quantity> reserved;  // allocatable = capacity - reserved
  std::map<std::string, std::string> labels;
  std::vector<Taint> taints;
};

// What the nodes of this process say about their machine.
struct NodeSystem {
  std::string gangway_version;         // "0.1.0"
  std::string architecture = "amd64";  // as Go calls it
  std::string operating_system = "linux";
  std::string kernel_version;
  std::string os_image;
  std::string container_runtime = "gangway://simulated";
  std::string machine_id;
  std::string boot_id;
};

}  // namespace gangway::controllers
