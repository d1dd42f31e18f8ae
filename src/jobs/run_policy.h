// RunPolicy: how a job's pods are run and what becomes of them, as the kinds of kubeflow.org/v1 say it. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"
#include "json/value.h"

namespace gangway::jobs {

// Which pods go when their job has finished.
enum class CleanPods : std::uint8_t { kNone, kRunning, kAll };

struct RunPolicy {
  CleanPods clean = CleanPods::kNone;
  std::optional<Duration> time_to_live;  // after its end
  std::optional<Duration> deadline;      // after its start
  std::optional<std::int64_t> backoff_limit;
  bool is_suspended = false;
  bool is_ours = true;  // nobody else is named as who runs the job
  // Of its gang.
  std::optional<std::int64_t> min_available;
  json::Value min_resources = nullptr;  // a map of quantities, or null
  std::optional<std::int64_t> schedule_timeout_seconds;
};

// From spec.runPolicy, or directly from spec where older tools write it.
RunPolicy read_run_policy(const json::Value& job);

}  // namespace gangway::jobs
