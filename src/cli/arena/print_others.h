// Events, claims and logs of jobs, as text. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/arena/job_view.h"
#include "json/value.h"

namespace gangway::cli::arena {

// Events of a job and of its pods, those that are gone included; the oldest first.
std::vector<json::Value> events_of(const JobView& job, std::vector<json::Value> events);
// "  SOURCE  TYPE  AGE  MESSAGE" and a line an event.
std::string events_text(const std::vector<json::Value>& events, WallTime now);

std::string claims_text(const std::vector<json::Value>& claims, bool with_namespace, WallTime now);
json::Value claims_json(const std::vector<json::Value>& claims, WallTime now);

struct LogFlags {
  std::string instance, container, since, since_time;
  std::int64_t tail = -1;
  bool follow = false, timestamps = false;
  std::optional<std::int64_t> attempt;
};
// Which instance's log is meant; an error says which there are.
Result<Instance> log_instance(const JobView& job, const std::string& wanted);
// A pod of an earlier attempt, which is gone.
struct EarlierPod {
  std::string name, uid, node;
};
// The pod that was in the place of `instance` in attempt `attempt`, from the events of the job (events_of), oldest
// first: the first that was given a node was of the first attempt. An error says which attempts are known.
Result<EarlierPod> earlier_pod(const Instance& instance, std::int64_t attempt, const std::vector<json::Value>& events);

// The query of the pod's log: "?follow=true&…". `pod` is the instance's, for how often it was restarted.
Result<std::string> log_query(const LogFlags& flags, const json::Value& pod);

}  // namespace gangway::cli::arena
