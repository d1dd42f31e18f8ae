#include "jobs/job_conditions.h"

#include <utility>

namespace gangway::jobs {
namespace {

bool puts_out(std::string_view set, std::string_view present) {
  return set == present || (set == kJobRunning && present == kJobRestarting) ||
         (set == kJobRestarting && present == kJobRunning);
}

}  // namespace

JobConditions::JobConditions(json::Array list, std::string_view kind, WallTime now)
    : list_(std::move(list)), kind_(kind), now_(to_rfc3339(now)) {}

const json::Value* JobConditions::find(std::string_view type) const {
  for (const json::Value& item : list_)
    if (json::string_at(item, {"type"}) == type) return &item;
  return nullptr;
}

bool JobConditions::is_true(std::string_view type) const {
  const json::Value* present = find(type);
  return present != nullptr && json::string_at(*present, {"status"}) == "True";
}

bool JobConditions::set(std::string_view type, bool status, std::string_view word, std::string_view message) {
  return set_because(type, status, kind_ + std::string(word), message);
}

bool JobConditions::set_because(std::string_view type, bool status, std::string_view reason, std::string_view message) {
  if (is_true(kJobFailed)) return false;
  const std::string_view text = status ? "True" : "False";
  std::string since = now_;
  if (const json::Value* present = find(type); present != nullptr && json::string_at(*present, {"status"}) == text) {
    if (json::string_at(*present, {"reason"}) == reason) return false;
    since = json::string_at(*present, {"lastTransitionTime"});
  }
  json::Array kept;
  for (json::Value& item : list_) {
    const std::string_view present = json::string_at(item, {"type"});
    if (puts_out(type, present)) continue;
    const bool ends = type == kJobSucceeded || type == kJobFailed;
    if (ends && present == kJobRunning && item.is_object()) item.get_object()["status"] = "False";
    kept.push_back(std::move(item));
  }
  kept.push_back(json::Object{{"type", type},
                              {"status", text},
                              {"reason", reason},
                              {"message", message},
                              {"lastUpdateTime", now_},
                              {"lastTransitionTime", since}});
  list_ = std::move(kept);
  return true;
}

}  // namespace gangway::jobs
