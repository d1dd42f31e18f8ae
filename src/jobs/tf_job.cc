#include "jobs/tf_job.h"

#include <fmt/format.h>

#include <algorithm>

#include "jobs/job_conditions.h"
#include "jobs/pod_environment.h"

namespace gangway::jobs {
namespace {

constexpr std::string_view kPs = "PS";

bool has_dynamic_workers(const KubeflowJob& job) {
  return json::flag_at(job.tree, {"spec", "enableDynamicWorker"});
}

std::string address(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index) {
  return fmt::format("{}.{}.svc:{}", job.pod_name(spec, index), job.ns(), main_port(spec, job.rules.kind));
}

json::Array addresses(const KubeflowJob& job, const ReplicaSpec& spec) {
  json::Array all;
  for (std::int64_t index = 0; index < spec.replicas; ++index) all.push_back(json::Value(address(job, spec, index)));
  return all;
}

// Each knows no more than it needs: a Worker all PS and itself, a PS itself.
json::Object sparse_cluster(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index) {
  json::Object cluster;
  if (spec.type == api::kWorker) {
    if (const ReplicaSpec* servers = job.find(kPs)) cluster["ps"] = addresses(job, *servers);
    cluster["worker"] = json::Object{{std::to_string(index), address(job, spec, index)}};
  } else if (spec.type == kPs) {
    cluster["ps"] = json::Array{address(job, spec, index)};
  }
  return cluster;
}

std::optional<Elasticity> elasticity(const json::Value&, const std::vector<ReplicaSpec>&) {
  return std::nullopt;
}

void furnish(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index, json::Value& pod) {
  if (job.total() == 1) return;
  json::Value* pod_spec = json::find(pod, {"spec"});
  json::Value* container = pod_spec == nullptr ? nullptr : main_container(*pod_spec, job.rules.kind);
  if (container == nullptr || json::string_at(*container, {"name"}) != job.rules.kind.container) return;
  add_variables(*container, {{"TF_CONFIG", tf_config(job, spec, index)}});
}

std::optional<Finding> judge_progress(const KubeflowJob& job, const ReplicaSpec& spec, const ReplicaTally& counts) {
  const bool has_chief = job.find(api::kChief) != nullptr || job.find(api::kMaster) != nullptr;
  const bool is_chief = spec.type == api::kChief || spec.type == api::kMaster;
  if (has_chief ? !is_chief : spec.type != api::kWorker) return std::nullopt;
  const bool first_suffices = !has_chief && json::string_at(job.tree, {"spec", "successPolicy"}) != "AllWorkers";
  const bool all_done = spec.replicas > 0 && counts.succeeded >= spec.replicas;
  if (all_done || (first_suffices && counts.has_first_succeeded))
    return Finding{kJobSucceeded, fmt::format("TFJob {}/{} successfully completed.", job.ns(), job.name())};
  if (counts.active > 0) return Finding{kJobRunning, fmt::format("TFJob {}/{} is running.", job.ns(), job.name())};
  return std::nullopt;
}

std::vector<Finding> judge(const KubeflowJob& job, const Tallies& tallies) {
  std::vector<Finding> findings;
  // A job that restarts does so until what failed has gone.
  const bool is_restarting =
      std::any_of(tallies.begin(), tallies.end(), [](const auto& entry) { return entry.second.replacing > 0; });
  for (const ReplicaSpec& spec : job.replicas) {
    const ReplicaTally& counts = tallies.find(spec.type)->second;
    if (auto finding = judge_progress(job, spec, counts); finding && !(is_restarting && finding->type == kJobRunning)) {
      findings.push_back(*finding);
      if (finding->type == kJobSucceeded) return findings;
    }
    if (counts.failed == counts.replacing) continue;
    if (has_dynamic_workers(job) && spec.type == api::kWorker) continue;
    findings.push_back({kJobFailed, fmt::format("TFJob {}/{} has failed because {} {} replica(s) failed.", job.ns(),
                                                job.name(), counts.failed, spec.type)});
    return findings;
  }
  return findings;
}

}  // namespace

std::string tf_config(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index) {
  json::Object config;
  json::Object task{{"type", spec.role}, {"index", index}};
  if (has_dynamic_workers(job)) {
    config["cluster"] = sparse_cluster(job, spec, index);
    config["task"] = std::move(task);
    return json::serialize(config);
  }
  json::Object cluster;
  for (const ReplicaSpec& each : job.replicas) cluster[each.role] = addresses(job, each);
  config["cluster"] = std::move(cluster);
  config["task"] = std::move(task);
  config["environment"] = "cloud";
  return json::serialize(config);
}

const KubeflowRules& tf_rules() {
  static const KubeflowRules rules{.kind = api::tf_job_kind(),
                                   .resource = {"kubeflow.org", "v1", std::string(api::tf_job_kind().plural)},
                                   .elasticity = elasticity,
                                   .furnish = furnish,
                                   .judge = judge};
  return rules;
}

}  // namespace gangway::jobs
