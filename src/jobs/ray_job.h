// RayJob: one of ray.io/v1 as one look sees it: what it wants, and what its status remembers. A pure value.
//
// It runs a program on a RayCluster that is made for it, or on one that it names. It does not say what that cluster and
// the rest look like (ray_job_objects.h), nor what is done about them (ray_job_look.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/object.h"
#include "base/time.h"
#include "controllers/owned.h"
#include "jobs/ray_cluster.h"
#include "json/value.h"

namespace gangway::jobs {

// How the program gets to the cluster.
enum class RaySubmission : std::uint8_t { kJob, kHttp, kInteractive, kSidecar };

// What the job does; kNew is written as nothing.
enum class RayDeployment : std::uint8_t {
  kNew,
  kInitializing,
  kWaiting,
  kRunning,
  kSuspending,
  kSuspended,
  kRetrying,
  kComplete,
  kFailed,
  kValidationFailed,
};
std::string_view to_text(RayDeployment deployment);
RayDeployment read_deployment(std::string_view text);

// What Ray says of the program.
bool is_final_ray_status(std::string_view status);

// What the status remembers.
struct RayJobRecord {
  RayDeployment deployment = RayDeployment::kNew;
  std::string job_id;
  std::string cluster;
  std::string dashboard;
  std::string job_status;
  std::string reason;
  std::string message;
  std::optional<WallTime> started;
  std::optional<WallTime> ended;
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::optional<WallTime> program_started;  // as Ray says
  std::optional<WallTime> program_ended;
  std::int64_t attempt = 1;
  std::optional<WallTime> queued_again;
  std::optional<WallTime> unknown_since;  // Ray has not said what the program does
};

struct RayJob {
  RayJob(api::Version job, json::Value document);

  api::Version version;
  json::Value tree;
  RaySubmission submission = RaySubmission::kJob;
  std::string selected_cluster;  // not empty: the cluster is somebody else's
  bool is_ours = true;           // nobody else is named as who runs it
  bool is_suspended = false;
  bool shuts_down = false;  // the cluster goes when the job has finished
  Duration time_to_live{};  // so long after its end
  std::optional<Duration> deadline;
  std::optional<Duration> deadline_to_run;
  std::int64_t backoff_limit = 0;
  RayJobRecord record;
  bool is_gang = true;
  OnPreempt on_preempt = OnPreempt::kFail;

  const std::string& name() const { return version.header->name.name; }
  const std::string& ns() const { return version.header->name.ns; }
  const std::string& uid() const { return version.header->uid; }
  controllers::Owner owner() const { return {ray_jobs(), std::string(kRayJobKind), version}; }
  const json::Value& cluster_spec() const;
  // Something hands the program over, follows its output, and ends after it.
  bool is_followed() const { return submission == RaySubmission::kJob || submission == RaySubmission::kSidecar; }
  std::string_view entrypoint() const { return json::string_at(tree, {"spec", "entrypoint"}); }

  // "<job>-x5cvb": of the cluster, and of what Ray calls the program, in this attempt.
  std::string generated_cluster() const;
  std::string generated_job_id() const;
  std::string service() const { return name() + "-head-svc"; }
};

// What is wrong with the job, where no server has refused it.
std::optional<std::string> ray_job_problem(const RayJob& job);

}  // namespace gangway::jobs
