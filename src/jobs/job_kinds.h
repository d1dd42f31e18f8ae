// The kinds of training jobs that are known, and how each is seen as a Trainable. A new kind is one entry here, its
// file pair and its YAML. Pure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "jobs/trainable.h"

namespace gangway::jobs {

struct JobKind {
  client::Resource resource;
  std::string_view kind;
  // `tree` is the job's JSON, `pods` those that it controls, itself or through what it makes.
  Trainable (*read)(const api::Version& job, const json::Value& tree, const std::vector<api::Version>& pods);
};

std::span<const JobKind> job_kinds();
// Null when it is not a training job.
const JobKind* find_job_kind(std::string_view group, std::string_view kind);

}  // namespace gangway::jobs
