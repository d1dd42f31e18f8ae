#include "jobs/ray_autoscaler.h"

#include <utility>

#include "api/owner.h"
#include "jobs/pod_environment.h"

namespace gangway::jobs {
namespace {

json::Value options_of(const RayCluster& cluster) {
  const json::Value* given = json::find(cluster.spec(), {"autoscalerOptions"});
  return given != nullptr && given->is_object() ? *given : json::Value(json::Object());
}

json::Value object_of(const RayCluster& cluster, const char* api_version, const char* kind) {
  json::Object metadata{{"name", cluster.name()},
                        {"namespace", cluster.ns()},
                        {"ownerReferences", json::Array{api::to_json(cluster.owner().reference())}}};
  return json::Object{{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

json::Object rule(const char* group, json::Array resources, json::Array verbs) {
  return {{"apiGroups", json::Array{group}}, {"resources", std::move(resources)}, {"verbs", std::move(verbs)}};
}

}  // namespace

std::string ray_autoscaler_account(const RayCluster& cluster) {
  const std::string_view given = json::string_at(cluster.groups.head.pod_template(), {"spec", "serviceAccountName"});
  return given.empty() ? cluster.name() : std::string(given);
}

void add_autoscaler(const RayCluster& cluster, json::Value& pod) {
  json::Object& spec = json::object_at(pod, {"spec"});
  spec["serviceAccountName"] = ray_autoscaler_account(cluster);
  const json::Value options = options_of(cluster);
  const bool is_second = json::string_at(options, {"version"}) == "v2";
  if (is_second) spec["restartPolicy"] = "Never";
  json::Value* containers = json::find(pod, {"spec", "containers"});
  if (containers == nullptr || !containers->is_array() || containers->get_array().empty()) return;
  json::Value& ray = containers->get_array().front();
  const json::Object amounts{{"cpu", "500m"}, {"memory", "512Mi"}};
  json::Value container =
      json::Object{{"name", "autoscaler"},
                   {"image", json::string_at(ray, {"image"})},
                   {"command", json::Array{"/bin/bash", "-c", "--"}},
                   {"args", json::Array{"ray kuberay-autoscaler --cluster-name $(RAY_CLUSTER_NAME) --cluster-namespace "
                                        "$(RAY_CLUSTER_NAMESPACE)"}},
                   {"resources", json::Object{{"limits", amounts}, {"requests", amounts}}}};
  add_variables(container, {{"RAY_CLUSTER_NAME", cluster.name()},
                            {"RAY_CLUSTER_NAMESPACE", cluster.ns()},
                            {"RAY_HEAD_POD_NAME", std::string(json::string_at(pod, {"metadata", "name"}))},
                            {"KUBERAY_CRD_VER", "v1"}});
  for (const json::Value& variable : json::array_at(options, {"env"}))
    container.get_object()["env"].as_array().push_back(variable);
  for (const char* key : {"image", "imagePullPolicy", "resources", "envFrom", "volumeMounts", "securityContext"})
    if (const json::Value* given = json::find(options, {key})) container.get_object()[key] = *given;
  if (is_second) {
    add_variables(container, {{"RAY_enable_autoscaler_v2", "1"}});
    add_variables(ray, {{"RAY_enable_autoscaler_v2", "1"}});
  }
  containers->get_array().push_back(std::move(container));
}

json::Value ray_autoscaler_service_account(const RayCluster& cluster) {
  return object_of(cluster, "v1", "ServiceAccount");
}

json::Value ray_autoscaler_role(const RayCluster& cluster) {
  json::Value role = object_of(cluster, "rbac.authorization.k8s.io/v1", "Role");
  json::Object own = rule("ray.io", {"rayclusters"}, {"get", "patch"});
  own["resourceNames"] = json::Array{cluster.name()};
  role.as_object()["rules"] = json::Array{rule("", {"pods"}, {"get", "list", "watch"}), std::move(own)};
  return role;
}

json::Value ray_autoscaler_binding(const RayCluster& cluster) {
  json::Value binding = object_of(cluster, "rbac.authorization.k8s.io/v1", "RoleBinding");
  binding.as_object()["subjects"] = json::Array{
      json::Object{{"kind", "ServiceAccount"}, {"name", ray_autoscaler_account(cluster)}, {"namespace", cluster.ns()}}};
  binding.as_object()["roleRef"] =
      json::Object{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", cluster.name()}};
  return binding;
}

}  // namespace gangway::jobs
