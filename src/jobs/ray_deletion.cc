#include "jobs/ray_deletion.h"

#include <algorithm>

namespace gangway::jobs {
namespace {

void add(RayDeletion& deletion, std::string_view policy, WallTime due, WallTime now) {
  if (due > now) {
    deletion.look_again_at = std::min(due, deletion.look_again_at.value_or(due));
    return;
  }
  deletion.deletes_workers = deletion.deletes_workers || policy == "DeleteWorkers";
  deletion.deletes_cluster = deletion.deletes_cluster || policy == "DeleteCluster";
  deletion.deletes_self = deletion.deletes_self || policy == "DeleteSelf";
}

bool applies(const json::Value& condition, const RayJobRecord& record) {
  const std::string_view program = json::string_at(condition, {"jobStatus"});
  const std::string_view deployment = json::string_at(condition, {"jobDeploymentStatus"});
  if (program.empty() && deployment.empty()) return false;
  return (program.empty() || program == record.job_status) &&
         (deployment.empty() || deployment == to_text(record.deployment));
}

}  // namespace

RayDeletion ray_deletion(const RayJob& job, WallTime now) {
  RayDeletion deletion;
  const WallTime ended = job.record.ended.value_or(now);
  if (job.shuts_down) add(deletion, "DeleteCluster", ended + job.time_to_live, now);
  for (const json::Value& rule : json::array_at(job.tree, {"spec", "deletionStrategy", "deletionRules"})) {
    const json::Value* condition = json::find(rule, {"condition"});
    if (condition == nullptr || !applies(*condition, job.record)) continue;
    const auto ttl = std::chrono::seconds(json::integer_at(*condition, {"ttlSeconds"}));
    add(deletion, json::string_at(rule, {"policy"}), ended + ttl, now);
  }
  const char* outcome = job.record.job_status == "SUCCEEDED" ? "onSuccess" : "onFailure";
  const std::string_view policy = json::string_at(job.tree, {"spec", "deletionStrategy", outcome, "policy"});
  if (!policy.empty()) add(deletion, policy, ended + job.time_to_live, now);
  return deletion;
}

}  // namespace gangway::jobs
