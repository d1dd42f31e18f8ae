#include "json/value.h"

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <cstring>
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

// Bytes that may not stand in a JSON string as they are: controls, the quote and the backslash.
constexpr auto kNeedsEscape = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0; byte < 0x20; ++byte) table[byte] = true;
  table['"'] = table['\\'] = true;
  return table;
}();

// The same for eight bytes at once. A byte subtracted below zero borrows its high bit, which the complement of the word
// lets through only where it was not set before.
bool any_needs_escape(const char* eight) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x8080808080808080;
  std::uint64_t word = 0;
  std::memcpy(&word, eight, sizeof word);
  const std::uint64_t control = (word - kOnes * 0x20) & ~word;
  const std::uint64_t quote = word ^ kOnes * '"';
  const std::uint64_t backslash = word ^ kOnes * '\\';
  return ((control | ((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash)) & kHigh) != 0;
}

// Whether the text may stand between quotes as it is, which nearly all do.
bool is_plain(std::string_view text) {
  if (text.size() < 8) {
    return std::none_of(text.begin(), text.end(), [](char c) { return kNeedsEscape[static_cast<unsigned char>(c)]; });
  }
  // The last eight bytes may overlap the ones before.
  for (std::size_t at = 0; at + 8 < text.size(); at += 8)
    if (any_needs_escape(text.data() + at)) return false;
  return !any_needs_escape(text.data() + text.size() - 8);
}

void append_escape(unsigned char byte, std::string& out) {
  constexpr char kHex[] = "0123456789abcdef";
  switch (byte) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    case '\b':
      out += "\\b";
      return;
    case '\f':
      out += "\\f";
      return;
    default:
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
  }
}

template <class Integer>
void append_integer(Integer number, std::string& out) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// As Go's encoding/json: the shortest digits that read back as the same number; plain in the range that people read,
// with an exponent outside of it.
void append_double(double number, std::string& out) {
  char digits[40];
  const double size = std::abs(number);
  if (size == 0 || (size >= 1e-6 && size < 1e15)) {
    out.append(digits, std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed).ptr);
    return;
  }
  char* end = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific).ptr;
  if (size >= 1e15 && size < 1e21) {
    // to_chars' fixed form has all digits of the number, the shortest form pads with zeros.
    char* exponent = std::find(digits, end, 'e');
    std::string plain(digits, exponent);
    std::erase(plain, '.');
    const std::size_t before_point = static_cast<std::size_t>((exponent[2] - '0') * 10 + exponent[3] - '0') + 1;
    plain.resize(std::max(plain.size(), before_point + (number < 0 ? 1 : 0)), '0');
    if (const std::size_t point = before_point + (number < 0 ? 1 : 0); point < plain.size()) plain.insert(point, ".");
    out += plain;
    return;
  }
  if (end[-4] == 'e' && end[-3] == '-' && end[-2] == '0') {
    end[-2] = end[-1];  // e-09 is written e-9
    --end;
  }
  out.append(digits, end);
}

void append_array(const Array& array, std::string& out) {
  out += '[';
  for (const Value& item : array) {
    if (&item != array.data()) out += ',';
    serialize_to(item, out);
  }
  out += ']';
}

void append_object(const Object& object, std::string& out) {
  out += '{';
  for (auto member = object.begin(); member != object.end(); ++member) {
    if (member != object.begin()) out += ',';
    append_quoted({member->key().data(), member->key().size()}, out);
    out += ':';
    serialize_to(member->value(), out);
  }
  out += '}';
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

void append_quoted(std::string_view text, std::string& out) {
  out += '"';
  if (is_plain(text)) {
    out += text;
    out += '"';
    return;
  }
  const char* plain = text.data();
  const char* const end = plain + text.size();
  for (const char* at = plain; at != end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (!kNeedsEscape[byte]) continue;
    out.append(plain, at);
    append_escape(byte, out);
    plain = at + 1;
  }
  out.append(plain, end);
  out += '"';
}

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

void serialize_to(const Value& value, std::string& out) {
  switch (value.kind()) {
    case Kind::null:
      out += "null";
      return;
    case Kind::bool_:
      out += value.get_bool() ? "true" : "false";
      return;
    case Kind::int64:
      return append_integer(value.get_int64(), out);
    case Kind::uint64:
      return append_integer(value.get_uint64(), out);
    case Kind::double_:
      return append_double(value.get_double(), out);
    case Kind::string:
      return append_quoted({value.get_string().data(), value.get_string().size()}, out);
    case Kind::array:
      return append_array(value.get_array(), out);
    case Kind::object:
      return append_object(value.get_object(), out);
  }
}

std::string serialize(const Value& value) {
  std::string text;
  if (value.is_structured()) text.reserve(4096);
  serialize_to(value, text);
  return text;
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
