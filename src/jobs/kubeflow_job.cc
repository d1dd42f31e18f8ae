#include "jobs/kubeflow_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/gang.h"

namespace gangway::jobs {
namespace {

std::optional<WallTime> time_at(const json::Value& job, std::initializer_list<std::string_view> path) {
  const auto time = parse_rfc3339(json::string_at(job, path));
  if (!time) return std::nullopt;
  return *time;
}

JobRecord read_record(const json::Value& job) {
  JobRecord record;
  record.attempt = std::max<std::int64_t>(1, json::integer_at(job, {"status", "gangway", "attempt"}, 1));
  record.restarts = json::integer_at(job, {"status", "gangway", "restarts"});
  for (const json::Value& uid : json::array_at(job, {"status", "gangway", "replaced"}))
    record.replaced.emplace(json::string_at(uid, {}));
  record.queued_again = time_at(job, {"status", "gangway", "queuedAgainAt"});
  record.ended_by = json::string_at(job, {"status", "gangway", "endedBy"});
  record.started = time_at(job, {"status", "startTime"});
  record.completed = time_at(job, {"status", "completionTime"});
  for (const auto& [type, counts] : json::map_at(job, {"status", "replicaStatuses"}))
    record.active += json::integer_at(counts, {"active"});
  return record;
}

}  // namespace

KubeflowJob::KubeflowJob(const KubeflowRules& its_rules, api::Version job, json::Value document)
    : rules(its_rules),
      version(std::move(job)),
      tree(std::move(document)),
      policy(read_run_policy(tree)),
      replicas(read_replicas(tree, rules.kind)),
      elastic(rules.elasticity(tree, replicas)),
      record(read_record(tree)),
      is_gang(api::gang_choice(tree).value_or(true)),
      on_preempt(on_preempt_of(tree)) {}

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
  std::string text = fmt::format("{}-{}-{}", name(), spec.role, index);
  std::replace(text.begin(), text.end(), '/', '-');
  return text;
}

bool KubeflowJob::is_chief(const ReplicaSpec& spec, std::int64_t index) const {
  if (index != 0) return false;
  for (const std::string_view type : {api::kChief, api::kMaster, api::kWorker})
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
  if (policy.min_available) wish.minimum = *policy.min_available;
  // Whoever has succeeded does not come back, and the rest must not wait for it.
  wish.minimum = std::max<std::int64_t>(1, wish.minimum - succeeded);
  return wish;
}

json::Object replica_labels(const KubeflowJob& job, const ReplicaSpec& spec) {
  return {{api::kJobNameLabel, job.name()},
          {api::kOperatorNameLabel, job.rules.kind.operator_name},
          {api::kReplicaTypeLabel, spec.role}};
}

json::Object replica_labels(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index) {
  json::Object labels = replica_labels(job, spec);
  labels[api::kReplicaIndexLabel] = std::to_string(index);
  return labels;
}

std::string selector_text(const json::Object& labels) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : labels)
    parts.push_back(fmt::format("{}={}", std::string_view(key), json::string_at(value, {})));
  std::sort(parts.begin(), parts.end());
  return fmt::format("{}", fmt::join(parts, ","));
}

}  // namespace gangway::jobs
