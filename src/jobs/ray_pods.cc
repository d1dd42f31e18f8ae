#include "jobs/ray_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "api/gang.h"
#include "api/kubeflow.h"
#include "api/owner.h"
#include "api/ray.h"
#include "client/action.h"
#include "controllers/pods.h"
#include "jobs/pod_environment.h"
#include "jobs/ray_autoscaler.h"
#include "jobs/ray_start.h"

namespace gangway::jobs {
namespace {

constexpr std::size_t kLongestPrefix = 50;
constexpr std::int64_t kAgentPort = 52365;
constexpr std::string_view kSharedMemory = "shared-mem";
constexpr std::string_view kSharedMemoryPath = "/dev/shm";

struct Port {
  std::string_view name;
  std::int64_t number;
};
constexpr Port kHeadPorts[] = {{"client", 10001},
                               {"gcs-server", api::kRayGcsPort},
                               {"dashboard", api::kRayDashboardPort},
                               {"metrics", 8080},
                               {"serve", 8000}};

json::Object selector_of(const RayCluster& cluster) {
  return {{api::kRayClusterLabel, cluster.name()},
          {api::kRayNodeTypeLabel, api::kRayHead},
          {api::kRayIdentifierLabel, cluster.name() + "-head"},
          {"app.kubernetes.io/name", "kuberay"},
          {"app.kubernetes.io/created-by", "kuberay-operator"}};
}

// A group's name is a label's value; names of pods allow less.
std::string as_name(std::string_view group) {
  std::string name;
  for (const char c : group) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '-';
  }
  return name;
}

bool has_entry(const json::Array& list, std::string_view key, std::string_view value) {
  return std::any_of(list.begin(), list.end(),
                     [&](const json::Value& entry) { return json::string_at(entry, {key}) == value; });
}

// What a container says itself stays.
void add_missing(json::Value& container, const Variables& variables) {
  for (const auto& variable : variables)
    if (!has_entry(json::array_at(container, {"env"}), "name", variable.first)) add_variables(container, {variable});
}

std::string_view annotation(const RayCluster& cluster, const json::Value& pod, std::string_view key) {
  const std::string_view own = json::string_at(pod, {"metadata", "annotations", key});
  return own.empty() ? json::string_at(cluster.tree, {"metadata", "annotations", key}) : own;
}

// ── labels, annotations ──

void add_labels(const RayCluster& cluster, const RayGroup& group, std::int64_t slot, json::Value& pod) {
  json::Object& labels = json::object_at(pod, {"metadata", "labels"});
  for (const auto& [key, value] :
       {std::pair{"app.kubernetes.io/name", "kuberay"}, std::pair{"app.kubernetes.io/created-by", "kuberay-operator"}})
    if (!labels.contains(key)) labels[key] = value;
  labels[api::kRayNodeLabel] = "yes";
  labels[api::kRayClusterLabel] = cluster.name();
  labels[api::kRayNodeTypeLabel] = group.role();
  labels[api::kRayGroupLabel] = group.name;
  labels[api::kRayIdentifierLabel] = fmt::format("{}-{}", cluster.name(), group.role());
  if (group.is_head) {
    // Of a gang, the one that goes last.
    labels[api::kJobRoleLabel] = "master";
  } else {
    labels[api::kRayReplicaIndexLabel] = std::to_string(slot / group.hosts);
    if (group.hosts > 1) labels[api::kRayHostIndexLabel] = std::to_string(slot % group.hosts);
  }
  if (cluster.is_gang) labels[api::kPodGroupLabel] = cluster.gang();
}

void add_annotations(const RayCluster& cluster, const RayGroup& group, json::Value& pod) {
  // A pod that belongs to no group says itself what is to become of it.
  json::Object annotations = cluster.is_gang ? json::Object() : gang_annotations(cluster.tree, false);
  if (cluster.record.attempt > 1) annotations[api::kAttempt] = std::to_string(cluster.record.attempt);
  if (group.is_head) annotations[api::kRayFaultTolerant] = "false";
  if (annotations.empty()) return;
  json::Object& given = json::object_at(pod, {"metadata", "annotations"});
  for (const auto& [key, value] : annotations) given[key] = value;
}

// ── the container that runs Ray ──

Variables ray_variables(const RayCluster& cluster, const RayGroup& group, const std::string& pod) {
  const std::string host = ray_head_host(cluster.head_service(), cluster.ns());
  const std::string port = std::to_string(cluster.gcs_port());
  Variables variables = {{"RAY_CLUSTER_NAME", cluster.name()},
                         {"RAY_CLUSTER_NAMESPACE", cluster.ns()},
                         {"RAY_CLOUD_INSTANCE_ID", pod},
                         {"RAY_NODE_TYPE_NAME", group.name},
                         {"KUBERAY_GEN_RAY_START_CMD", ray_start_command(cluster, group)},
                         {"RAY_PORT", port},
                         {"RAY_ADDRESS", fmt::format("{}:{}", group.is_head ? "127.0.0.1" : host, port)},
                         {"RAY_USAGE_STATS_KUBERAY_IN_USE", "1"},
                         {"RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1"}};
  if (group.is_head) {
    variables.emplace_back(
        "RAY_USAGE_STATS_EXTRA_TAGS",
        fmt::format("kuberay_version=gangway;kuberay_crd={}", cluster.job.empty() ? kRayClusterKind : kRayJobKind));
  } else {
    variables.emplace_back("FQ_RAY_IP", host);
    variables.emplace_back("RAY_IP", host.substr(0, host.find('.')));
  }
  return variables;
}

std::string text_of(const json::Array& words) {
  std::string text;
  for (const json::Value& word : words) text += fmt::format("{}{}", text.empty() ? "" : " ", json::string_at(word, {}));
  return text;
}

// What the user wants to run comes first, unless that starts Ray itself.
void add_command(const RayCluster& cluster, const RayGroup& group, const json::Value& pod, json::Value& container) {
  if (annotation(cluster, pod, api::kRayOwnCommand) == "true") return;
  const std::string own = text_of(json::array_at(container, {"command"}));
  const std::string arguments = text_of(json::array_at(container, {"args"}));
  std::string before = own;
  if (!arguments.empty()) before += (before.empty() ? "" : " ") + arguments;
  if (before.find("ray start") != std::string::npos) return;
  std::string command = ray_start_command(cluster, group);
  if (!before.empty()) command = fmt::format("{} && {}", before, command);
  container.get_object()["command"] = json::Array{"/bin/bash", "-c", "--"};
  container.get_object()["args"] = json::Array{command};
}

void add_shared_memory(json::Value& pod, json::Value& container) {
  const json::Array& mounts = json::array_at(container, {"volumeMounts"});
  if (has_entry(mounts, "mountPath", kSharedMemoryPath) ||
      has_entry(json::array_at(pod, {"spec", "volumes"}), "name", kSharedMemory))
    return;
  json::Object volume{{"medium", "Memory"}};
  if (const json::Value* most = json::find(container, {"resources", "limits", "memory"})) volume["sizeLimit"] = *most;
  list_in(container.get_object(), "volumeMounts")
      .push_back(json::Object{{"name", kSharedMemory}, {"mountPath", kSharedMemoryPath}});
  list_in(json::object_at(pod, {"spec"}), "volumes")
      .push_back(json::Object{{"name", kSharedMemory}, {"emptyDir", std::move(volume)}});
}

// ── health ──

std::optional<int> leading_number(std::string_view text) {
  int number = 0;
  const bool is_number = std::from_chars(text.begin(), text.end(), number).ec == std::errc();
  return is_number ? std::optional(number) : std::nullopt;
}

// From 2.53 on a node of Ray says over HTTP how all of it is.
bool has_health_page(std::string_view version) {
  const auto dot = version.find('.');
  if (dot == version.npos) return false;
  const auto major = leading_number(version.substr(0, dot));
  const auto minor = leading_number(version.substr(dot + 1));
  return major && minor && std::pair(*major, *minor) >= std::pair(2, 53);
}

json::Object health_check(const RayCluster& cluster, const RayGroup& group) {
  const auto flags = ray_start_flags(cluster, group);
  const std::string& port = flags.at("dashboard-agent-listen-port");
  std::int64_t number = kAgentPort;
  std::from_chars(port.data(), port.data() + port.size(), number);
  if (has_health_page(json::string_at(cluster.spec(), {"rayVersion"})))
    return {{"httpGet", json::Object{{"path", "/api/healthz"}, {"port", number}}}};
  const auto ask = [](const std::string& where) {
    return fmt::format("wget --tries 1 -T 2 -q -O- http://localhost:{} | grep success", where);
  };
  std::string script = ask(fmt::format("{}/api/local_raylet_healthz", number));
  if (group.is_head)
    script += " && " + ask(fmt::format("{}/api/gcs_healthz",
                                       ray_head_port(cluster.spec(), "dashboard", api::kRayDashboardPort)));
  return {{"exec", json::Object{{"command", json::Array{"bash", "-c", script}}}}};
}

void add_probes(const RayCluster& cluster, const RayGroup& group, json::Value& container) {
  struct Pace {
    const char* probe;
    std::int64_t delay;
    std::int64_t failures;
  };
  for (const Pace& pace : {Pace{"readinessProbe", 10, 10}, Pace{"livenessProbe", 30, 120}}) {
    if (json::find(container, {pace.probe}) != nullptr) continue;
    json::Object probe = health_check(cluster, group);
    probe["initialDelaySeconds"] = pace.delay;
    probe["periodSeconds"] = 5;
    probe["timeoutSeconds"] = 5;
    probe["failureThreshold"] = pace.failures;
    container.get_object()[pace.probe] = std::move(probe);
  }
}

// ── workers ──

// With the environment of the container that runs Ray: it has to find the same programs.
void add_wait(const RayCluster& cluster, const json::Value& container, json::Value& pod) {
  const json::Object amounts{{"cpu", "200m"}, {"memory", "256Mi"}};
  json::Object wait{{"name", "wait-gcs-ready"},
                    {"command", json::Array{"/bin/bash", "-c", "--"}},
                    {"args", json::Array{ray_wait_command(cluster)}},
                    {"resources", json::Object{{"limits", amounts}, {"requests", amounts}}}};
  for (const char* key : {"image", "imagePullPolicy", "env", "envFrom", "volumeMounts", "securityContext"})
    if (const json::Value* same = json::find(container, {key})) wait[key] = *same;
  list_in(json::object_at(pod, {"spec"}), "initContainers").push_back(std::move(wait));
}

void add_variables_to_init_containers(const Variables& variables, json::Value& pod) {
  json::Value* list = json::find(pod, {"spec", "initContainers"});
  if (list == nullptr || !list->is_array()) return;
  for (json::Value& container : list->get_array())
    if (container.is_object()) add_missing(container, variables);
}

}  // namespace

