#include "controllers/conditions.h"

namespace gangway::controllers {
namespace {

bool has_text(const json::Object& object, std::string_view key, std::string_view text) {
  const json::Value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) == text : text.empty();
}

}  // namespace

const json::Object* find_condition(const json::Value& object, std::string_view type) {
  const json::Value* list = json::find(object, {"status", "conditions"});
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const json::Value& item : list->get_array())
    if (item.is_object() && has_text(item.get_object(), "type", type)) return &item.get_object();
  return nullptr;
}

bool set_condition(json::Array& conditions, const Condition& condition, WallTime now) {
  for (json::Value& item : conditions) {
    if (!item.is_object() || !has_text(item.get_object(), "type", condition.type)) continue;
    json::Object& known = item.get_object();
    const bool same_status = has_text(known, "status", condition.status);
    if (same_status && has_text(known, "reason", condition.reason) && has_text(known, "message", condition.message))
      return false;
    if (!same_status) known["lastTransitionTime"] = to_rfc3339(now);
    known["status"] = condition.status;
    known["reason"] = condition.reason;
    known["message"] = condition.message;
    return true;
  }
  conditions.push_back(json::Object{{"type", condition.type},
                                    {"status", condition.status},
                                    {"reason", condition.reason},
                                    {"message", condition.message},
                                    {"lastTransitionTime", to_rfc3339(now)}});
  return true;
}

json::Array conditions_of(const json::Value& object) {
  const json::Value* list = json::find(object, {"status", "conditions"});
  return list != nullptr && list->is_array() ? list->get_array() : json::Array();
}

}  // namespace gangway::controllers
