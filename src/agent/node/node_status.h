// A node's object and status as its kubelet would write them. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "agent/node/node_spec.h"
#include "base/time.h"
#include "json/value.h"

namespace gangway::agent {

// Where a node keeps what was declared about it last, as with kubectl apply.
inline constexpr const char* kDeclared = "gangway.dev/declared";

// What pods can have of the node.
std::map<std::string, Quantity> allocatable_of(const NodeSpec& node);

// Labels and taints that a description gives a node: {"labels": …, "taints": […]}.
json::Value declaration_of(const NodeSpec& node);
// Facts about the machine: put right whatever users do to them.
std::map<std::string, std::string> fixed_labels(const NodeSpec& node, const NodeSystem& system);

// The whole object. `declared`: the description that names it also ends it.
json::Value new_node(const NodeSpec& node, const NodeSystem& system, const NodeCondition& condition, bool declared,
                     WallTime now);

// What differs between the node's object and what its status should be, as a merge patch of the status; none when
// nothing does. With `heartbeat` the conditions are told in any case.
std::optional<json::Object> status_patch(const json::Value& object, const NodeSpec& node, const NodeSystem& system,
                                         const NodeCondition& condition, bool heartbeat, WallTime now);
// What differs of its fixed labels, as members of metadata.labels.
json::Object label_patch(const json::Value& object, const NodeSpec& node, const NodeSystem& system);

}  // namespace gangway::agent
