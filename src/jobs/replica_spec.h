// ReplicaSpec: one type of pods of a job, as the kinds of kubeflow.org/v1 say it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/kubeflow.h"
#include "json/value.h"

namespace gangway::jobs {

enum class RestartPolicy : std::uint8_t { kAlways, kOnFailure, kNever, kExitCode };

struct ReplicaSpec {
  std::string type;  // "Worker"
  std::string role;  // "worker": in names and labels
  std::int64_t replicas = 1;
  RestartPolicy restart = RestartPolicy::kNever;
  json::Value pod_template = json::Object();
};

// In the order of the kind's types. What is not one of them is left out: the server does not let it in.
std::vector<ReplicaSpec> read_replicas(const json::Value& job, const api::KubeflowKind& kind);

// As the kubelet of its pods knows it: ExitCode is decided here, so its pods do not restart.
std::string_view pod_restart_policy(RestartPolicy policy);

// The container that trains: the one that bears the kind's name for it where that matters, else the first. Null when
// there is none.
const json::Value* main_container(const json::Value& pod_spec, const api::KubeflowKind& kind);
json::Value* main_container(json::Value& pod_spec, const api::KubeflowKind& kind);
// The kind's own port of the main container; the default where none bears its name.
std::int64_t main_port(const ReplicaSpec& spec, const api::KubeflowKind& kind);

}  // namespace gangway::jobs
