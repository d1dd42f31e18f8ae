// The cells of pods.
#pragma once

#include "base/time.h"
#include "json/value.h"

namespace gangway::apiserver::cells {

json::Value pod_ready(const json::Value& pod, WallTime now);
json::Value pod_status(const json::Value& pod, WallTime now);
json::Value pod_restarts(const json::Value& pod, WallTime now);
json::Value pod_ip(const json::Value& pod, WallTime now);
json::Value pod_readiness_gates(const json::Value& pod, WallTime now);

}  // namespace gangway::apiserver::cells
