// Amounts and changes in the words of users, and as documents for programs. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "json/value.h"
#include "planning/snapshot.h"
#include "scheduler/changes.h"
#include "scheduler/what_if.h"

namespace gangway::scheduler {

// "1500m", "16Gi", "4".
std::string amount_text(planning::ResourceId resource, std::int64_t amount);
// "4 nvidia.com/gpu, 1 cpu": devices first; without the one of "pods".
std::string request_text(const planning::ResourceNames& names, const planning::Request& request);
std::int64_t gpus_of(const planning::Snapshot& snapshot, const planning::Pod& pod);
// "4 GPUs", "1 GPU"; "3 pods" where there are none.
std::string size_text(std::int64_t gpus, std::size_t pods);

// "delete or wait for default/train-b (4 GPUs)". What it refers to is of `snapshot`, which the change was found on.
std::string text_of(const planning::Snapshot& snapshot, const Asker& asker, const Step& step);
// {"kind": "lower-request", "resource": …}: what the text says, for programs.
json::Value to_json(const planning::Snapshot& snapshot, const Asker& asker, const Step& step);

}  // namespace gangway::scheduler
