// JSON documents as trees. A tree lives only while one request edits it; what is kept is bytes (api/object.h).
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace gangway::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;
using Kind = boost::json::kind;

struct ParseLimits {
  std::size_t max_bytes = 3 * 1024 * 1024;
  std::size_t max_depth = 64;
};

// Duplicate keys of an object keep the last value; their paths (as "spec.replicas") are reported through `duplicates`
// when it is given.
Result<Value> parse(std::string_view text, const ParseLimits& limits = {},
                    std::vector<std::string>* duplicates = nullptr);
// The same, with the tree in `storage`: a boost::json::monotonic_resource makes a tree that is only read, and is thrown
// away as a whole, about a third cheaper.
Result<Value> parse(std::string_view text, const ParseLimits& limits, std::vector<std::string>* duplicates,
                    boost::json::storage_ptr storage);
// Compact; numbers are written as Go writes them. serialize_to and append_quoted append; append_quoted writes one
// string with its quotes.
std::string serialize(const Value& value);
void serialize_to(const Value& value, std::string& out);
void append_quoted(std::string_view text, std::string& out);

// Deep equality that knows only JSON's one number type: 1, 1u and 1.0 are equal. The order of keys does not matter.
bool equal(const Value& a, const Value& b);

// Walks `path` (one key a step, no arrays); null when a step is missing or is not an object.
const Value* find(const Value& root, std::initializer_list<std::string_view> path);
Value* find(Value& root, std::initializer_list<std::string_view> path);
// The string at `path`, or "" when there is none.
std::string_view string_at(const Value& root, std::initializer_list<std::string_view> path);
// What is at `path`, or nothing of its kind: an empty list, an empty object, `otherwise`.
const Array& array_at(const Value& root, std::initializer_list<std::string_view> path);
const Object& map_at(const Value& root, std::initializer_list<std::string_view> path);
std::int64_t integer_at(const Value& root, std::initializer_list<std::string_view> path, std::int64_t otherwise = 0);
bool flag_at(const Value& root, std::initializer_list<std::string_view> path);
// The object at `path`, made (with its parents) when it is missing or null.
Object& object_at(Value& root, std::initializer_list<std::string_view> path);

}  // namespace gangway::json
