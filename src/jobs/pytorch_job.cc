#include "jobs/pytorch_job.h"

#include <fmt/format.h>

#include <charconv>

#include "jobs/job_conditions.h"

namespace gangway::jobs {
namespace {

// torchrun counts every Worker that comes or goes as a restart, and gives up at 0 when it is not told otherwise.
constexpr std::int64_t kRestarts = 100;

const json::Value* elastic_policy(const json::Value& job) {
  const json::Value* policy = json::find(job, {"spec", "elasticPolicy"});
  return policy != nullptr && policy->is_object() ? policy : nullptr;
}

std::optional<std::int64_t> number_at(const json::Value& object, std::string_view key) {
  const json::Value* value = json::find(object, {key});
  if (value == nullptr || value->is_null()) return std::nullopt;
  return json::integer_at(*value, {});
}

std::optional<Elasticity> elasticity(const json::Value& job, const std::vector<ReplicaSpec>& replicas) {
  const json::Value* policy = elastic_policy(job);
  if (policy == nullptr) return std::nullopt;
  auto minimum = number_at(*policy, "minReplicas");
  auto maximum = number_at(*policy, "maxReplicas");
  if (!minimum && !maximum) {
    for (const ReplicaSpec& spec : replicas)
      if (spec.type == api::kWorker) minimum = spec.replicas;
  }
  if (!minimum) minimum = maximum;
  if (!maximum) maximum = minimum;
  if (!minimum) return std::nullopt;
  return Elasticity{*minimum, *maximum};
}

std::string processes_per_node(const KubeflowJob& job) {
  const std::string_view given = json::string_at(job.tree, {"spec", "nprocPerNode"});
  return given.empty() ? "auto" : std::string(given);
}

std::int64_t as_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc() && end == text.data() + text.size() ? number : 1;
}

void add_master(const KubeflowJob& job, const ReplicaSpec& master, std::int64_t rank, Variables& variables) {
  const std::string port = std::to_string(main_port(master, job.rules.kind));
  const std::string address = job.pod_name(master, 0);
  variables.emplace_back("MASTER_PORT", port);
  variables.emplace_back("PET_MASTER_PORT", port);
  variables.emplace_back("MASTER_ADDR", address);
  variables.emplace_back("PET_MASTER_ADDR", address);
  variables.emplace_back("WORLD_SIZE", std::to_string(job.total() * as_number(processes_per_node(job))));
  variables.emplace_back("RANK", std::to_string(rank));
  variables.emplace_back("PET_NODE_RANK", std::to_string(rank));
}

std::string settings(const json::Value& policy) {
  std::string text;
  for (const json::Value& entry : json::array_at(policy, {"rdzvConf"}))
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", json::string_at(entry, {"key"}),
                        json::string_at(entry, {"value"}));
  return text;
}

void add_elastic(const KubeflowJob& job, const json::Value& policy, Variables& variables) {
  const ReplicaSpec* workers = job.find(api::kWorker);
  const std::string_view host = json::string_at(policy, {"rdzvHost"});
  const std::int64_t usual_port = workers == nullptr ? job.rules.kind.port : main_port(*workers, job.rules.kind);
  const std::string meeting = host.empty() && workers != nullptr ? job.pod_name(*workers, 0) : std::string(host);
  const std::string_view backend = json::string_at(policy, {"rdzvBackend"});
  variables.emplace_back("PET_RDZV_ENDPOINT",
                         fmt::format("{}:{}", meeting, number_at(policy, "rdzvPort").value_or(usual_port)));
  variables.emplace_back("PET_RDZV_BACKEND", backend.empty() ? "c10d" : backend);
  if (job.elastic)
    variables.emplace_back("PET_NNODES", fmt::format("{}:{}", job.elastic->minimum, job.elastic->maximum));
  variables.emplace_back("PET_MAX_RESTARTS", std::to_string(number_at(policy, "maxRestarts").value_or(kRestarts)));
  if (const auto processes = number_at(policy, "nProcPerNode"))
    variables.emplace_back("PET_NPROC_PER_NODE", std::to_string(*processes));
  if (const auto id = json::string_at(policy, {"rdzvId"}); !id.empty()) variables.emplace_back("PET_RDZV_ID", id);
  if (const std::string more = settings(policy); !more.empty()) variables.emplace_back("PET_RDZV_CONF", more);
  // Not empty, as others have it: torchrun reads it as a number.
  if (json::flag_at(policy, {"standalone"})) variables.emplace_back("PET_STANDALONE", "1");
}

