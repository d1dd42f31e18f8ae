// Conditions: status.conditions of an object, a list of {type, status, reason, message, lastTransitionTime}.
//
// The one rule: lastTransitionTime changes when, and only when, the status changes. Pure functions on documents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "json/value.h"

namespace gangway::api {

struct Condition {
  std::string type;
  std::string status;  // "True", "False" or "Unknown"
  std::string reason;
  std::string message;
  std::optional<std::int64_t> observed_generation = std::nullopt;
};

// The condition of that type in `object`'s status.conditions; null when there is none.
const json::Object* find_condition(const json::Value& object, std::string_view type);
// True when the condition exists and has that status.
bool condition_is(const json::Value& object, std::string_view type, std::string_view status);
inline bool condition_is_true(const json::Value& object, std::string_view type) {
  return condition_is(object, type, "True");
}

// Sets the condition, keeping fields that are not ours (lastHeartbeatTime, …). An empty reason or message is left out.
// False when nothing changed, so that the caller need not write.
bool set_condition(json::Value& object, const Condition& condition, WallTime now);
// False when there was none.
bool remove_condition(json::Value& object, std::string_view type);

}  // namespace gangway::api
