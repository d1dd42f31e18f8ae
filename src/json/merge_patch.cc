#include "json/merge_patch.h"

namespace gangway::json {

void apply_merge_patch(Value& target, const Value& patch) {
  const Object* changes = patch.if_object();
  if (changes == nullptr) {
    target = patch;
    return;
  }
  if (!target.is_object()) target.emplace_object();
  Object& object = target.get_object();
  for (const auto& change : *changes) {
    if (change.value().is_null()) {
      if (const auto found = object.find(change.key()); found != object.end()) object.stable_erase(found);
    } else {
      apply_merge_patch(object[change.key()], change.value());
    }
  }
}

Value make_merge_patch(const Value& from, const Value& to) {
  if (!from.is_object() || !to.is_object()) return to;
  Object patch;
  for (const auto& member : from.get_object()) {
    if (!to.get_object().contains(member.key())) patch[member.key()] = nullptr;
  }
  for (const auto& member : to.get_object()) {
    const Value* before = from.get_object().if_contains(member.key());
    if (before == nullptr) {
      patch[member.key()] = member.value();
    } else if (!equal(*before, member.value())) {
      patch[member.key()] = make_merge_patch(*before, member.value());
    }
  }
  return patch;
}

}  // namespace gangway::json
