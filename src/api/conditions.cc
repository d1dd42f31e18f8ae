#include "api/conditions.h"

namespace gangway::api {
namespace {

json::Array* conditions_of(json::Value& object) {
  auto* list = json::find(object, {"status", "conditions"});
  return list != nullptr && list->is_array() ? &list->get_array() : nullptr;
}

std::string_view text_at(const json::Object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  if (value == nullptr || !value->is_string()) return {};
  return {value->get_string().data(), value->get_string().size()};
}

json::Object* find_mutable(json::Value& object, std::string_view type) {
  return const_cast<json::Object*>(find_condition(object, type));  // NOLINT: the object itself is mutable
}

// Sets or, for an empty text, removes.
bool update_text(json::Object& object, std::string_view key, std::string_view text) {
  if (text_at(object, key) == text) return false;
  if (text.empty()) {
    object.erase(key);
  } else {
    object[key] = text;
  }
  return true;
}

}  // namespace

const json::Object* find_condition(const json::Value& object, std::string_view type) {
  const auto* list = json::find(object, {"status", "conditions"});
  if (list == nullptr || !list->is_array()) return nullptr;
  for (const auto& condition : list->get_array()) {
    if (condition.is_object() && text_at(condition.get_object(), "type") == type) return &condition.get_object();
  }
  return nullptr;
}

bool condition_is(const json::Value& object, std::string_view type, std::string_view status) {
  const auto* condition = find_condition(object, type);
  return condition != nullptr && text_at(*condition, "status") == status;
}

bool set_condition(json::Value& object, const Condition& condition, WallTime now) {
  auto* existing = find_mutable(object, condition.type);
  if (existing == nullptr) {
    auto& list = json::object_at(object, {"status"})["conditions"];
    if (!list.is_array()) list = json::Array();
    existing = &list.get_array().emplace_back(json::Object{{"type", condition.type}}).get_object();
  }
  bool changed = update_text(*existing, "status", condition.status);
  if (changed) (*existing)["lastTransitionTime"] = to_rfc3339(now);
  changed |= update_text(*existing, "reason", condition.reason);
  changed |= update_text(*existing, "message", condition.message);
  if (condition.observed_generation) {
    auto& generation = (*existing)["observedGeneration"];
    if (generation != *condition.observed_generation) {
      generation = *condition.observed_generation;
      changed = true;
    }
  }
  return changed;
}

bool remove_condition(json::Value& object, std::string_view type) {
  auto* list = conditions_of(object);
  auto* condition = find_mutable(object, type);
  if (list == nullptr || condition == nullptr) return false;
  for (auto at = list->begin(); at != list->end(); ++at) {
    if (at->is_object() && &at->get_object() == condition) {
      list->erase(at);
      return true;
    }
  }
  return false;
}

}  // namespace gangway::api
