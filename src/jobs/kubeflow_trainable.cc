#include "jobs/kubeflow_trainable.h"

#include "jobs/job_conditions.h"

namespace gangway::jobs {
namespace {

Phase phase_of(const KubeflowJob& job, const JobConditions& conditions, std::int64_t granted) {
  if (conditions.is_true(kJobFailed)) return Phase::kFailed;
  if (conditions.is_true(kJobSucceeded)) return Phase::kSucceeded;
  if (job.policy.is_suspended) return Phase::kSuspended;
  if (granted == 0) return Phase::kQueued;
  if (conditions.is_true(kJobRunning)) return Phase::kRunning;
  return conditions.is_true(kJobRestarting) ? Phase::kRestarting : Phase::kStarting;
}

ReplicaSet replica_set(const KubeflowJob& job, const ReplicaSpec& spec, const std::vector<api::Version>& pods) {
  ReplicaSet set{.role = spec.role,
                 .wish = spec.replicas,
                 .granted = count_granted(pods, api::kReplicaTypeLabel, spec.role),
                 .minimum = spec.replicas,
                 .maximum = spec.replicas,
                 .priority_class = std::string(json::string_at(spec.pod_template, {"spec", "priorityClassName"})),
                 .pod_template = spec.pod_template};
  if (spec.type != api::kWorker) return set;
  set.resize_at = {"spec", std::string(job.rules.kind.replica_specs), spec.type, "replicas"};
  if (!job.elastic) return set;
  set.minimum = job.elastic->minimum;
  set.maximum = job.elastic->maximum;
  return set;
}

}  // namespace

Trainable kubeflow_trainable(const KubeflowRules& rules, const api::Version& version, const json::Value& tree,
                             const std::vector<api::Version>& pods) {
  const KubeflowJob job(rules, version, tree);
  const JobConditions conditions(json::array_at(tree, {"status", "conditions"}), rules.kind.kind, WallTime());
  Trainable seen{.resource = rules.resource,
                 .kind = std::string(rules.kind.kind),
                 .name = version.header->name,
                 .uid = version.header->uid,
                 .minimum = job.gang_wish().minimum,
                 .gang = job.is_gang ? job.name() : std::string(),
                 .is_suspended = job.policy.is_suspended,
                 .suspend_at = {"spec", "runPolicy", "suspend"},
                 .attempt = job.record.attempt,
                 .on_preempt = job.on_preempt};
  for (const ReplicaSpec& spec : job.replicas) {
    seen.replicas.push_back(replica_set(job, spec, pods));
    if (!job.is_chief(spec, 0)) continue;
    seen.chief = job.pod_name(spec, 0);
    seen.priority_class = seen.replicas.back().priority_class;
  }
  seen.phase = phase_of(job, conditions, seen.granted());
  if (!conditions.list().empty()) seen.message = json::string_at(conditions.list().back(), {"message"});
  return seen;
}

}  // namespace gangway::jobs
