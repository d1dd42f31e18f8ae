#include "json/value.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <unordered_set>

namespace gangway::json {
namespace {

using boost::json::error_code;
using boost::json::string_view;

struct HandlerLimits {
  static constexpr std::size_t max_object_size = Object::max_size();
  static constexpr std::size_t max_array_size = Array::max_size();
  static constexpr std::size_t max_key_size = boost::json::string::max_size();
  static constexpr std::size_t max_string_size = boost::json::string::max_size();
};

// Builds the tree. It differs from Boost's own handler in two points: it counts keys, so that a document without
// duplicates is recognised at no cost, and it reads doubles exactly (Boost 1.81 may be one bit off).
struct TreeHandler : HandlerLimits {
  boost::json::value_stack stack;
  std::size_t keys = 0;

  explicit TreeHandler(boost::json::storage_ptr storage, unsigned char* buffer, std::size_t size)
      : stack({}, buffer, size) {
    stack.reset(std::move(storage));
  }
  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t size, error_code&) {
    keys += size;
    stack.push_object(size);
    return true;
  }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t size, error_code&) {
    stack.push_array(size);
    return true;
  }
  bool on_key_part(string_view part, std::size_t, error_code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_key(string_view rest, std::size_t, error_code&) {
    stack.push_key(rest);
    return true;
  }
  bool on_string_part(string_view part, std::size_t, error_code&) {
    stack.push_chars(part);
    return true;
  }
  bool on_string(string_view rest, std::size_t, error_code&) {
    stack.push_string(rest);
    return true;
  }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t number, string_view, error_code&) {
    stack.push_int64(number);
    return true;
  }
  bool on_uint64(std::uint64_t number, string_view, error_code&) {
    stack.push_uint64(number);
    return true;
  }
  bool on_double(double number, string_view text, error_code& error) {
    double exact = number;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), exact);
    // Too small for a double is zero, as in Go; from_chars reports both ends with the same error.
    if (status == std::errc::result_out_of_range) exact = std::abs(number) < 1 ? 0.0 : HUGE_VAL;
    if (!std::isfinite(exact)) {
      error = boost::json::error::exponent_overflow;
      return false;
    }
    stack.push_double(exact);
    return true;
  }
  bool on_bool(bool value, error_code&) {
    stack.push_bool(value);
    return true;
  }
  bool on_null(error_code&) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
};

// Reads a document a second time to name its duplicate keys; only used once a duplicate is known to exist.
struct DuplicateHandler : HandlerLimits {
  struct Level {
    bool is_array = false;
    std::size_t index = 0;
    std::string key;
    std::unordered_set<std::string> seen;
  };
  std::vector<Level> levels;
  std::string partial;
  std::vector<std::string> found;

  std::string path() const {
    std::string text;
    for (const Level& level : levels) {
      if (level.is_array) {
        text += '[' + std::to_string(level.index) + ']';
      } else {
        if (!text.empty()) text += '.';
        text += level.key;
      }
    }
    return text;
  }
  bool value_done() {
    if (!levels.empty() && levels.back().is_array) ++levels.back().index;
    return true;
  }
  bool open(bool is_array) {
    levels.emplace_back().is_array = is_array;
    return true;
  }
  bool close() {
    levels.pop_back();
    return value_done();
  }
  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return open(false); }
  bool on_object_end(std::size_t, error_code&) { return close(); }
  bool on_array_begin(error_code&) { return open(true); }
  bool on_array_end(std::size_t, error_code&) { return close(); }
  bool on_key_part(string_view part, std::size_t, error_code&) {
    partial.append(part.data(), part.size());
    return true;
  }
  bool on_key(string_view rest, std::size_t, error_code&) {
    partial.append(rest.data(), rest.size());
    Level& level = levels.back();
    level.key = std::move(partial);
    partial.clear();
    if (!level.seen.insert(level.key).second) {
      std::string where = path();
      if (std::find(found.begin(), found.end(), where) == found.end()) found.push_back(std::move(where));
    }
    return true;
  }
  bool on_string_part(string_view, std::size_t, error_code&) { return true; }
  bool on_string(string_view, std::size_t, error_code&) { return value_done(); }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, string_view, error_code&) { return value_done(); }
  bool on_uint64(std::uint64_t, string_view, error_code&) { return value_done(); }
  bool on_double(double, string_view, error_code&) { return value_done(); }
  bool on_bool(bool, error_code&) { return value_done(); }
  bool on_null(error_code&) { return value_done(); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
};

std::size_t count_keys(const Value& value) {
  std::size_t count = 0;
  if (const Object* object = value.if_object()) {
    count = object->size();
    for (const auto& member : *object)
      if (member.value().is_structured()) count += count_keys(member.value());
  } else if (const Array* array = value.if_array()) {
    for (const Value& item : *array)
      if (item.is_structured()) count += count_keys(item);
  }
  return count;
}

std::string position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0: the first line
  return "line " + std::to_string(line) + " column " + std::to_string(before.size() - line_start + 1) + " (offset " +
         std::to_string(before.size()) + ")";
}

Error parse_error(std::string_view text, std::size_t offset, const error_code& code, const ParseLimits& limits) {
  if (code == boost::json::error::too_deep) {
    return bad_request("JSON is nested deeper than " + std::to_string(limits.max_depth) + " levels, at " +
                       position_of(text, offset));
  }
  std::string what = code.message();
  if (code == boost::json::error::exponent_overflow) what = "number too large";
  if (code == boost::json::error::incomplete) what = "unexpected end of JSON input";
  return bad_request("JSON: " + what + ", at " + position_of(text, offset));
}

