// Where the pods of a pod set are to run: domains of a topology, in the two forms that Workloads have for them. Pure.
//
// v1beta1 lists the domains; v1beta2 has them in slices, in which what all domains share is said once. A list becomes
// one slice. What does not fit (values that are missing, counts that differ) is filled up with nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/value.h"

namespace gangway::api {

struct TopologyDomain {
  std::vector<std::string> values;  // one a level
  std::int64_t count = 0;           // pods

  bool operator==(const TopologyDomain&) const = default;
};

struct TopologyAssignment {
  std::vector<std::string> levels;  // node labels, the widest first
  std::vector<TopologyDomain> domains;

  bool operator==(const TopologyAssignment&) const = default;
};

// No assignment has more: what is beyond is not read.
inline constexpr std::int64_t kMostDomains = 100'000;

// v1beta2
TopologyAssignment read_topology_slices(const json::Value& assignment);
json::Value to_topology_slices(const TopologyAssignment& assignment);
// v1beta1
TopologyAssignment read_topology_domains(const json::Value& assignment);
json::Value to_topology_domains(const TopologyAssignment& assignment);

}  // namespace gangway::api
