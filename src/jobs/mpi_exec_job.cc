#include "jobs/mpi_exec_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/resource.h"
#include "jobs/job_conditions.h"
#include "jobs/mpi_access.h"
#include "jobs/mpi_files.h"
#include "jobs/mpi_job.h"
#include "jobs/replica_pods.h"

namespace gangway::jobs {
namespace {

bool is_nothing(const json::Value& amount) {
  return amount.is_string() ? json::string_at(amount, {}) == "0" : json::integer_at(amount, {}) == 0;
}

// A launcher that has GPUs is a host like the workers.
bool asks_for_gpus(const ReplicaSpec& spec) {
  for (const json::Value& container : json::array_at(spec.pod_template, {"spec", "containers"}))
    for (const char* which : {"limits", "requests"})
      for (const auto& [resource, amount] : json::map_at(container, {"resources", which}))
        if (std::string_view(resource).find("gpu") != std::string_view::npos && !is_nothing(amount)) return true;
  return false;
}

std::vector<std::string> worker_names(const KubeflowJob& job) {
  const ReplicaSpec* workers = job.find(api::kWorker);
  return workers == nullptr ? std::vector<std::string>() : job.pod_names(*workers);
}

void furnish_launcher(const KubeflowJob& job, const ReplicaSpec& spec, json::Value& pod) {
  json::object_at(pod, {"spec"})["serviceAccountName"] = mpi_launcher_account(job.owner(), spec.pod_template);
  if (json::Value* container = first_container(pod)) {
    add_missing_variables(*container, mpi_exec_variables());
    if (!asks_for_gpus(spec)) add_missing_variables(*container, no_gpu_variables());
  }
  add_missing_variables_to_all(pod, mpi_root_variables());
  mount_mpi_files(job.name(), {"hostfile", "kubexec.sh", "discover_hosts.sh"}, pod);
}

void furnish(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t, json::Value& pod) {
  if (spec.type == api::kLauncher) return furnish_launcher(job, spec, pod);
  if (json::Value* container = first_container(pod);
      container != nullptr && json::array_at(*container, {"command"}).empty()) {
    container->get_object()["command"] = json::Array{"sleep"};
    container->get_object()["args"] = json::Array{"365d"};
  }
  mount_mpi_files(job.name(), {"kubexec.sh"}, pod);
  add_mpi_end_hook(pod);
}

bool keep_belongings(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const client::View& view,
                     std::vector<client::Action>& actions) {
  const ReplicaSpec* launcher = job.find(api::kLauncher);
  if (launcher == nullptr) return false;  // the server does not let it in
  const controllers::Owner owner = job.owner();
  Belongings belongings(owner, view, actions);
  const json::Object texts = exec_mpi_texts(job, running_pods(job, pods, api::kWorker));
  belongings.keep(client::resources::kConfigMaps, mpi_config_map(owner, texts), "data");
  keep_mpi_account(belongings, owner, mpi_launcher_account(owner, launcher->pod_template), worker_names(job));
  return belongings.are_there();
}

Finding failure_of(const KubeflowJob& job, const ReplicaSpec& spec, const ReplicaTally& counts) {
  if (counts.evicted > 0 && spec.type == api::kWorker)
    return {kJobFailed, fmt::format("{}/{} workers are evicted", counts.evicted, spec.replicas), "MPIJobEvicted"};
  return {kJobFailed,
          fmt::format("MPIJob {} is failed because {} {} replica(s) failed.", job.name(), counts.failed, spec.type)};
}

// What the launcher does is what the job does, unless a pod fails that nobody makes again.
std::vector<Finding> judge(const KubeflowJob& job, const Tallies& tallies) {
  const auto launcher = tallies.find(api::kLauncher);
  if (launcher == tallies.end()) return {};
  if (launcher->second.succeeded > 0)
    return {{kJobSucceeded, fmt::format("MPIJob {} is successfully completed.", job.name())}};
  for (const ReplicaSpec& spec : job.replicas) {
    const ReplicaTally& counts = tallies.find(spec.type)->second;
    if (counts.failed > counts.replacing) return {failure_of(job, spec, counts)};
  }
  // A job that restarts does so until what failed has gone.
  const bool is_restarting =
      std::any_of(tallies.begin(), tallies.end(), [](const auto& entry) { return entry.second.replacing > 0; });
  if (is_restarting || launcher->second.active == 0) return {};
  return {{kJobRunning, fmt::format("MPIJob {} is running.", job.name())}};
}

}  // namespace

json::Object exec_mpi_texts(const KubeflowJob& job, const std::vector<std::string>& running) {
  std::vector<std::string> hosts = worker_names(job);
  const ReplicaSpec* launcher = job.find(api::kLauncher);
  if (launcher != nullptr && asks_for_gpus(*launcher)) hosts.insert(hosts.begin(), job.pod_name(*launcher, 0));
  const std::int64_t slots = mpi_slots(job.tree);
  return {{"hostfile", mpi_hostfile(hosts, slots)},
          {"kubexec.sh", mpi_remote_start(json::string_at(job.tree, {"spec", "mainContainer"}))},
          {"discover_hosts.sh", mpi_discover_hosts(running, slots)}};
}

const KubeflowRules& exec_mpi_rules() {
  static const KubeflowRules rules{.kind = api::mpi_job_kind(),
                                   .resource = mpi_jobs(),
                                   .elasticity = mpi_elasticity,
                                   .furnish = furnish,
                                   .judge = judge,
                                   .has_services = false,
                                   .fails_by_loss = false,
                                   .keep_belongings = keep_belongings};
  return rules;
}

}  // namespace gangway::jobs
