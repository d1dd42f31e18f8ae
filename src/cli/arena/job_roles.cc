#include "cli/arena/job_roles.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/pod_requests.h"
#include "cli/arena/job_type.h"
#include "cli/arena/render.h"

namespace gangway::cli::arena {
namespace {

constexpr std::array<std::string_view, 3> kReplicaMaps = {"mpiReplicaSpecs", "pytorchReplicaSpecs", "tfReplicaSpecs"};

std::int64_t number_of(std::string_view text, std::int64_t otherwise) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty() ? number : otherwise;
}

std::int64_t annotated(const json::Value& job, std::string_view key, std::int64_t otherwise) {
  return number_of(json::string_at(job, {"metadata", "annotations", key}), otherwise);
}

JobRole role_from(std::string_view name, const json::Value& spec, std::int64_t usual_count) {
  JobRole role;
  role.name = lower(name);
  role.count = role.minimum = json::integer_at(spec, {"replicas"}, usual_count);
  role.pod_template = json::find(spec, {"template"});
  if (role.pod_template != nullptr)
    if (const json::Value* pod = json::find(*role.pod_template, {"spec"})) role.gpus = gpus_of(*pod);
  return role;
}

std::vector<JobRole> replica_roles(const json::Object& specs) {
  std::vector<JobRole> roles;
  for (const auto& [name, spec] : specs) roles.push_back(role_from(name, spec, 1));
  // Whoever comes first here speaks for the job.
  for (const std::string_view chief : {"launcher", "master", "chief"}) {
    const auto at = std::find_if(roles.begin(), roles.end(), [&](const JobRole& role) { return role.name == chief; });
    if (at == roles.end()) continue;
    at->is_chief = true;
    std::rotate(roles.begin(), at, at + 1);
    return roles;
  }
  return roles;
}

std::vector<JobRole> ray_roles(const json::Value& cluster) {
  std::vector<JobRole> roles;
  if (const json::Value* head = json::find(cluster, {"headGroupSpec"})) roles.push_back(role_from("head", *head, 1));
  for (const json::Value& group : json::array_at(cluster, {"workerGroupSpecs"})) {
    JobRole role = role_from("worker", group, 0);
    const std::int64_t hosts = std::max<std::int64_t>(1, json::integer_at(group, {"numOfHosts"}, 1));
    role.minimum = std::min(role.count, json::integer_at(group, {"minReplicas"}, role.count)) * hosts;
    role.count *= hosts;
    roles.push_back(role);
  }
  return roles;
}

// Old MPIJobs have one template for both roles; the launcher takes no devices.
std::vector<JobRole> old_mpi_roles(const json::Value& job) {
  const json::Value* spec = json::find(job, {"spec"});
  JobRole worker = role_from("worker", *spec, 1);
  JobRole launcher = worker;
  launcher.name = "launcher";
  launcher.count = launcher.minimum = 1;
  launcher.gpus = 0;
  launcher.is_chief = true;
  return {launcher, worker};
}

}  // namespace

std::vector<JobRole> roles_of(const json::Value& job) {
  std::vector<JobRole> roles;
  if (const json::Value* cluster = json::find(job, {"spec", "rayClusterSpec"})) return ray_roles(*cluster);
  for (const std::string_view map : kReplicaMaps)
    if (const json::Value* specs = json::find(job, {"spec", map}); specs != nullptr && specs->is_object())
      roles = replica_roles(specs->get_object());
  if (roles.empty() && json::find(job, {"spec", "template"}) != nullptr) roles = old_mpi_roles(job);
  const std::int64_t elastic = json::integer_at(job, {"spec", "elasticPolicy", "minReplicas"}, -1);
  for (JobRole& role : roles) {
    if (role.name != "worker") continue;
    const std::int64_t minimum = annotated(job, kMinWorkers, elastic);
    if (minimum >= 0) role.minimum = std::min(role.count, minimum);
  }
  return roles;
}

std::int64_t gpus_of(const json::Value& pod_spec) {
  std::int64_t gpus = 0;
  for (const json::Value& container : json::array_at(pod_spec, {"containers"})) {
    for (const auto& [resource, amount] : api::read_amounts(json::find(container, {"resources", "limits"})))
      if (resource.ends_with("/gpu")) gpus = api::sum_of(gpus, amount);
  }
  return gpus;
}

std::string priority_class_of(const json::Value& job) {
  for (const JobRole& role : roles_of(job)) {
    if (role.pod_template == nullptr) continue;
    const std::string_view name = json::string_at(*role.pod_template, {"spec", "priorityClassName"});
    if (!name.empty()) return std::string(name);
  }
  return std::string(json::string_at(job, {"spec", "runPolicy", "schedulingPolicy", "priorityClass"}));
}

std::string main_container_of(const json::Value& job) {
  for (const JobRole& role : roles_of(job)) {
    if (role.pod_template == nullptr) continue;
    for (const json::Value& container : json::array_at(*role.pod_template, {"spec", "containers"}))
      return std::string(json::string_at(container, {"name"}));
  }
  return "";
}

bool is_suspended(const json::Value& job) {
  return json::flag_at(job, {"spec", "suspend"}) || json::flag_at(job, {"spec", "runPolicy", "suspend"});
}

json::Value suspend_patch(const json::Value& job, bool suspend) {
  if (json::string_at(job, {"kind"}) == "RayJob") return json::Object{{"spec", json::Object{{"suspend", suspend}}}};
  return json::Object{{"spec", json::Object{{"runPolicy", json::Object{{"suspend", suspend}}}}}};
}

Elasticity elasticity_of(const json::Value& job) {
  Elasticity elastic;
  for (const JobRole& role : roles_of(job)) {
    if (role.name != "worker") continue;
    elastic.count = role.count;
    elastic.minimum = role.minimum;
  }
  const std::int64_t policy_max = json::integer_at(job, {"spec", "elasticPolicy", "maxReplicas"}, elastic.count);
  elastic.maximum = annotated(job, kMaxWorkers, policy_max);
  elastic.minimum =
      annotated(job, kMinWorkers, json::integer_at(job, {"spec", "elasticPolicy", "minReplicas"}, elastic.minimum));
  elastic.is_elastic = annotated(job, kMinWorkers, -1) >= 0 || json::find(job, {"spec", "elasticPolicy"}) != nullptr;
  return elastic;
}

json::Value scale_patch(const json::Value& job, std::int64_t workers) {
  for (const std::string_view map : kReplicaMaps) {
    if (json::find(job, {"spec", map}) == nullptr) continue;
    return json::Object{{"spec", json::Object{{map, json::Object{{"Worker", json::Object{{"replicas", workers}}}}}}}};
  }
  return json::Object{{"spec", json::Object{{"replicas", workers}}}};
}

}  // namespace gangway::cli::arena
