// What a node's pods use, as the documents that monitoring reads: /stats/summary and /metrics/resource. Pure.
#pragma once

#include <string>
#include <vector>

#include "agent/endpoints/pod_directory.h"
#include "agent/endpoints/usage_samples.h"
#include "json/value.h"

namespace gangway::agent {

struct ContainerUsage {
  std::string name;
  WallTime started_at;
  UsagePoint point;
};

struct PodUsage {
  PodIdentity identity;
  WallTime started_at;
  std::vector<ContainerUsage> containers;
};

struct NodeUsage {
  std::string node;
  WallTime started_at;
  std::optional<UsagePoint> point;
  std::vector<PodUsage> pods;
};

// What is known of the pods that run.
NodeUsage usage_of(const std::string& node, WallTime started_at, const std::vector<ServedPod>& pods,
                   const UsageSamples& samples);
// The sum of a pod's containers; the rate only when all have one.
UsagePoint pod_point(const PodUsage& pod);

// kubelet's stats/v1alpha1 Summary, as far as anybody reads it.
json::Value summary_of(const NodeUsage& usage);
// Prometheus' text format.
std::string resource_metrics_of(const NodeUsage& usage);

}  // namespace gangway::agent
