#include "jobs/ray_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/gang.h"
#include "api/ray.h"
#include "client/name_hash.h"

namespace gangway::jobs {
namespace {

constexpr std::size_t kSuffix = 5;

constexpr std::array<std::string_view, 10> kDeployments = {"",           "Initializing",    "Waiting",  "Running",
                                                           "Suspending", "Suspended",       "Retrying", "Complete",
                                                           "Failed",     "ValidationFailed"};

std::optional<WallTime> time_at(const json::Value& job, std::initializer_list<std::string_view> path) {
  const auto time = parse_rfc3339(json::string_at(job, path));
  if (!time) return std::nullopt;
  return *time;
}

std::optional<Duration> seconds_at(const json::Value& job, std::string_view key) {
  const json::Value* given = json::find(job, {"spec", key});
  if (given == nullptr || given->is_null()) return std::nullopt;
  return std::chrono::seconds(json::integer_at(*given, {}));
}

RayJobRecord read_record(const json::Value& job) {
  const auto text = [&](std::string_view key) { return std::string(json::string_at(job, {"status", key})); };
  RayJobRecord record;
  record.deployment = read_deployment(text("jobDeploymentStatus"));
  record.job_id = text("jobId");
  record.cluster = text("rayClusterName");
  record.dashboard = text("dashboardURL");
  record.job_status = text("jobStatus");
  record.reason = text("reason");
  record.message = text("message");
  record.started = time_at(job, {"status", "startTime"});
  record.ended = time_at(job, {"status", "endTime"});
  record.succeeded = json::integer_at(job, {"status", "succeeded"});
  record.failed = json::integer_at(job, {"status", "failed"});
  record.program_started = time_at(job, {"status", "rayJobInfo", "startTime"});
  record.program_ended = time_at(job, {"status", "rayJobInfo", "endTime"});
  record.attempt = std::max<std::int64_t>(1, json::integer_at(job, {"status", "gangway", "attempt"}, 1));
  record.queued_again = time_at(job, {"status", "gangway", "queuedAgainAt"});
  record.unknown_since = time_at(job, {"status", "gangway", "unknownSince"});
  return record;
}

RaySubmission read_submission(std::string_view mode) {
  if (mode == "HTTPMode") return RaySubmission::kHttp;
  if (mode == "SidecarMode") return RaySubmission::kSidecar;
  return mode == "InteractiveMode" ? RaySubmission::kInteractive : RaySubmission::kJob;
}

std::string suffixed(const RayJob& job, std::string_view role) {
  const std::string hash =
      client::NameHash().mix(job.uid()).mix(role).mix(static_cast<std::uint64_t>(job.record.attempt)).text();
  return fmt::format("{}-{}", job.name(), std::string_view(hash).substr(0, kSuffix));
}

}  // namespace

std::string_view to_text(RayDeployment deployment) {
  return kDeployments[static_cast<std::size_t>(deployment)];
}

RayDeployment read_deployment(std::string_view text) {
  const auto* found = std::find(kDeployments.begin(), kDeployments.end(), text);
  return found == kDeployments.end() ? RayDeployment::kNew : static_cast<RayDeployment>(found - kDeployments.begin());
}

bool is_final_ray_status(std::string_view status) {
  return status == "SUCCEEDED" || status == "FAILED" || status == "STOPPED";
}

RayJob::RayJob(api::Version job, json::Value document)
    : version(std::move(job)),
      tree(std::move(document)),
      submission(read_submission(json::string_at(tree, {"spec", "submissionMode"}))),
      selected_cluster(json::string_at(tree, {"spec", "clusterSelector", api::kRayClusterLabel})),
      is_suspended(json::flag_at(tree, {"spec", "suspend"})),
      shuts_down(json::flag_at(tree, {"spec", "shutdownAfterJobFinishes"})),
      time_to_live(seconds_at(tree, "ttlSecondsAfterFinished").value_or(Duration::zero())),
      deadline(seconds_at(tree, "activeDeadlineSeconds")),
      deadline_to_run(seconds_at(tree, "preRunningDeadlineSeconds")),
      backoff_limit(json::integer_at(tree, {"spec", "backoffLimit"})),
      record(read_record(tree)),
      on_preempt(on_preempt_of(tree)) {
  const std::string_view by = json::string_at(tree, {"spec", "managedBy"});
  is_ours = by.empty() || by == api::kRayOperator;
  // Pods of a cluster that is somebody else's are not this job's.
  is_gang = selected_cluster.empty() && api::gang_choice(tree).value_or(true);
}

const json::Value& RayJob::cluster_spec() const {
  static const json::Value kNone = json::Object();
  const json::Value* given = json::find(tree, {"spec", "rayClusterSpec"});
  return given != nullptr && given->is_object() ? *given : kNone;
}

std::string RayJob::generated_cluster() const {
  return selected_cluster.empty() ? suffixed(*this, "cluster") : selected_cluster;
}

std::string RayJob::generated_job_id() const {
  const std::string_view given = json::string_at(tree, {"spec", "jobId"});
  if (!given.empty()) return std::string(given);
  return submission == RaySubmission::kInteractive ? std::string() : suffixed(*this, "program");
}

std::optional<std::string> ray_job_problem(const RayJob& job) {
  const bool is_selected = json::find(job.tree, {"spec", "clusterSelector"}) != nullptr;
  if (is_selected && job.selected_cluster.empty())
    return fmt::format("spec.clusterSelector: {} must name a cluster", api::kRayClusterLabel);
  if (!is_selected && json::find(job.tree, {"spec", "rayClusterSpec"}) == nullptr)
    return "spec.rayClusterSpec or spec.clusterSelector must be set";
  if (job.is_suspended && !job.shuts_down)
    return "spec.suspend: only a job with shutdownAfterJobFinishes can be suspended";
  if (job.is_suspended && is_selected) return "spec.suspend: a job with a clusterSelector cannot be suspended";
  if (job.backoff_limit > 0 && is_selected) return "spec.backoffLimit: a job with a clusterSelector is not tried again";
  if (job.backoff_limit > 0 && job.submission == RaySubmission::kInteractive)
    return "spec.backoffLimit: a job in InteractiveMode is not tried again";
  if (job.submission != RaySubmission::kSidecar) return std::nullopt;
  for (const char* field : {"submitterPodTemplate", "submitterConfig", "clusterSelector"})
    if (json::find(job.tree, {"spec", field}) != nullptr)
      return fmt::format("spec.{}: a job in SidecarMode has none", field);
  return std::nullopt;
}

}  // namespace gangway::jobs
