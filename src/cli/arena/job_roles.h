// What a training job asks for, whatever its kind: its roles, how many pods of each, and their templates. Pure.
//
// Goes by what an object has, not by its apiVersion, so that one served under another version reads the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace gangway::cli::arena {

struct JobRole {
  std::string name;  // "worker", "launcher", "head": as pods are labelled
  std::int64_t count = 1;
  std::int64_t minimum = 1;  // that are enough to train
  std::int64_t gpus = 0;     // of one pod
  bool is_chief = false;     // its pod speaks for the job
  const json::Value* pod_template = nullptr;
};
std::vector<JobRole> roles_of(const json::Value& job);

// Limits of devices whose names end in /gpu.
std::int64_t gpus_of(const json::Value& pod_spec);
std::string priority_class_of(const json::Value& job);
// The name of the container that trains: the first of the role that speaks for the job.
std::string main_container_of(const json::Value& job);

bool is_suspended(const json::Value& job);
// The merge patch that suspends it or lets it go on.
json::Value suspend_patch(const json::Value& job, bool suspend);

// The worker count of an elastic job, and the merge patch that changes it.
struct Elasticity {
  bool is_elastic = false;
  std::int64_t count = 0;
  std::int64_t minimum = 0;
  std::int64_t maximum = 0;
};
Elasticity elasticity_of(const json::Value& job);
json::Value scale_patch(const json::Value& job, std::int64_t workers);

}  // namespace gangway::cli::arena
