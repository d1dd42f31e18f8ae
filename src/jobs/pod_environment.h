// Variables and volumes of a pod's containers. Pure edits of a pod that is about to be made.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/value.h"

namespace gangway::jobs {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Appends them to a container; of two variables of one name the later counts.
void add_variables(json::Value& container, const Variables& variables);
// The same, but what it says itself stays.
void add_missing_variables(json::Value& container, const Variables& variables);
// To all containers of the pod.
void add_variables_to_all(json::Value& pod, const Variables& variables);
void add_missing_variables_to_all(json::Value& pod, const Variables& variables);

// Null when it has none.
json::Value* first_container(json::Value& pod);
// That list of it, made where there is none.
json::Array& list_in(json::Object& object, std::string_view key);
// Adds the volume, and its mount in the first container.
void add_volume(json::Value& pod, json::Object volume, std::string_view mount_path);

// What a job's program is told whatever its kind: CHECKPOINT_DIR, where the job says it, and GANGWAY_ATTEMPT, which is
// 1 for the first.
Variables job_variables(const json::Value& job, std::int64_t attempt);

}  // namespace gangway::jobs
