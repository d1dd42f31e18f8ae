#include "jobs/mpi_access.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/gang.h"
#include "api/mpi.h"
#include "client/resource.h"
#include "jobs/mpi_files.h"

namespace gangway::jobs {
namespace {

constexpr std::string_view kConfigVolume = "mpi-job-config";
constexpr std::int64_t kReadable = 0444;
constexpr std::int64_t kExecutable = 0555;

const std::string& name_of(const controllers::Owner& owner) {
  return owner.object.header->name.name;
}

json::Value mpi_role_binding(const controllers::Owner& owner, const std::string& account) {
  const std::string name = mpi_launcher_name(name_of(owner));
  json::Value binding = belonging_of(owner, "rbac.authorization.k8s.io/v1", "RoleBinding", name);
  binding.as_object()["subjects"] = json::Array{
      json::Object{{"kind", "ServiceAccount"}, {"name", account}, {"namespace", owner.object.header->name.ns}}};
  binding.as_object()["roleRef"] =
      json::Object{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", name}};
  return binding;
}

}  // namespace

std::string mpi_config_name(const std::string& job) {
  return job + "-config";
}

std::string mpi_launcher_name(const std::string& job) {
  return job + "-launcher";
}

json::Value mpi_config_map(const controllers::Owner& owner, json::Object files) {
  json::Value map = belonging_of(owner, "v1", "ConfigMap", mpi_config_name(name_of(owner)));
  map.as_object()["data"] = std::move(files);
  return map;
}

void mount_mpi_files(const std::string& job, std::initializer_list<std::string_view> files, json::Value& pod) {
  json::Array items;
  for (const std::string_view file : files)
    items.push_back(
        json::Object{{"key", file}, {"path", file}, {"mode", file.ends_with(".sh") ? kExecutable : kReadable}});
  add_volume(pod,
             {{"name", kConfigVolume},
              {"configMap", json::Object{{"name", mpi_config_name(job)}, {"items", std::move(items)}}}},
             api::kMpiFolder);
}

void add_mpi_end_hook(json::Value& worker) {
  json::Value* container = first_container(worker);
  if (container == nullptr || json::find(*container, {"lifecycle", "preStop"}) != nullptr) return;
  // Among the processes of several containers nobody could tell whose is whose.
  if (json::flag_at(worker, {"spec", "shareProcessNamespace"})) return;
  json::object_at(*container, {"lifecycle"})["preStop"] =
      json::Object{{"exec", json::Object{{"command", json::Array{"/bin/sh", "-c", mpi_end_hook()}}}}};
}

std::string mpi_launcher_account(const controllers::Owner& owner, const json::Value& pod_template) {
  const std::string_view given = json::string_at(pod_template, {"spec", "serviceAccountName"});
  return given.empty() ? mpi_launcher_name(name_of(owner)) : std::string(given);
}

json::Value mpi_role(const controllers::Owner& owner, const std::vector<std::string>& workers) {
  json::Array rules{json::Object{{"apiGroups", json::Array{""}},
                                 {"resources", json::Array{"pods"}},
                                 {"verbs", json::Array{"get", "list", "watch"}}}};
  // A rule without names would be one for all pods.
  if (!workers.empty()) {
    // A WebSocket is asked for by GET, older streams by POST.
    rules.push_back(json::Object{{"apiGroups", json::Array{""}},
                                 {"resources", json::Array{"pods/exec"}},
                                 {"resourceNames", json::Array(workers.begin(), workers.end())},
                                 {"verbs", json::Array{"create", "get"}}});
  }
  json::Value role = belonging_of(owner, "rbac.authorization.k8s.io/v1", "Role", mpi_launcher_name(name_of(owner)));
  role.as_object()["rules"] = std::move(rules);
  return role;
}

void keep_mpi_account(Belongings& belongings, const controllers::Owner& owner, const std::string& account,
                      const std::vector<std::string>& workers) {
  const std::string own = mpi_launcher_name(name_of(owner));
  if (account == own)
    belongings.keep(client::resources::kServiceAccounts, belonging_of(owner, "v1", "ServiceAccount", own));
  belongings.keep(kRoles, mpi_role(owner, workers), "rules");
  // Nobody may bind a Role that is not there: what it allows is looked at.
  if (belongings.has(kRoles, own)) belongings.keep(kRoleBindings, mpi_role_binding(owner, account), "subjects");
}

std::optional<Elasticity> mpi_elasticity(const json::Value& job, const std::vector<ReplicaSpec>& replicas) {
  const auto annotated = [&](std::string_view key) -> std::optional<std::int64_t> {
    const std::string_view text = json::string_at(job, {"metadata", "annotations", key});
    std::int64_t number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
  };
  const auto fewest = annotated(api::kMinWorkers);
  const auto workers =
      std::find_if(replicas.begin(), replicas.end(), [](const ReplicaSpec& spec) { return spec.type == api::kWorker; });
  if (!fewest || workers == replicas.end()) return std::nullopt;
  return Elasticity{*fewest, std::max(*fewest, annotated(api::kMaxWorkers).value_or(workers->replicas))};
}

std::int64_t mpi_slots(const json::Value& job) {
  return std::max<std::int64_t>(1, json::integer_at(job, {"spec", "slotsPerWorker"}, 1));
}

const Variables& mpi_exec_variables() {
  // mpirun starts all daemons itself: one that starts others would need the launcher's rights.
  static const Variables kVariables = {{"OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh"},
                                       {"OMPI_MCA_plm_rsh_no_tree_spawn", "1"},
                                       {"OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"},
                                       {"I_MPI_HYDRA_BOOTSTRAP", "rsh"},
                                       {"I_MPI_HYDRA_BOOTSTRAP_EXEC", "/etc/mpi/kubexec.sh"}};
  return kVariables;
}

const Variables& mpi_root_variables() {
  static const Variables kVariables = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  return kVariables;
}

const Variables& no_gpu_variables() {
  static const Variables kVariables = {{"NVIDIA_VISIBLE_DEVICES", ""}, {"NVIDIA_DRIVER_CAPABILITIES", ""}};
  return kVariables;
}

}  // namespace gangway::jobs
