#include "jobs/mpi_trainable.h"

#include "api/mpi.h"
#include "jobs/kubeflow_trainable.h"
#include "jobs/mpi_controller.h"
#include "jobs/mpi_job.h"
#include "jobs/mpi_objects.h"

namespace gangway::jobs {
namespace {

ReplicaSet role_of(const MpiJob& job, std::string_view role, std::int64_t count, const json::Value& maker,
                   const std::vector<api::Version>& pods) {
  ReplicaSet set{.role = std::string(role),
                 .wish = count,
                 .granted = count_granted(pods, api::kMpiRoleLabel, role),
                 .minimum = count,
                 .maximum = count,
                 .priority_class = std::string(json::string_at(job.pod_template(), {"spec", "priorityClassName"}))};
  if (const json::Value* pod = json::find(maker, {"spec", "template"})) set.pod_template = *pod;
  return set;
}

}  // namespace

Trainable mpi_trainable(const api::Version& version, const json::Value& tree, const std::vector<api::Version>& pods) {
  if (const KubeflowRules* rules = mpi_rules_of(tree)) return kubeflow_trainable(*rules, version, tree, pods);
  const MpiJob job(version, tree);
  Trainable seen{.resource = mpi_jobs(),
                 .kind = std::string(kMpiKind),
                 .name = version.header->name,
                 .uid = version.header->uid,
                 .minimum = mpi_gang_wish(job).minimum,
                 .chief = newest_pod(pods, api::kMpiRoleLabel, api::kMpiLauncher, job.launcher_name()),
                 .gang = job.is_gang ? job.name() : std::string(),
                 .is_suspended = job.policy.is_suspended,
                 .suspend_at = {"spec", "runPolicy", "suspend"},
                 .attempt = job.record.attempt,
                 .on_preempt = job.on_preempt};
  seen.replicas.push_back(role_of(job, api::kMpiLauncher, 1, mpi_launcher_job(job), pods));
  seen.replicas.push_back(role_of(job, api::kMpiWorker, job.workers.count, mpi_worker_set(job), pods));
  if (!job.workers.is_by_units) seen.replicas.back().resize_at = {"spec", "replicas"};
  seen.priority_class = seen.replicas.front().priority_class;
  seen.phase = phase_by_conditions(tree, seen.is_suspended, seen.granted());
  seen.message = last_message(tree);
  return seen;
}

}  // namespace gangway::jobs