std::string ray_pod_name(const RayCluster& cluster, const RayGroup& group, std::int64_t slot,
                         std::uint64_t incarnation) {
  std::string prefix =
      group.is_head ? cluster.name() + "-head" : fmt::format("{}-{}-worker", cluster.name(), as_name(group.name));
  prefix.resize(std::min(prefix.size(), kLongestPrefix));
  const std::string role = fmt::format("{}#{}", group.name, incarnation);
  return client::generated_name(prefix, cluster.uid(), role, static_cast<std::uint64_t>(slot),
                                static_cast<std::uint64_t>(cluster.record.attempt));
}

json::Value ray_pod(const RayCluster& cluster, const RayGroup& group, std::int64_t slot, const std::string& name) {
  json::Value pod =
      controllers::pod_from_template(group.pod_template(), {cluster.ns(), name}, cluster.owner().reference());
  json::object_at(pod, {"metadata"}).erase("generateName");  // its name is its own
  add_labels(cluster, group, slot, pod);
  add_annotations(cluster, group, pod);
  if (json::Value* container = first_container(pod)) {
    add_missing(*container, ray_variables(cluster, group, name));
    add_command(cluster, group, pod, *container);
    add_probes(cluster, group, *container);
    add_shared_memory(pod, *container);
    if (!group.is_head) {
      const std::string host = ray_head_host(cluster.head_service(), cluster.ns());
      add_variables_to_init_containers({{"FQ_RAY_IP", host}, {"RAY_IP", host.substr(0, host.find('.'))}}, pod);
      add_wait(cluster, *container, pod);
    }
  }
  add_missing_variables_to_all(pod, job_variables(cluster.tree, cluster.record.attempt));
  if (group.is_head && cluster.groups.is_autoscaled) add_autoscaler(cluster, pod);
  return pod;
}

