#include "scheduler/flight/field_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace gangway::scheduler::flight {

FieldReader::FieldReader(const json::Value& value, std::string path, Problem& problem)
    : path_(std::move(path)), problem_(problem) {
  static const json::Object empty;
  object_ = value.is_object() ? &value.get_object() : &empty;
  if (!value.is_object()) problem_.note(path_.empty() ? "the line" : path_, "must be an object");
}

std::string FieldReader::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const json::Value* FieldReader::find(std::string_view key) {
  const auto at = object_->find(key);
  if (at == object_->end()) return nullptr;
  asked_.insert(at->key());
  return &at->value();
}

bool FieldReader::is_null(std::string_view key) {
  const json::Value* value = find(key);
  return value != nullptr && value->is_null();
}

std::string FieldReader::text(std::string_view key, std::string_view otherwise) {
  const json::Value* value = find(key);
  if (value == nullptr) return std::string(otherwise);
  if (value->is_string()) return std::string(std::string_view(value->get_string()));
  wrong(key, "must be a string");
  return std::string(otherwise);
}

std::string FieldReader::required_text(std::string_view key) {
  std::string value = text(key);
  if (value.empty()) wrong(key, "is required");
  return value;
}

std::int64_t FieldReader::number(std::string_view key, std::int64_t otherwise, std::int64_t least) {
  const json::Value* value = find(key);
  if (value == nullptr) return otherwise;
  if (!value->is_int64()) {
    wrong(key, "must be a whole number");
    return otherwise;
  }
  if (value->get_int64() < least) wrong(key, fmt::format("must be at least {} (got {})", least, value->get_int64()));
  return std::max(least, value->get_int64());
}

bool FieldReader::flag(std::string_view key) {
  const json::Value* value = find(key);
  if (value == nullptr) return false;
  if (!value->is_bool()) wrong(key, "must be true or false");
  return value->is_bool() && value->get_bool();
}

WallTime FieldReader::time(std::string_view key, WallTime otherwise) {
  if (!has(key)) return otherwise;
  const auto time = parse_rfc3339(text(key));
  if (!time) wrong(key, time.error().message);
  return time.value_or(otherwise);
}

Duration FieldReader::duration(std::string_view key) {
  if (!has(key)) return {};
  const auto duration = parse_duration(text(key));
  if (!duration) wrong(key, duration.error().message);
  return duration.value_or(Duration());
}

std::vector<std::string> FieldReader::texts(std::string_view key) {
  std::vector<std::string> all;
  for (const json::Value& item : items(key)) {
    if (!item.is_string()) {
      wrong(key, "must be a list of strings");
      break;
    }
    all.emplace_back(std::string_view(item.get_string()));
  }
  return all;
}

planning::Labels FieldReader::labels(std::string_view key) {
  planning::Labels labels;
  for (const auto& [name, value] : members(key)) {
    if (value->is_string()) {
      labels.emplace_back(name, std::string_view(value->get_string()));
    } else {
      problem_.note(path_of(key) + "." + name, "must be a string");
    }
  }
  std::sort(labels.begin(), labels.end());
  return labels;
}

std::vector<std::pair<std::string, const json::Value*>> FieldReader::members(std::string_view key) {
  std::vector<std::pair<std::string, const json::Value*>> all;
  const json::Value* value = find(key);
  if (value == nullptr) return all;
  if (!value->is_object()) {
    wrong(key, "must be an object");
    return all;
  }
  for (const auto& member : value->get_object())
    all.emplace_back(std::string(std::string_view(member.key())), &member.value());
  return all;
}

const json::Array& FieldReader::items(std::string_view key) {
  static const json::Array empty;
  const json::Value* value = find(key);
  if (value == nullptr) return empty;
  if (value->is_array()) return value->get_array();
  wrong(key, "must be a list");
  return empty;
}

std::size_t FieldReader::place_of(std::string_view key, const std::vector<std::string_view>& words,
                                  std::size_t otherwise) {
  if (!has(key)) return otherwise;
  const std::string value = text(key);
  const auto at = std::find(words.begin(), words.end(), value);
  if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
  wrong(key, fmt::format("must be one of {} (got \"{}\")", fmt::join(words, ", "), value));
  return otherwise;
}

void FieldReader::finish() {
  for (const auto& member : *object_)
    if (!asked_.contains(member.key())) wrong(std::string_view(member.key()), "is no field that is known here");
}

}  // namespace gangway::scheduler::flight
