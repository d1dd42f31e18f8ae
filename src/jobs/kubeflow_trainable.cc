#include "jobs/kubeflow_trainable.h"

namespace gangway::jobs {
namespace {

ReplicaSet replica_set(const KubeflowJob& job, const ReplicaSpec& spec, const std::vector<api::Version>& pods) {
  ReplicaSet set{.role = spec.role,
                 .wish = spec.replicas,
                 .granted = count_granted(pods, job.rules.kind.role_label, spec.role),
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
    if (job.is_by_job(spec)) seen.chief = newest_pod(pods, rules.kind.role_label, spec.role, seen.chief);
    seen.priority_class = seen.replicas.back().priority_class;
  }
  seen.phase = phase_by_conditions(tree, seen.is_suspended, seen.granted());
  seen.message = last_message(tree);
  return seen;
}

}  // namespace gangway::jobs
