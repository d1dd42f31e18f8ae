#include "jobs/ray_job_status.h"

#include <utility>

#include "client/resource.h"

namespace gangway::jobs {
namespace {

void put(json::Object& status, std::string_view key, std::string_view text) {
  if (text.empty()) {
    status.erase(key);
  } else {
    status[key] = text;
  }
}

void put(json::Object& status, std::string_view key, const std::optional<WallTime>& time) {
  put(status, key, time ? to_rfc3339(*time) : std::string());
}

void put(json::Object& status, std::string_view key, std::int64_t number) {
  if (number == 0) {
    status.erase(key);
  } else {
    status[key] = number;
  }
}

json::Object own_part(const RayJobRecord& record) {
  json::Object own{{"attempt", record.attempt}};
  // A preemption of the same second may be a later one.
  if (record.queued_again) own["queuedAgainAt"] = to_rfc3339_micro(*record.queued_again);
  if (record.unknown_since) own["unknownSince"] = to_rfc3339(*record.unknown_since);
  return own;
}

}  // namespace

std::optional<client::Action> write_ray_job(const RayJob& job, const RayJobRecord& record,
                                            const json::Value& cluster_status) {
  json::Object status = json::map_at(job.tree, {"status"});
  put(status, "jobDeploymentStatus", to_text(record.deployment));
  put(status, "jobId", record.job_id);
  put(status, "rayClusterName", record.cluster);
  put(status, "dashboardURL", record.dashboard);
  put(status, "jobStatus", record.job_status);
  put(status, "reason", record.reason);
  put(status, "message", record.message);
  put(status, "startTime", record.started);
  put(status, "endTime", record.ended);
  put(status, "succeeded", record.succeeded);
  put(status, "failed", record.failed);
  json::Object program;
  put(program, "startTime", record.program_started);
  put(program, "endTime", record.program_ended);
  if (program.empty()) {
    status.erase("rayJobInfo");
  } else {
    status["rayJobInfo"] = std::move(program);
  }
  if (cluster_status.is_object()) {
    status["rayClusterStatus"] = cluster_status;
  } else {
    status.erase("rayClusterStatus");
  }
  status["observedGeneration"] = job.version.header->generation;
  status["gangway"] = own_part(record);
  if (json::equal(json::Value(json::map_at(job.tree, {"status"})), json::Value(status))) return std::nullopt;
  json::Value body = job.tree;
  // What a server lists need not say what it is.
  body.as_object()["apiVersion"] = client::api_version(ray_jobs());
  body.as_object()["kind"] = kRayJobKind;
  body.as_object()["status"] = std::move(status);
  return client::Update{client::target_of(ray_jobs(), job.version), std::move(body), "status"};
}

}  // namespace gangway::jobs
