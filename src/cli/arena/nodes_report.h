// GPUs of nodes: `top node`, from nodes and pods as they were listed. Pure.
//
// A device counts as allocated until its pod is gone or over: one that is still ending holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/value.h"

namespace gangway::cli::arena {

struct NodeReport {
  struct Holder {
    std::string ns;
    std::string name;
    std::string status;
    std::int64_t requests = 0;
    std::int64_t limits = 0;
  };
  std::string name;
  std::string address;
  std::string role;    // "<none>" for none
  std::string status;  // "ready", "notReady", "unknown", with ",schedulingDisabled"
  std::int64_t total = 0;
  std::int64_t healthy = 0;
  std::int64_t allocated = 0;
  std::vector<Holder> holders;  // by namespace and name
};

// Nodes without GPUs first, each group as it was listed. `names`: only those; an error names what is missing.
Result<std::vector<NodeReport>> report_nodes(const std::vector<json::Value>& nodes,
                                             const std::vector<json::Value>& pods,
                                             const std::vector<std::string>& names);

std::string nodes_text(const std::vector<NodeReport>& nodes);
// One block a node that has GPUs.
std::string nodes_details(const std::vector<NodeReport>& nodes);
json::Value to_json(const std::vector<NodeReport>& nodes);

}  // namespace gangway::cli::arena
