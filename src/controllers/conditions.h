// metav1.Condition-like lists in a status: compare and set, as all of Kubernetes' controllers do it. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "json/value.h"

namespace gangway::controllers {

struct Condition {
  std::string type;
  std::string status;  // "True", "False", "Unknown"
  std::string reason;
  std::string message;
};

// The condition of that type, or null.
const json::Object* find_condition(const json::Value& object, std::string_view type);
// Sets or adds it in `conditions`. lastTransitionTime moves only with the status. True when something changed.
bool set_condition(json::Array& conditions, const Condition& condition, WallTime now);
// status.conditions of `object`, or an empty list.
json::Array conditions_of(const json::Value& object);

}  // namespace gangway::controllers
