#include "jobs/mpi_objects.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "api/gang.h"
#include "api/mpi.h"
#include "jobs/belongings.h"
#include "jobs/mpi_files.h"
#include "jobs/pod_environment.h"

namespace gangway::jobs {
namespace {

constexpr std::string_view kMasterRole = "node-role.kubernetes.io/master";
constexpr std::int64_t kRetries = 6;

json::Object role_labels(const MpiJob& job, std::string_view role) {
  return {{api::kMpiGroupLabel, "kubeflow.org"}, {api::kMpiJobLabel, job.name()}, {api::kMpiRoleLabel, role}};
}

void add_all(json::Object& into, const json::Object& from) {
  for (const auto& [key, value] : from) into[key] = value;
}

// The template with what pods of both roles have: labels, the gang, the attempt, the job's variables.
json::Value template_of(const MpiJob& job, std::string_view role) {
  json::Value pod = job.pod_template();
  json::Object& metadata = json::object_at(pod, {"metadata"});
  metadata.erase("name");
  metadata.erase("generateName");
  metadata.erase("creationTimestamp");
  json::Object& labels = json::object_at(pod, {"metadata", "labels"});
  add_all(labels, role_labels(job, role));
  if (job.is_gang) labels[api::kPodGroupLabel] = job.name();
  // A pod that belongs to no group says itself what is to become of it.
  json::Object annotations = job.is_gang ? json::Object() : gang_annotations(job.tree, false);
  if (job.record.attempt > 1) annotations[api::kAttempt] = std::to_string(job.record.attempt);
  if (!annotations.empty()) add_all(json::object_at(pod, {"metadata", "annotations"}), annotations);
  add_missing_variables_to_all(pod, job_variables(job.tree, job.record.attempt));
  return pod;
}

// Workers only sleep: what the annotations of simulated nodes say about the program is about the launcher.
void forget_program(json::Value& pod) {
  json::Value* annotations = json::find(pod, {"metadata", "annotations"});
  if (annotations == nullptr || !annotations->is_object()) return;
  for (const char* word : {"duration", "exit-code", "peer-loss"})
    annotations->get_object().erase("gangway.dev/simulated-" + std::string(word));
}

json::Value worker_template(const MpiJob& job) {
  json::Value pod = template_of(job, api::kMpiWorker);
  forget_program(pod);
  json::object_at(pod, {"spec"})["restartPolicy"] = "Always";
  if (json::Value* container = first_container(pod)) {
    container->get_object()["command"] = json::Array{"sleep"};
    container->get_object()["args"] = json::Array{"365d"};
    if (job.workers.is_by_units) {
      json::object_at(*container, {"resources", "limits"})[job.workers.resource] = std::to_string(job.workers.units);
      json::object_at(*container, {"resources", "requests"})[job.workers.resource] = std::to_string(job.workers.units);
    }
  }
  mount_mpi_files(job.name(), {"kubexec.sh"}, pod);
  add_mpi_end_hook(pod);
  return pod;
}

// What the launcher takes: nothing of what the workers do, unless the job says so.
json::Value launcher_resources(const MpiJob& job) {
  const json::Value* given = json::find(job.tree, {"spec", "launcherResources"});
  if (given == nullptr || !given->is_object() || given->get_object().empty()) return json::Object();
  const json::Object& amounts = given->get_object();
  if (amounts.contains("limits") || amounts.contains("requests")) return *given;
  return json::Object{{"limits", amounts}, {"requests", amounts}};
}

void strip_volumes(json::Value& pod) {
  json::object_at(pod, {"spec"}).erase("volumes");
  for (const char* list : {"containers", "initContainers"}) {
    json::Value* containers = json::find(pod, {"spec", list});
    if (containers == nullptr || !containers->is_array()) continue;
    for (json::Value& container : containers->get_array())
      if (container.is_object()) container.get_object().erase("volumeMounts");
  }
}

void put_on_master(json::Value& pod) {
  json::object_at(pod, {"spec", "nodeSelector"})[kMasterRole] = "";
  json::Value& tolerations = json::object_at(pod, {"spec"})["tolerations"];
  if (!tolerations.is_array()) tolerations = json::Array();
  tolerations.get_array().push_back(
      json::Object{{"key", kMasterRole}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
}

bool takes_room(const json::Value& pod) {
  for (const char* list : {"containers", "initContainers"})
    for (const json::Value& container : json::array_at(pod, {"spec", list}))
      for (const char* which : {"limits", "requests"})
        if (!json::map_at(container, {"resources", which}).empty()) return true;
  return false;
}

json::Value launcher_template(const MpiJob& job) {
  json::Value pod = template_of(job, api::kMpiLauncher);
  json::Object& spec = json::object_at(pod, {"spec"});
  spec["serviceAccountName"] = mpi_launcher_account(job.owner(), job.pod_template());
  if (json::string_at(pod, {"spec", "restartPolicy"}) != "OnFailure") spec["restartPolicy"] = "Never";
  const json::Value* mounts = json::find(job.tree, {"spec", "mountsOnLauncher"});
  if (mounts != nullptr && mounts->is_bool() && !mounts->get_bool()) strip_volumes(pod);
  if (json::flag_at(job.tree, {"spec", "launcherOnMaster"})) put_on_master(pod);
  json::Value* containers = json::find(pod, {"spec", "containers"});
  if (containers != nullptr && containers->is_array())
    for (json::Value& container : containers->get_array())
      if (container.is_object()) container.get_object().erase("resources");
  if (json::Value* container = first_container(pod)) {
    container->get_object()["resources"] = launcher_resources(job);
    add_missing_variables(*container, mpi_exec_variables());
    add_missing_variables(*container, no_gpu_variables());
  }
  add_missing_variables_to_all(pod, mpi_root_variables());
  mount_mpi_files(job.name(), {"hostfile", "kubexec.sh", "discover_hosts.sh"}, pod);
  // Or the group, which counts only workers, would seem to have one more than it needs.
  if (job.is_gang) json::object_at(pod, {"metadata", "labels"})[api::kLateMemberLabel] = api::kMpiLauncher;
  return pod;
}

// The object that makes the pods of a role.
json::Value maker_of(const MpiJob& job, const char* api_version, const char* kind, std::string name,
                     std::string_view role) {
  json::Value maker = belonging_of(job.owner(), api_version, kind, std::move(name));
  add_all(json::object_at(maker, {"metadata", "labels"}), role_labels(job, role));
  json::object_at(maker, {"metadata", "annotations"})[api::kAttempt] = std::to_string(job.record.attempt);
  return maker;
}

}  // namespace

json::Object mpi_texts(const MpiJob& job, const std::vector<std::string>& running) {
  return {{"hostfile", mpi_hostfile(job.worker_names(), job.workers.slots)},
          {"kubexec.sh", mpi_remote_start()},
          {"discover_hosts.sh", mpi_discover_hosts(running, job.workers.slots)}};
}

json::Value mpi_worker_set(const MpiJob& job) {
  json::Value set = maker_of(job, "apps/v1", "StatefulSet", job.worker_set_name(), api::kMpiWorker);
  set.as_object()["spec"] = json::Object{{"replicas", job.workers.count},
                                         {"podManagementPolicy", "Parallel"},
                                         {"serviceName", job.worker_set_name()},
                                         {"selector", json::Object{{"matchLabels", role_labels(job, api::kMpiWorker)}}},
                                         {"template", worker_template(job)}};
  return set;
}

json::Value mpi_launcher_job(const MpiJob& job) {
  json::Value launcher = maker_of(job, "batch/v1", "Job", job.launcher_name(), api::kMpiLauncher);
  json::Object spec{{"backoffLimit", job.policy.backoff_limit.value_or(kRetries)},
                    {"template", launcher_template(job)}};
  if (job.policy.deadline)
    spec["activeDeadlineSeconds"] = std::chrono::duration_cast<std::chrono::seconds>(*job.policy.deadline).count();
  launcher.as_object()["spec"] = std::move(spec);
  return launcher;
}

GangWish mpi_gang_wish(const MpiJob& job) {
  GangWish wish{.minimum = std::max<std::int64_t>(1, job.workers.count)};
  json::Value launcher = launcher_template(job);
  if (takes_room(launcher))
    wish.late.push_back({.name = std::string(api::kMpiLauncher), .pod_template = std::move(launcher)});
  return wish;
}

}  // namespace gangway::jobs
