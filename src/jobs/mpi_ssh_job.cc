#include "jobs/mpi_ssh_job.h"

#include <fmt/format.h>

#include <utility>

#include "api/gang.h"
#include "api/mpi.h"
#include "client/resource.h"
#include "jobs/job_conditions.h"
#include "jobs/mpi_access.h"
#include "jobs/mpi_files.h"
#include "jobs/mpi_job.h"
#include "jobs/replica_pods.h"

namespace gangway::jobs {
namespace {

using client::resources::kConfigMaps;
using client::resources::kSecrets;
using client::resources::kServices;

constexpr std::string_view kRole = "K_MPI_JOB_ROLE";
constexpr std::string_view kHostfile = "/etc/mpi/hostfile";
// Names of workers that have just started may not be known yet.
constexpr std::string_view kSshOptions = "-o ConnectionAttempts=10";
constexpr std::int64_t kOwnerOnly = 0600;
constexpr std::int64_t kRetries = 6;

std::string secret_name(const KubeflowJob& job) {
  return job.name() + "-ssh";
}

std::string_view implementation_of(const KubeflowJob& job) {
  return json::string_at(job.tree, {"spec", "mpiImplementation"});
}

std::string host_name(const KubeflowJob& job, const std::string& pod) {
  return fmt::format("{}.{}.{}.svc", pod, job.name(), job.ns());
}

// The launcher where it is a host too, then these.
std::vector<std::string> hosts_of(const KubeflowJob& job, const std::vector<std::string>& workers) {
  std::vector<std::string> hosts;
  const ReplicaSpec* launcher = job.find(api::kLauncher);
  if (job.launcher_is_worker && launcher != nullptr) hosts.push_back(host_name(job, job.pod_name(*launcher, 0)));
  for (const std::string& worker : workers) hosts.push_back(host_name(job, worker));
  return hosts;
}

void add_keys(const KubeflowJob& job, json::Value& pod) {
  const std::string_view given = json::string_at(job.tree, {"spec", "sshAuthMountPath"});
  const std::string_view folder = given.empty() ? api::kMpiSshFolder : given;
  json::Array files;
  for (const auto& [key, path] :
       {std::pair{"ssh-privatekey", "id_rsa"}, {"ssh-publickey", "id_rsa.pub"}, {"ssh-publickey", "authorized_keys"}})
    files.push_back(json::Object{{"key", key}, {"path", path}});
  json::Object secret{{"secretName", secret_name(job)}, {"items", std::move(files)}};
  // Another folder is another user's, who could not read them then.
  if (folder == api::kMpiSshFolder) secret["defaultMode"] = kOwnerOnly;
  add_volume(pod, {{"name", "ssh-auth"}, {"secret", std::move(secret)}}, folder);
}

void add_names(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index, json::Value& pod) {
  json::Object& pod_spec = json::object_at(pod, {"spec"});
  pod_spec["hostname"] = job.pod_name(spec, index);
  pod_spec["subdomain"] = job.name();
  if (json::flag_at(pod, {"spec", "hostNetwork"})) pod_spec["dnsPolicy"] = "ClusterFirstWithHostNet";
  if (spec.type == api::kLauncher) return;
  json::Value& searches = json::object_at(pod, {"spec", "dnsConfig"})["searches"];
  if (!searches.is_array()) searches = json::Array();
  searches.get_array().emplace_back(fmt::format("{}.{}.svc.cluster.local", job.name(), job.ns()));
}

void furnish(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index, json::Value& pod) {
  add_names(job, spec, index, pod);
  add_keys(job, pod);
  json::Value* container = first_container(pod);
  if (container == nullptr) return;
  if (spec.type == api::kLauncher) {
    add_missing_variables(*container, ssh_mpi_variables(job));
    add_missing_variables_to_all(pod, mpi_root_variables());
    mount_mpi_files(job.name(), {"hostfile", "discover_hosts.sh"}, pod);
    return;
  }
  add_missing_variables(*container, {{std::string(kRole), "worker"}});
  if (json::array_at(*container, {"command"}).empty() && json::array_at(*container, {"args"}).empty())
    container->get_object()["command"] = json::Array{"/usr/sbin/sshd", "-De"};
  add_mpi_end_hook(pod);
}

// Headless: the names of the pods below its own lead to them.
json::Value service_of(const KubeflowJob& job) {
  json::Value service = belonging_of(job.owner(), "v1", "Service", job.name());
  json::Object spec{{"clusterIP", "None"},
                    {"selector", json::Object{{api::kOperatorNameLabel, job.rules.kind.operator_name},
                                              {api::kJobNameLabel, job.name()}}}};
  // A launcher that is a host is looked for while it starts.
  if (job.launcher_is_worker) spec["publishNotReadyAddresses"] = true;
  service.as_object()["spec"] = std::move(spec);
  return service;
}

json::Value secret_of(const KubeflowJob& job, const json::Value& key) {
  json::Value secret = belonging_of(job.owner(), "v1", "Secret", secret_name(job));
  secret.as_object()["type"] = "kubernetes.io/ssh-auth";
  secret.as_object()["stringData"] = json::Object{{"ssh-privatekey", json::string_at(key, {"private"})},
                                                  {"ssh-publickey", json::string_at(key, {"public"})}};
  return secret;
}

bool keep_belongings(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const client::View& view,
                     std::vector<client::Action>& actions) {
  const controllers::Owner owner = job.owner();
  Belongings belongings(owner, view, actions);
  const json::Object texts = ssh_mpi_texts(job, running_pods(job, pods, api::kWorker));
  belongings.keep(kConfigMaps, mpi_config_map(owner, texts), "data");
  belongings.keep(kServices, service_of(job));
  if (belongings.has(kSecrets, secret_name(job))) return belongings.are_there();
  const Result<json::Value>* key = view.answer(kNewSshKey);
  if (key != nullptr && *key) {
    belongings.create(kSecrets, secret_of(job, **key));
  } else {
    actions.emplace_back(client::Probe{std::string(kNewSshKey), json::Object()});
  }
  return false;
}

std::optional<json::Value> launcher(const KubeflowJob& job, const std::vector<ReplicaPod>& pods) {
  const ReplicaSpec* spec = job.find(api::kLauncher);
  const ReplicaSpec* workers = job.find(api::kWorker);
  if (spec == nullptr) return std::nullopt;
  if (job.launches_late && workers != nullptr && !are_enough_ready(job, pods, *workers)) return std::nullopt;
  const json::Value pod = replica_pod(job, *spec, 0);
  json::Value pod_template =
      json::Object{{"metadata", json::Object{{"labels", json::map_at(pod, {"metadata", "labels"})},
                                             {"annotations", json::map_at(pod, {"metadata", "annotations"})}}},
                   {"spec", json::map_at(pod, {"spec"})}};
  json::Object job_spec{{"backoffLimit", job.policy.backoff_limit.value_or(kRetries)},
                        {"podReplacementPolicy", "Failed"},
                        {"template", std::move(pod_template)}};
  if (job.policy.deadline)
    job_spec["activeDeadlineSeconds"] = std::chrono::duration_cast<std::chrono::seconds>(*job.policy.deadline).count();
  json::Value made = belonging_of(job.owner(), "batch/v1", "Job", job.pod_name(*spec, 0));
  json::object_at(made, {"metadata", "annotations"})[api::kAttempt] = std::to_string(job.record.attempt);
  made.as_object()["spec"] = std::move(job_spec);
  return made;
}

// What the launcher's Job does is what the job does, unless workers are taken away that nobody makes again.
std::vector<Finding> judge(const KubeflowJob& job, const Tallies& tallies) {
  const auto launcher = tallies.find(api::kLauncher);
  if (launcher == tallies.end()) return {};
  const ReplicaTally& counts = launcher->second;
  if (counts.succeeded > 0) return {{kJobSucceeded, job.told("{0} {1}/{2} successfully completed.")}};
  if (counts.failed > 0)
    return {{kJobFailed, counts.message.empty() ? job.told("{0} {1}/{2} has failed.") : counts.message, counts.reason}};
  if (const ReplicaSpec* workers = job.find(api::kWorker)) {
    const ReplicaTally& others = tallies.find(workers->type)->second;
    if (others.evicted > 0)
      return {
          {kJobFailed, fmt::format("{}/{} workers are evicted", others.evicted, workers->replicas), "MPIJobEvicted"}};
    if (others.replacing > 0 || others.active < workers->replicas) return {};
  }
  if (counts.active == 0) return {};
  return {{kJobRunning, job.told("{0} {1}/{2} is running.")}};
}

}  // namespace

Variables ssh_mpi_variables(const KubeflowJob& job) {
  const std::string slots = std::to_string(mpi_slots(job.tree));
  Variables variables{{std::string(kRole), "launcher"}};
  if (implementation_of(job) == "Intel") {
    variables.emplace_back("I_MPI_HYDRA_HOST_FILE", kHostfile);
    variables.emplace_back("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", kSshOptions);
    variables.emplace_back("I_MPI_PERHOST", slots);
  } else if (implementation_of(job) == "MPICH") {
    variables.emplace_back("HYDRA_HOST_FILE", kHostfile);
    variables.emplace_back("HYDRA_LAUNCH_EXTRA_ARGS", kSshOptions);
  } else {
    variables.emplace_back("OMPI_MCA_orte_keep_fqdn_hostnames", "true");
    variables.emplace_back("OMPI_MCA_orte_default_hostfile", kHostfile);
    variables.emplace_back("OMPI_MCA_plm_rsh_args", kSshOptions);
    variables.emplace_back("OMPI_MCA_orte_set_default_slots", slots);
  }
  if (!job.launcher_is_worker) variables.insert(variables.end(), no_gpu_variables().begin(), no_gpu_variables().end());
  return variables;
}

json::Object ssh_mpi_texts(const KubeflowJob& job, const std::vector<std::string>& running) {
  const ReplicaSpec* workers = job.find(api::kWorker);
  const auto names = workers == nullptr ? std::vector<std::string>() : job.pod_names(*workers);
  const bool is_colon = implementation_of(job) == "Intel" || implementation_of(job) == "MPICH";
  return {{"hostfile",
           mpi_hostfile(hosts_of(job, names), mpi_slots(job.tree), is_colon ? HostForm::kColon : HostForm::kSlots)},
          {"discover_hosts.sh", mpi_discover_hosts(hosts_of(job, running), std::nullopt)}};
}

const KubeflowRules& ssh_mpi_rules() {
  static const KubeflowRules rules{
      .kind = api::ssh_mpi_job_kind(),
      .resource = mpi_jobs(),
      .elasticity = mpi_elasticity,
      .furnish = furnish,
      .judge = judge,
      .has_services = false,
      .fails_by_loss = false,
      .keep_belongings = keep_belongings,
      .launcher = launcher,
      .wording = {.created = "{0} {1}/{2} is created.", .suspended = "{0} suspended", .resumed = "{0} resumed"}};
  return rules;
}

}  // namespace gangway::jobs
