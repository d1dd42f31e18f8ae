#include "jobs/mpi_objects.h"

#include <string_view>
#include <utility>

#include "api/gang.h"
#include "api/mpi.h"
#include "api/owner.h"
#include "jobs/mpi_files.h"
#include "jobs/pod_environment.h"

namespace gangway::jobs {
namespace {

constexpr std::string_view kConfigVolume = "mpi-job-config";
constexpr std::string_view kMasterRole = "node-role.kubernetes.io/master";
constexpr std::int64_t kReadable = 0444;
constexpr std::int64_t kExecutable = 0555;
constexpr std::int64_t kRetries = 6;

json::Object metadata_of(const MpiJob& job, std::string name) {
  return {{"name", std::move(name)},
          {"namespace", job.ns()},
          {"labels", json::Object{{"app", job.name()}}},
          {"ownerReferences", json::Array{api::to_json(job.owner().reference())}}};
}

json::Value object_of(const char* api_version, const char* kind, json::Object metadata) {
  return json::Object{{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}};
}

json::Object role_labels(const MpiJob& job, std::string_view role) {
  return {{api::kMpiGroupLabel, "kubeflow.org"}, {api::kMpiJobLabel, job.name()}, {api::kMpiRoleLabel, role}};
}

void add_all(json::Object& into, const json::Object& from) {
  for (const auto& [key, value] : from) into[key] = value;
}

json::Value* first_container(json::Value& pod) {
  json::Value* list = json::find(pod, {"spec", "containers"});
  if (list == nullptr || !list->is_array() || list->get_array().empty()) return nullptr;
  json::Value& first = list->get_array().front();
  return first.is_object() ? &first : nullptr;
}

json::Array& list_in(json::Object& object, std::string_view key) {
  json::Value& list = object[key];
  if (!list.is_array()) list = json::Array();
  return list.get_array();
}

json::Object file(std::string_view name, std::int64_t mode) {
  return {{"key", name}, {"path", name}, {"mode", mode}};
}

void mount_files(const MpiJob& job, json::Array files, json::Value& pod) {
  list_in(json::object_at(pod, {"spec"}), "volumes")
      .push_back(json::Object{{"name", kConfigVolume},
                              {"configMap", json::Object{{"name", job.config_name()}, {"items", std::move(files)}}}});
  if (json::Value* container = first_container(pod))
    list_in(container->get_object(), "volumeMounts")
        .push_back(json::Object{{"name", kConfigVolume}, {"mountPath", api::kMpiFolder}});
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
  mount_files(job, {file("kubexec.sh", kExecutable)}, pod);
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
  list_in(json::object_at(pod, {"spec"}), "tolerations")
      .push_back(json::Object{{"key", kMasterRole}, {"operator", "Exists"}, {"effect", "NoSchedule"}});
}

// mpirun starts all daemons itself: one that starts others would need the launcher's rights.
const Variables& launcher_variables() {
  static const Variables kVariables = {{"OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh"},
                                       {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
                                       {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"},
                                       {"I_MPI_HYDRA_BOOTSTRAP", "rsh"},
                                       {"I_MPI_HYDRA_BOOTSTRAP_EXEC", "/etc/mpi/kubexec.sh"},
                                       {"NVIDIA_VISIBLE_DEVICES", ""},
                                       {"NVIDIA_DRIVER_CAPABILITIES", ""}};
  return kVariables;
}

// Open MPI refuses to be run by root, as whom containers run unless they say otherwise.
const Variables& root_variables() {
  static const Variables kVariables = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  return kVariables;
}

json::Value launcher_template(const MpiJob& job) {
  json::Value pod = template_of(job, api::kMpiLauncher);
  json::Object& spec = json::object_at(pod, {"spec"});
  spec["serviceAccountName"] = mpi_launcher_account(job);
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
    add_variables(*container, launcher_variables());
  }
  add_missing_variables_to_all(pod, root_variables());
  mount_files(
      job, {file("hostfile", kReadable), file("kubexec.sh", kExecutable), file("discover_hosts.sh", kExecutable)}, pod);
  return pod;
}

// The object that makes the pods of a role.
json::Value maker_of(const MpiJob& job, const char* api_version, const char* kind, std::string name,
                     std::string_view role) {
  json::Object metadata = metadata_of(job, std::move(name));
  add_all(metadata["labels"].as_object(), role_labels(job, role));
  metadata["annotations"] = json::Object{{api::kAttempt, std::to_string(job.record.attempt)}};
  return object_of(api_version, kind, std::move(metadata));
}

}  // namespace

std::string mpi_launcher_account(const MpiJob& job) {
  const std::string_view given = json::string_at(job.pod_template(), {"spec", "serviceAccountName"});
  return given.empty() ? job.launcher_name() : std::string(given);
}

json::Value mpi_config_map(const MpiJob& job, const std::vector<std::string>& running) {
  json::Value map = object_of("v1", "ConfigMap", metadata_of(job, job.config_name()));
  map.as_object()["data"] = json::Object{{"hostfile", mpi_hostfile(job)},
                                         {"kubexec.sh", mpi_remote_start()},
                                         {"discover_hosts.sh", mpi_discover_hosts(job, running)}};
  return map;
}

json::Value mpi_service_account(const MpiJob& job) {
  return object_of("v1", "ServiceAccount", metadata_of(job, job.launcher_name()));
}

json::Value mpi_role(const MpiJob& job) {
  json::Array workers;
  for (std::int64_t index = 0; index < job.workers.count; ++index) workers.emplace_back(job.worker_name(index));
  json::Array rules{json::Object{{"apiGroups", json::Array{""}},
                                 {"resources", json::Array{"pods"}},
                                 {"verbs", json::Array{"get", "list", "watch"}}}};
  // A rule without names would be one for all pods.
  if (!workers.empty()) {
    // A WebSocket is asked for by GET, older streams by POST.
    rules.push_back(json::Object{{"apiGroups", json::Array{""}},
                                 {"resources", json::Array{"pods/exec"}},
                                 {"resourceNames", std::move(workers)},
                                 {"verbs", json::Array{"create", "get"}}});
  }
  json::Value role = object_of("rbac.authorization.k8s.io/v1", "Role", metadata_of(job, job.launcher_name()));
  role.as_object()["rules"] = std::move(rules);
  return role;
}

json::Value mpi_role_binding(const MpiJob& job) {
  json::Value binding = object_of("rbac.authorization.k8s.io/v1", "RoleBinding", metadata_of(job, job.launcher_name()));
  binding.as_object()["subjects"] = json::Array{
      json::Object{{"kind", "ServiceAccount"}, {"name", mpi_launcher_account(job)}, {"namespace", job.ns()}}};
  binding.as_object()["roleRef"] =
      json::Object{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", job.launcher_name()}};
  return binding;
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

}  // namespace gangway::jobs