json::Array ray_head_ports(const json::Value& cluster_spec) {
  json::Array ports;
  const json::Array& containers = json::array_at(cluster_spec, {"headGroupSpec", "template", "spec", "containers"});
  if (!containers.empty()) {
    for (const json::Value& port : json::array_at(containers.front(), {"ports"})) {
      if (json::string_at(port, {"name"}).empty()) continue;
      ports.push_back(json::Object{{"name", json::string_at(port, {"name"})},
                                   {"port", json::integer_at(port, {"containerPort"})},
                                   {"appProtocol", "tcp"}});
    }
  }
  if (!ports.empty()) return ports;
  for (const Port& port : kHeadPorts)
    ports.push_back(json::Object{{"name", port.name}, {"port", port.number}, {"appProtocol", "tcp"}});
  return ports;
}

json::Value ray_head_service_object(const RayCluster& cluster) {
  const json::Value* given = json::find(cluster.groups.head.spec, {"headService"});
  json::Value service = given != nullptr && given->is_object() ? *given : json::Value(json::Object());
  json::Object& metadata = json::object_at(service, {"metadata"});
  metadata["name"] = cluster.head_service();
  metadata["namespace"] = cluster.ns();
  metadata["ownerReferences"] = json::Array{api::to_json(cluster.owner().reference())};
  json::Object& labels = json::object_at(service, {"metadata", "labels"});
  for (const auto& [key, value] : selector_of(cluster)) labels[key] = value;
  for (const auto& [key, value] : json::map_at(cluster.spec(), {"headServiceAnnotations"}))
    json::object_at(service, {"metadata", "annotations"})[key] = value;
  json::Object& spec = json::object_at(service, {"spec"});
  spec["selector"] = selector_of(cluster);
  if (json::array_at(service, {"spec", "ports"}).empty()) spec["ports"] = ray_head_ports(cluster.spec());
  const std::string_view type = json::string_at(cluster.groups.head.spec, {"serviceType"});
  if (!type.empty() && type != "ClusterIP") {
    spec["type"] = type;
  } else if (!spec.contains("type") && !spec.contains("clusterIP")) {
    spec["clusterIP"] = "None";
    spec["publishNotReadyAddresses"] = true;
  }
  service.get_object()["apiVersion"] = "v1";
  service.get_object()["kind"] = "Service";
  return service;
}

void forget_simulated_program(json::Value& pod_template) {
  json::Value* annotations = json::find(pod_template, {"metadata", "annotations"});
  if (annotations == nullptr || !annotations->is_object()) return;
  for (const char* word : {"duration", "exit-code", "peer-loss"})
    annotations->get_object().erase("gangway.dev/simulated-" + std::string(word));
}

}  // namespace gangway::jobs
