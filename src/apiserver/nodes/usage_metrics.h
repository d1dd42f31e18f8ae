// UsageMetrics: metrics.k8s.io, what `kubectl top` asks for. Nothing is stored: the agents of the nodes that are
// concerned are asked when a client asks, and measure rates themselves.
//
// Each request is served on the loop that it came in on. Thread-safe: it has no state.
#pragma once

#include "apiserver/rest/call.h"
#include "apiserver/rest/resources.h"
#include "client/node_dialer.h"

namespace gangway::apiserver {

inline constexpr std::string_view kMetricsGroup = "metrics.k8s.io";

class UsageMetrics {
 public:
  UsageMetrics(const Resources& resources, client::NodeDialer* nodes) : resources_(resources), nodes_(nodes) {}

  // GET of one or of a list of NodeMetrics or PodMetrics. What no agent has measured yet is not in the list.
  void serve(const CallPtr& call, const Done& done) const;

 private:
  const Resources& resources_;
  client::NodeDialer* nodes_;
};

// The objects of what an agent's /stats/summary says; null when there is nothing on it. `object` is the node or pod
// they are about. Pure.
json::Value node_metrics(const api::Header& object, const json::Value& summary, WallTime now);
json::Value pod_metrics(const api::Header& object, const json::Value& summary, WallTime now);

}  // namespace gangway::apiserver
