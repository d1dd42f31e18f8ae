// What would become of pods if they were created: the plan that the scheduler would make, in names. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/object.h"
#include "client/view.h"
#include "json/value.h"
#include "scheduler/explain.h"

namespace gangway::scheduler {

struct PlanPreview {
  struct Victim {
    GangName gang;
    std::string how;  // "Shrink", "Fail" or "Requeue"
    std::vector<std::string> pods;
  };
  struct Placed {
    GangName gang;
    std::vector<std::pair<std::string, std::string>> places = {};  // pod, node
    std::vector<Victim> preempts = {};
    std::vector<std::string> waits_for = {};  // pods that are ending already
    std::int64_t lost_gpu_seconds = 0;
  };
  WallTime now = {};
  std::vector<Placed> placed = {};     // in the order of decision
  std::vector<WaitReport> waits = {};  // what would not get a place, and why
  std::vector<std::string> notes = {};
};

// Of a view in which the pods are, as if they had been created.
PlanPreview preview(const client::View& view, const std::set<api::ObjectName>& pods);

std::string to_text(const PlanPreview& preview);
json::Value to_json(const PlanPreview& preview);

}  // namespace gangway::scheduler