boost::json::parse_options options_of(const ParseLimits& limits) {
  boost::json::parse_options options;
  options.max_depth = limits.max_depth;
  return options;
}

std::vector<std::string> find_duplicates(std::string_view text, const ParseLimits& limits) {
  boost::json::basic_parser<DuplicateHandler> parser(options_of(limits));
  error_code code;
  parser.write_some(false, text.data(), text.size(), code);
  return std::move(parser.handler().found);
}

bool equal_numbers(const Value& a, const Value& b) {
  if (a.is_double() || b.is_double()) return a.to_number<double>() == b.to_number<double>();
  // The parser only makes a uint64 where an int64 does not fit, but code may make a small one.
  if (a.is_int64() && b.is_int64()) return a.get_int64() == b.get_int64();
  if (a.is_uint64() && b.is_uint64()) return a.get_uint64() == b.get_uint64();
  const std::int64_t number = a.is_int64() ? a.get_int64() : b.get_int64();
  const std::uint64_t other = a.is_uint64() ? a.get_uint64() : b.get_uint64();
  return number >= 0 && static_cast<std::uint64_t>(number) == other;
}

bool equal_objects(const Object& a, const Object& b) {
  if (a.size() != b.size()) return false;
  auto same_place = b.begin();
  for (const auto& member : a) {
    // Objects that came from one source mostly have their keys in one order, which saves the look-up.
    const Value* other = same_place->key() == member.key() ? &same_place->value() : b.if_contains(member.key());
    if (other == nullptr || !equal(member.value(), *other)) return false;
    ++same_place;
  }
  return true;
}

}  // namespace

Result<Value> parse(std::string_view text, const ParseLimits& limits, std::vector<std::string>* duplicates,
                    boost::json::storage_ptr storage) {
  if (text.size() > limits.max_bytes) {
    Error error = bad_request("JSON is too large: " + std::to_string(text.size()) + " bytes, at most " +
                              std::to_string(limits.max_bytes) + " are allowed");
    error.reason = Reason::kRequestEntityTooLarge;
    return error;
  }
  unsigned char buffer[8192];
  boost::json::basic_parser<TreeHandler> parser(options_of(limits), std::move(storage), buffer, sizeof buffer);
  error_code code;
  const std::size_t consumed = parser.write_some(false, text.data(), text.size(), code);
  if (!code && consumed < text.size()) code = boost::json::error::extra_data;
  if (code) return parse_error(text, consumed, code, limits);
  Value value = parser.handler().stack.release();
  if (duplicates != nullptr && parser.handler().keys != count_keys(value)) *duplicates = find_duplicates(text, limits);
  return value;
}

Result<Value> parse(std::string_view text, const ParseLimits& limits, std::vector<std::string>* duplicates) {
  return parse(text, limits, duplicates, {});
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::object:
      return equal_objects(a.get_object(), b.get_object());
    case Kind::array: {
      const Array& left = a.get_array();
      const Array& right = b.get_array();
      return left.size() == right.size() && std::equal(left.begin(), left.end(), right.begin(), equal);
    }
    case Kind::string:
      return a.get_string() == b.get_string();
    case Kind::bool_:
      return a.get_bool() == b.get_bool();
    default:
      return true;
  }
}

const Value* find(const Value& root, std::initializer_list<std::string_view> path) {
  const Value* at = &root;
  for (const std::string_view key : path) {
    const Object* object = at->if_object();
    if (object == nullptr) return nullptr;
    at = object->if_contains(key);
    if (at == nullptr) return nullptr;
  }
  return at;
}

Value* find(Value& root, std::initializer_list<std::string_view> path) {
  return const_cast<Value*>(find(std::as_const(root), path));
}

std::string_view string_at(const Value& root, std::initializer_list<std::string_view> path) {
  const Value* at = find(root, path);
  if (at == nullptr || !at->is_string()) return {};
  return {at->get_string().data(), at->get_string().size()};
}

const Array& array_at(const Value& root, std::initializer_list<std::string_view> path) {
  static const Array kNone;
  const Value* at = find(root, path);
  return at != nullptr && at->is_array() ? at->get_array() : kNone;
}

const Object& map_at(const Value& root, std::initializer_list<std::string_view> path) {
  static const Object kNone;
  const Value* at = find(root, path);
  return at != nullptr && at->is_object() ? at->get_object() : kNone;
}

std::int64_t integer_at(const Value& root, std::initializer_list<std::string_view> path, std::int64_t otherwise) {
  const Value* at = find(root, path);
  if (at == nullptr) return otherwise;
  if (at->is_int64()) return at->get_int64();
  return at->is_uint64() ? static_cast<std::int64_t>(at->get_uint64()) : otherwise;
}

bool flag_at(const Value& root, std::initializer_list<std::string_view> path) {
  const Value* at = find(root, path);
  return at != nullptr && at->is_bool() && at->get_bool();
}

Object& object_at(Value& root, std::initializer_list<std::string_view> path) {
  Value* at = &root;
  for (const std::string_view key : path) {
    if (!at->is_object()) at->emplace_object();
    // operator[] makes room before it looks: it would move what is there, and others may hold on to that.
    Object& object = at->get_object();
    Value* present = object.if_contains(key);
    at = present != nullptr ? present : &object[key];
  }
  if (!at->is_object()) at->emplace_object();
  return at->get_object();
}

}  // namespace gangway::json
