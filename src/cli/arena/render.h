// A submission as objects: what `arena submit` creates, in the order in which it does. Pure.
//
// The record (a ConfigMap) comes first and the job last; everything else is the job's and goes with it.
#pragma once

#include <string>
#include <vector>

#include "api/gang.h"
#include "cli/arena/submission.h"
#include "json/value.h"

namespace gangway::cli::arena {

using api::kMaxWorkers;
using api::kMinWorkers;
inline constexpr std::string_view kQueueLabel = "kueue.x-k8s.io/queue-name";

struct Rendered {
  json::Value record;
  std::vector<json::Value> helpers;  // files, TensorBoard
  json::Value job;
};
Rendered render(const Submission& submission);

// "demo-mpijob"
std::string record_name(const std::string& job, JobType type);

}  // namespace gangway::cli::arena