// Workers that start before the Master's name is known would fail.
json::Value wait_for_master(const KubeflowJob& job, const ReplicaSpec& master) {
  const std::string name = job.pod_name(master, 0);
  const std::string script = fmt::format(
      "i=0; until nslookup {0} >/dev/null 2>&1 || getent hosts {0} >/dev/null 2>&1; do "
      "i=$((i+1)); if [ $i -ge 100 ]; then echo no address for {0}; exit 1; fi; sleep 2; done",
      name);
  json::Object resources{{"requests", json::Object{{"cpu", "50m"}, {"memory", "10Mi"}}},
                         {"limits", json::Object{{"cpu", "100m"}, {"memory", "20Mi"}}}};
  return json::Object{{"name", "init-pytorch"},
                      {"image", "alpine:3.10"},
                      {"imagePullPolicy", "IfNotPresent"},
                      {"command", json::Array{"sh", "-c", script}},
                      {"resources", std::move(resources)}};
}

void furnish(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index, json::Value& pod) {
  add_variables_to_all(pod, pytorch_variables(job, spec, index));
  const ReplicaSpec* master = job.find(api::kMaster);
  if (master == nullptr || spec.type == api::kMaster) return;
  json::Value& before = json::object_at(pod, {"spec"})["initContainers"];
  if (!before.is_array()) before = json::Array();
  before.get_array().push_back(wait_for_master(job, *master));
}

std::optional<Finding> judge_progress(const KubeflowJob& job, const ReplicaSpec& spec, const ReplicaTally& counts) {
  const bool has_master = job.find(api::kMaster) != nullptr;
  const bool all_done = spec.replicas > 0 && counts.succeeded >= spec.replicas;
  if (has_master) {
    if (spec.type != api::kMaster) return std::nullopt;
    if (all_done) return Finding{kJobSucceeded, fmt::format("PyTorchJob {} is successfully completed.", job.name())};
    if (counts.active > 0) return Finding{kJobRunning, fmt::format("PyTorchJob {} is running.", job.name())};
    return std::nullopt;
  }
  if (all_done || (job.elastic && counts.succeeded > 0))
    return Finding{kJobSucceeded, fmt::format("PyTorchJob {}/{} successfully completed.", job.ns(), job.name())};
  if (counts.active > 0) return Finding{kJobRunning, fmt::format("PyTorchJob {}/{} is running.", job.ns(), job.name())};
  return std::nullopt;
}

std::vector<Finding> judge(const KubeflowJob& job, const Tallies& tallies) {
  std::vector<Finding> findings;
  for (const ReplicaSpec& spec : job.replicas) {
    const ReplicaTally& counts = tallies.find(spec.type)->second;
    if (auto finding = judge_progress(job, spec, counts)) {
      findings.push_back(*finding);
      if (finding->type == kJobSucceeded) return findings;
    }
    if (counts.failed == 0 || spec.replicas <= counts.succeeded + counts.active) continue;
    if (spec.restart == RestartPolicy::kNever) {
      findings.push_back({kJobFailed, fmt::format("PyTorchJob {} is failed because {} {} replica(s) failed.",
                                                  job.name(), counts.failed, spec.type)});
      return findings;
    }
    std::erase_if(findings, [](const Finding& finding) { return finding.type == kJobRunning; });
    findings.push_back({kJobRestarting, fmt::format("PyTorchJob {} is restarting because {} {} replica(s) failed.",
                                                    job.name(), counts.failed, spec.type)});
  }
  return findings;
}

}  // namespace

Variables pytorch_variables(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index) {
  Variables variables{{"PYTHONUNBUFFERED", "1"}};
  const ReplicaSpec* master = job.find(api::kMaster);
  if (master != nullptr) add_master(job, *master, spec.type == api::kMaster ? 0 : index + 1, variables);
  const json::Value* policy = elastic_policy(job.tree);
  // A number in the older place counts: the server takes only one of the two.
  if (policy == nullptr || !number_at(*policy, "nProcPerNode"))
    variables.emplace_back("PET_NPROC_PER_NODE", processes_per_node(job));
  if (policy == nullptr) {
    variables.emplace_back("PET_NNODES", std::to_string(job.total()));
  } else {
    add_elastic(job, *policy, variables);
  }
  return variables;
}

const KubeflowRules& pytorch_rules() {
  static const KubeflowRules rules{.kind = api::pytorch_job_kind(),
                                   .resource = {"kubeflow.org", "v1", std::string(api::pytorch_job_kind().plural)},
                                   .elasticity = elasticity,
                                   .furnish = furnish,
                                   .judge = judge};
  return rules;
}

}  // namespace gangway::jobs
