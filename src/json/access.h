// Small readers of documents that never fail: what is missing or of another type reads as nothing. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace gangway::json {

using Path = std::initializer_list<std::string_view>;

inline std::int64_t int_at(const Value& root, Path path, std::int64_t otherwise = 0) {
  const Value* value = find(root, path);
  return value != nullptr && value->is_int64() ? value->get_int64() : otherwise;
}

inline bool bool_at(const Value& root, Path path, bool otherwise = false) {
  const Value* value = find(root, path);
  return value != nullptr && value->is_bool() ? value->get_bool() : otherwise;
}

inline const Object& members_at(const Value& root, Path path) {
  static const Object empty;
  const Value* value = find(root, path);
  return value != nullptr && value->is_object() ? value->get_object() : empty;
}

inline std::vector<std::string> strings_at(const Value& root, Path path) {
  std::vector<std::string> strings;
  for (const Value& item : array_at(root, path)) {
    if (item.is_string()) strings.emplace_back(item.get_string());
  }
  return strings;
}

}  // namespace gangway::json
