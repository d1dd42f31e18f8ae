// The nodes of a cluster: from a file (apiVersion gangway.dev/v1alpha1, kind Cluster) or from the flags of `gangway
// up`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/node/node_spec.h"
#include "base/result.h"
#include "cli/machine.h"

namespace gangway::cli {

struct ClusterDescription {
  std::vector<agent::NodeSpec> nodes;
  std::vector<std::string> warnings;
};

// Every mistake is a cause with its field and line: "line 7: nodes[0].capacity.cpu: …".
Result<ClusterDescription> parse_cluster_file(std::string_view text);

struct NodeFlags {
  std::optional<int> nodes;
  std::optional<int> gpus;
  std::string cpus;
  std::string memory;

  bool any() const { return nodes || gpus || !cpus.empty() || !memory.empty(); }
};

// Without any flag: one node, this machine. With some: nodes of that size, the rest as this machine has it.
Result<ClusterDescription> cluster_of_flags(const NodeFlags& flags, const Machine& machine);

}  // namespace gangway::cli
