// The status of a node that lives in this process, as its kubelet would report it. Pure.
#pragma once

#include "base/time.h"
#include "controllers/node_spec.h"
#include "json/value.h"

namespace gangway::controllers {

// capacity, allocatable, addresses, conditions, nodeInfo and the kubelet's port.
json::Object node_status(const NodeSpec& node, const NodeSystem& system, json::Array conditions, WallTime now);

// Ready and the three pressures as a healthy node has them, with lastHeartbeatTime `now`.
json::Array healthy_conditions(json::Array conditions, WallTime now);

}  // namespace gangway::controllers
