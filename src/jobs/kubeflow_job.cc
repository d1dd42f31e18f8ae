#include "jobs/kubeflow_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "api/gang.h"

namespace gangway::jobs {

KubeflowJob::KubeflowJob(const KubeflowRules& its_rules, api::Version job, json::Value document)
    : rules(its_rules),
      version(std::move(job)),
      tree(std::move(document)),
      policy(read_run_policy(tree)),
      replicas(read_replicas(tree, rules.kind)),
      elastic(rules.elasticity(tree, replicas)),
      record(read_job_record(tree)),
      is_gang(api::gang_choice(tree).value_or(true)),
      on_preempt(on_preempt_of(tree)),
      launches_late(json::string_at(tree, {"spec", "launcherCreationPolicy"}) == "WaitForWorkersReady"),
      launcher_is_worker(json::flag_at(tree, {"spec", "runLauncherAsWorker"})) {}

const ReplicaSpec* KubeflowJob::find(std::string_view type) const {
  const auto found =
      std::find_if(replicas.begin(), replicas.end(), [&](const auto& spec) { return spec.type == type; });
  return found == replicas.end() ? nullptr : &*found;
}

const ReplicaSpec* KubeflowJob::find_role(std::string_view role) const {
  const auto found =
      std::find_if(replicas.begin(), replicas.end(), [&](const auto& spec) { return spec.role == role; });
  return found == replicas.end() ? nullptr : &*found;
}

std::int64_t KubeflowJob::total() const {
  std::int64_t sum = 0;
  for (const ReplicaSpec& spec : replicas) sum += spec.replicas;
  return sum;
}

std::string KubeflowJob::pod_name(const ReplicaSpec& spec, std::int64_t index) const {
  return api::replica_name(name(), spec.type, index);
}

std::vector<std::string> KubeflowJob::pod_names(const ReplicaSpec& spec) const {
  std::vector<std::string> names;
  for (std::int64_t index = 0; index < spec.replicas; ++index) names.push_back(pod_name(spec, index));
  return names;
}

std::string KubeflowJob::told(const char* words) const {
  return fmt::format(fmt::runtime(words), rules.kind.kind, ns(), name());
}

bool KubeflowJob::is_chief(const ReplicaSpec& spec, std::int64_t index) const {
  if (index != 0) return false;
  for (const std::string_view type : {api::kLauncher, api::kChief, api::kMaster, api::kWorker})
    if (find(type) != nullptr) return spec.type == type;
  return false;
}

GangWish KubeflowJob::gang_wish(std::int64_t succeeded) const {
  GangWish wish{.minimum = total(),
                .min_resources = policy.min_resources,
                .schedule_timeout_seconds = policy.schedule_timeout_seconds};
  const ReplicaSpec* workers = find(api::kWorker);
  if (elastic && workers != nullptr) {
    const std::int64_t others = wish.minimum - workers->replicas;
    wish.maximum = others + std::max(elastic->maximum, workers->replicas);
    wish.minimum = others + std::min(elastic->minimum, workers->replicas);
  }
  // Who is made when the others are there cannot be waited for, but has its room.
  if (const ReplicaSpec* launcher = find(api::kLauncher); launches_late && launcher != nullptr) {
    --wish.minimum;
    wish.late.push_back({.name = launcher->role, .pod_template = launcher->pod_template});
  }
  if (policy.min_available) wish.minimum = *policy.min_available;
  // Whoever has succeeded does not come back, and the rest must not wait for it.
  wish.minimum = std::max<std::int64_t>(1, wish.minimum - succeeded);
  return wish;
}

json::Object replica_labels(const KubeflowJob& job, const ReplicaSpec& spec) {
  return {{api::kJobNameLabel, job.name()},
          {api::kOperatorNameLabel, job.rules.kind.operator_name},
          {job.rules.kind.role_label, spec.role}};
}

json::Object replica_labels(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index) {
  json::Object labels = replica_labels(job, spec);
  // A Launcher has a number only where Workers are counted from it on.
  if (spec.type != api::kLauncher) {
    labels[api::kReplicaIndexLabel] = std::to_string(index + (job.launcher_is_worker ? 1 : 0));
  } else if (job.launcher_is_worker) {
    labels[api::kReplicaIndexLabel] = "0";
  }
  return labels;
}

std::int64_t replica_index(const KubeflowJob& job, const ReplicaSpec& spec, const api::Header& pod) {
  if (spec.type == api::kLauncher) return 0;
  const std::string_view text = pod.label(api::kReplicaIndexLabel);
  std::int64_t number = -1;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return -1;
  return number - (job.launcher_is_worker ? 1 : 0);
}

std::string selector_text(const json::Object& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels)
    parts.push_back(fmt::format("{}={}", std::string_view(key), json::string_at(value, {})));
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace gangway::jobs
