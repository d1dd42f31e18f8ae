#include "jobs/mpi_trainable.h"

#include "api/mpi.h"
#include "jobs/job_conditions.h"
#include "jobs/mpi_job.h"
#include "jobs/mpi_objects.h"

namespace gangway::jobs {
namespace {

Phase phase_of(const MpiJob& job, const JobConditions& conditions, std::int64_t granted) {
  if (conditions.is_true(kJobFailed)) return Phase::kFailed;
  if (conditions.is_true(kJobSucceeded)) return Phase::kSucceeded;
  if (job.policy.is_suspended) return Phase::kSuspended;
  if (granted == 0) return Phase::kQueued;
  if (conditions.is_true(kJobRunning)) return Phase::kRunning;
  return conditions.is_true(kJobRestarting) ? Phase::kRestarting : Phase::kStarting;
}

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

// The launcher's pod; of several, the last that was made.
std::string chief_of(const MpiJob& job, const std::vector<api::Version>& pods) {
  const api::Header* last = nullptr;
  for (const api::Version& pod : pods) {
    const api::Header& header = *pod.header;
    if (header.label(api::kMpiRoleLabel) != api::kMpiLauncher) continue;
    if (last == nullptr || last->created < header.created) last = &header;
  }
  return last == nullptr ? job.launcher_name() : last->name.name;
}

}  // namespace

Trainable mpi_trainable(const api::Version& version, const json::Value& tree, const std::vector<api::Version>& pods) {
  const MpiJob job(version, tree);
  const JobConditions conditions(json::array_at(tree, {"status", "conditions"}), kMpiKind, WallTime());
  Trainable seen{.resource = mpi_jobs(),
                 .kind = std::string(kMpiKind),
                 .name = version.header->name,
                 .uid = version.header->uid,
                 .minimum = job.gang_wish().minimum,
                 .chief = chief_of(job, pods),
                 .gang = job.is_gang ? job.name() : std::string(),
                 .is_suspended = job.policy.is_suspended,
                 .suspend_at = {"spec", "runPolicy", "suspend"},
                 .attempt = job.record.attempt,
                 .on_preempt = job.on_preempt};
  seen.replicas.push_back(role_of(job, api::kMpiLauncher, 1, mpi_launcher_job(job), pods));
  seen.replicas.push_back(role_of(job, api::kMpiWorker, job.workers.count, mpi_worker_set(job), pods));
  if (!job.workers.is_by_units) seen.replicas.back().resize_at = {"spec", "replicas"};
  seen.priority_class = seen.replicas.front().priority_class;
  seen.phase = phase_of(job, conditions, seen.granted());
  if (!conditions.list().empty()) seen.message = json::string_at(conditions.list().back(), {"message"});
  return seen;
}

}  // namespace gangway::jobs
