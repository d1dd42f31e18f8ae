// Laws of JSON documents that several fuzz targets check.
#pragma once

#include <algorithm>
#include <cstddef>

#include "fuzz.h"
#include "json/value.h"

namespace gangway::fuzz {

// Objects and arrays inside each other; a scalar has depth 0.
inline std::size_t depth_of(const json::Value& value) {
  std::size_t inner = 0;
  if (const auto* object = value.if_object()) {
    for (const auto& member : *object) inner = std::max(inner, depth_of(member.value()));
  } else if (const auto* array = value.if_array()) {
    for (const auto& item : *array) inner = std::max(inner, depth_of(item));
  } else {
    return 0;
  }
  return inner + 1;
}

// What was accepted once can be stored and read again: a document that breaks this would be lost at a restart.
inline void check_storable(const json::Value& value) {
  const auto text = json::serialize(value);
  const auto again = json::parse(text, {.max_bytes = text.size(), .max_depth = json::ParseLimits().max_depth});
  FUZZ_LAW(again.has_value(), text);
  FUZZ_LAW(json::equal(*again, value), text);
  // Only "-0" is read as another number than was written; what is written then stays.
  const auto settled = json::serialize(*again);
  const auto third = json::parse(settled);
  FUZZ_LAW(third && json::serialize(*third) == settled, settled);
}

inline bool has_null(const json::Value& value) {
  if (value.is_null()) return true;
  if (const auto* object = value.if_object())
    return std::any_of(object->begin(), object->end(), [](const auto& member) { return has_null(member.value()); });
  return false;
}

}  // namespace gangway::fuzz
