// What a Job reads off its pods: how they ended, which index they run, what a failure policy asks about. Pure; read
// once a version.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/object.h"
#include "base/time.h"
#include "client/view.h"
#include "controllers/pods.h"

namespace gangway::controllers {

inline constexpr const char* kTrackingFinalizer = "batch.kubernetes.io/job-tracking";
inline constexpr const char* kIndexKey = "batch.kubernetes.io/job-completion-index";  // an annotation, and a label
inline constexpr const char* kIndexFailures = "batch.kubernetes.io/job-index-failure-count";
inline constexpr const char* kIgnoredIndexFailures = "batch.kubernetes.io/job-index-ignored-failure-count";

struct JobPodFacts {
  PodPhase phase = PodPhase::kPending;
  bool ready = false;
  std::optional<std::int64_t> index;
  // How often its index had failed when it was made.
  std::int64_t index_failures = 0;
  std::int64_t ignored_index_failures = 0;
  std::int64_t restarts = 0;  // of all containers
  WallTime ended;             // of a pod that has; otherwise meaningless
  struct Exit {
    std::string container;
    std::int64_t code = 0;
  };
  std::vector<Exit> failures;  // containers first, then init containers; those that ended with another code than 0
  std::vector<std::pair<std::string, std::string>> conditions;  // type and status
};

JobPodFacts read_job_pod(const api::Version& pod);

// A pod of a Job in one look.
struct JobPod {
  api::Version version;
  std::shared_ptr<const JobPodFacts> facts;

  const api::Header& header() const { return *version.header; }
  bool is_tracked() const;
  bool is_terminating() const { return controllers::is_terminating(version) && !has_ended(); }
  bool has_ended() const { return facts->phase == PodPhase::kSucceeded || facts->phase == PodPhase::kFailed; }
  bool has_succeeded() const { return facts->phase == PodPhase::kSucceeded; }
  bool is_active() const { return !has_ended() && !controllers::is_terminating(version); }
};

}  // namespace gangway::controllers
