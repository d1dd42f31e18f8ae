// The node's own admission: whether a pod that was bound to it may run. The last guard against two schedulers, or one
// that lagged. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/pod/pod_spec.h"
#include "api/object.h"

namespace gangway::agent {

// What the pods that run on the node, or may, leave of it.
struct NodeRoom {
  api::Amounts allocatable;  // "pods" among them
  api::Amounts used;         // "pods" among them
  std::set<unsigned> gpus_in_use;
  unsigned gpus = 0;
  const api::Header* node = nullptr;  // for selectors; null: unknown, and none is checked
};

struct Refusal {
  std::string reason;  // "OutOfcpu"
  std::string message;
};

// None: it is welcome.
std::optional<Refusal> judge(const PodSpec& pod, const NodeRoom& room);

}  // namespace gangway::agent
