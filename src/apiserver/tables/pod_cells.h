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
// What the row says of itself: a pod that ran to its end is told apart, so that clients may leave it out.
json::Array pod_row_conditions(const json::Value& pod);

}  // namespace gangway::apiserver::cells
