#include "jobs/replica_spec.h"

#include <algorithm>
#include <utility>

namespace gangway::jobs {
namespace {

RestartPolicy restart_policy(std::string_view text) {
  if (text == "Always") return RestartPolicy::kAlways;
  if (text == "OnFailure") return RestartPolicy::kOnFailure;
  return text == "ExitCode" ? RestartPolicy::kExitCode : RestartPolicy::kNever;
}

ReplicaSpec read_replica(std::string_view type, const json::Value& given, const api::KubeflowKind& kind) {
  ReplicaSpec spec;
  spec.type = type;
  spec.role = api::lower_case(type);
  spec.replicas = std::max<std::int64_t>(0, json::integer_at(given, {"replicas"}, api::usual_replicas(kind, type)));
  const std::string_view restart = json::string_at(given, {"restartPolicy"});
  spec.restart = restart_policy(restart.empty() ? api::usual_restart_policy(kind, type) : restart);
  if (const json::Value* pod = json::find(given, {"template"}); pod != nullptr && pod->is_object())
    spec.pod_template = *pod;
  return spec;
}

}  // namespace

std::vector<ReplicaSpec> read_replicas(const json::Value& job, const api::KubeflowKind& kind) {
  std::vector<ReplicaSpec> all;
  const json::Object& given = json::map_at(job, {"spec", kind.replica_specs});
  for (const std::string_view type : kind.types) {
    const auto found = std::find_if(given.begin(), given.end(), [&](const auto& entry) {
      return api::canonical_type(kind, entry.key()) == type && entry.value().is_object();
    });
    if (found != given.end()) all.push_back(read_replica(type, found->value(), kind));
  }
  return all;
}

std::string_view pod_restart_policy(RestartPolicy policy) {
  switch (policy) {
    case RestartPolicy::kAlways:
      return "Always";
    case RestartPolicy::kOnFailure:
      return "OnFailure";
    case RestartPolicy::kNever:
    case RestartPolicy::kExitCode:
      break;
  }
  return "Never";
}

const json::Value* main_container(const json::Value& pod_spec, const api::KubeflowKind& kind) {
  const json::Array& containers = json::array_at(pod_spec, {"containers"});
  if (containers.empty()) return nullptr;
  if (kind.is_first_main) return &containers.front();
  for (const json::Value& container : containers)
    if (json::string_at(container, {"name"}) == kind.container) return &container;
  return &containers.front();
}

json::Value* main_container(json::Value& pod_spec, const api::KubeflowKind& kind) {
  return const_cast<json::Value*>(main_container(std::as_const(pod_spec), kind));
}

std::int64_t main_port(const ReplicaSpec& spec, const api::KubeflowKind& kind) {
  const json::Value* pod = json::find(spec.pod_template, {"spec"});
  const json::Value* container = pod == nullptr ? nullptr : main_container(*pod, kind);
  if (container == nullptr) return kind.port;
  for (const json::Value& port : json::array_at(*container, {"ports"}))
    if (json::string_at(port, {"name"}) == kind.port_name) return json::integer_at(port, {"containerPort"}, kind.port);
  return kind.port;
}

}  // namespace gangway::jobs
