#include "jobs/ray_trainable.h"

#include "api/conditions.h"
#include "api/ray.h"
#include "jobs/ray_cluster.h"
#include "jobs/ray_cluster_status.h"
#include "jobs/ray_job.h"
#include "jobs/ray_job_objects.h"

namespace gangway::jobs {
namespace {

ReplicaSet role_of(const RayGroup& group, bool is_elastic, const std::vector<api::Version>& pods) {
  ReplicaSet set{.role = group.is_head ? std::string(api::kRayHead) : group.name,
                 .wish = group.pods(),
                 .granted = count_granted(pods, api::kRayGroupLabel, group.name),
                 .minimum = is_elastic && !group.is_head ? group.fewest_pods() : group.pods(),
                 .maximum = group.pods(),
                 .priority_class = std::string(json::string_at(group.pod_template(), {"spec", "priorityClassName"})),
                 .pod_template = group.pod_template()};
  return set;
}

// Groups are in a list: no merge patch changes one of them.
void add_groups(const RayGroups& groups, OnPreempt on_preempt, const std::vector<api::Version>& pods, Trainable& seen) {
  const bool is_elastic = groups.is_autoscaled || on_preempt == OnPreempt::kShrink;
  seen.replicas.push_back(role_of(groups.head, is_elastic, pods));
  for (const RayGroup& group : groups.workers) seen.replicas.push_back(role_of(group, is_elastic, pods));
  seen.minimum = groups.gang_wish(on_preempt).minimum;
  seen.priority_class = seen.replicas.front().priority_class;
}

std::string name_with(const std::vector<api::Version>& pods, std::string_view label, std::string_view value) {
  const api::Header* last = nullptr;
  for (const api::Version& pod : pods) {
    if (pod.header->label(label) != value) continue;
    if (last == nullptr || last->created < pod.header->created) last = pod.header.get();
  }
  return last == nullptr ? std::string() : last->name.name;
}

Phase phase_of(const RayJob& job, std::int64_t granted) {
  switch (job.record.deployment) {
    case RayDeployment::kComplete:
      return job.record.job_status == "FAILED" ? Phase::kFailed : Phase::kSucceeded;
    case RayDeployment::kFailed:
    case RayDeployment::kValidationFailed:
      return Phase::kFailed;
    case RayDeployment::kRetrying:
      return Phase::kRestarting;
    default:
      break;
  }
  if (job.is_suspended) return Phase::kSuspended;
  if (granted == 0) return Phase::kQueued;
  return job.record.deployment == RayDeployment::kRunning ? Phase::kRunning : Phase::kStarting;
}

Phase phase_of(const RayCluster& cluster, std::int64_t granted) {
  if (cluster.is_suspended) return Phase::kSuspended;
  if (granted == 0) return Phase::kQueued;
  return json::string_at(cluster.tree, {"status", "state"}) == "ready" ? Phase::kRunning : Phase::kStarting;
}

}  // namespace

Trainable ray_cluster_trainable(const api::Version& version, const json::Value& tree,
                                const std::vector<api::Version>& pods) {
  const RayCluster cluster(version, tree);
  Trainable seen{.resource = ray_clusters(),
                 .kind = std::string(kRayClusterKind),
                 .name = version.header->name,
                 .uid = version.header->uid,
                 .chief = name_with(pods, api::kRayNodeTypeLabel, api::kRayHead),
                 .gang = cluster.is_gang ? cluster.gang() : std::string(),
                 .is_suspended = cluster.is_suspended,
                 .suspend_at = {"spec", "suspend"},
                 .attempt = cluster.record.attempt,
                 .on_preempt = cluster.on_preempt};
  add_groups(cluster.groups, cluster.on_preempt, pods, seen);
  seen.phase = phase_of(cluster, seen.granted());
  if (const json::Object* provisioned = api::find_condition(tree, kRayProvisioned))
    seen.message = json::string_at(json::Value(*provisioned), {"message"});
  return seen;
}

Trainable ray_job_trainable(const api::Version& version, const json::Value& tree,
                            const std::vector<api::Version>& pods) {
  const RayJob job(version, tree);
  Trainable seen{.resource = ray_jobs(),
                 .kind = std::string(kRayJobKind),
                 .name = version.header->name,
                 .uid = version.header->uid,
                 .message = job.record.message,
                 .chief = name_with(pods, api::kRayOriginName, job.name()),
                 .gang = job.is_gang ? job.name() : std::string(),
                 .is_suspended = job.is_suspended,
                 .attempt = job.record.attempt,
                 .on_preempt = job.on_preempt};
  if (job.shuts_down && job.selected_cluster.empty()) seen.suspend_at = {"spec", "suspend"};
  if (seen.chief.empty()) seen.chief = name_with(pods, api::kRayNodeTypeLabel, api::kRayHead);
  if (job.selected_cluster.empty()) add_groups(RayGroups(job.cluster_spec()), job.on_preempt, pods, seen);
  if (job.submission == RaySubmission::kJob) {
    const json::Value submitter = ray_submitter_job(job);
    ReplicaSet set{.role = "submitter", .wish = 1, .minimum = 1, .maximum = 1};
    set.granted = count_granted(pods, api::kRayOriginName, job.name());
    if (const json::Value* pod = json::find(submitter, {"spec", "template"})) set.pod_template = *pod;
    seen.replicas.push_back(std::move(set));
  }
  seen.phase = phase_of(job, seen.granted());
  return seen;
}

}  // namespace gangway::jobs
