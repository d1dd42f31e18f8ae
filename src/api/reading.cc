#include "api/reading.h"

#include <fmt/format.h>

namespace gangway::api {

Reading::Reading(const json::Value* value, std::string path, Problems& problems)
    : value_(value && value->is_null() ? nullptr : value), path_(std::move(path)), problems_(&problems) {}

void Reading::refuse(std::string message) const {
  problems_->push_back(Cause{"FieldValueInvalid", std::move(message), path_});
}

void Reading::refuse_type(std::string_view wanted) const {
  refuse(fmt::format("must be {} (got {})", wanted, json::serialize(*value_).substr(0, 64)));
}

Reading Reading::operator[](std::string_view key) const {
  auto path = path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
  if (value_ && !value_->is_object()) refuse_type("an object");
  return {value_ && value_->is_object() ? value_->get_object().if_contains(key) : nullptr, std::move(path), *problems_};
}

std::vector<Reading> Reading::items() const {
  std::vector<Reading> items;
  if (!value_) return items;
  if (!value_->is_array()) {
    refuse_type("a list");
    return items;
  }
  for (const auto& item : value_->get_array())
    items.push_back(Reading(&item, fmt::format("{}[{}]", path_, items.size()), *problems_));
  return items;
}

std::vector<std::pair<std::string, Reading>> Reading::entries() const {
  std::vector<std::pair<std::string, Reading>> entries;
  if (!value_) return entries;
  if (!value_->is_object()) {
    refuse_type("an object");
    return entries;
  }
  for (const auto& [key, value] : value_->get_object())
    entries.emplace_back(key, Reading(&value, fmt::format("{}[{}]", path_, std::string_view(key)), *problems_));
  return entries;
}

std::string Reading::text() const {
  if (!value_) return {};
  if (value_->is_string()) return std::string(value_->get_string());
  refuse_type("a string");
  return {};
}

std::string Reading::required_text() const {
  auto read = text();
  if (read.empty() && (!value_ || value_->is_string())) refuse("is missing");
  return read;
}

std::optional<std::int64_t> Reading::optional_integer() const {
  if (!value_) return std::nullopt;
  if (value_->is_int64()) return value_->get_int64();
  refuse_type("an integer");
  return std::nullopt;
}

bool Reading::flag(bool otherwise) const {
  if (!value_) return otherwise;
  if (value_->is_bool()) return value_->get_bool();
  refuse_type("true or false");
  return otherwise;
}

std::optional<Quantity> Reading::quantity() const {
  if (!value_) return std::nullopt;
  const bool may_be = value_->is_string() || value_->is_number();
  auto parsed =
      may_be ? Quantity::parse(value_->is_string() ? std::string(value_->get_string()) : json::serialize(*value_))
             : Result<Quantity>(bad_request(""));
  if (parsed) return std::move(*parsed);
  refuse_type("an amount");
  return std::nullopt;
}

std::optional<WallTime> Reading::time() const {
  if (!value_) return std::nullopt;
  if (auto parsed = parse_rfc3339(value_->is_string() ? std::string_view(value_->get_string()) : std::string_view()))
    return *parsed;
  refuse_type("a time");
  return std::nullopt;
}

std::vector<std::string> Reading::texts() const {
  std::vector<std::string> texts;
  for (const auto& item : items()) texts.push_back(item.text());
  return texts;
}

std::vector<std::pair<std::string, std::string>> Reading::text_map() const {
  std::vector<std::pair<std::string, std::string>> map;
  for (const auto& [key, value] : entries()) map.emplace_back(key, value.text());
  return map;
}

std::vector<std::pair<std::string, Quantity>> Reading::amounts() const {
  std::vector<std::pair<std::string, Quantity>> amounts;
  for (const auto& [key, value] : entries()) {
    if (auto quantity = value.quantity()) amounts.emplace_back(key, std::move(*quantity));
  }
  return amounts;
}

Error problems_of(std::string_view kind, const json::Value& object, std::vector<Cause> problems) {
  const auto name = json::string_at(object, {"metadata", "name"});
  const auto ns = json::string_at(object, {"metadata", "namespace"});
  Error error;
  error.reason = Reason::kInvalid;
  error.message = fmt::format("{} {}{}{}: ", kind, ns, ns.empty() ? "" : "/", name);
  for (const auto& problem : problems) {
    if (&problem != problems.data()) error.message += "; ";
    error.message += fmt::format("{}: {}", problem.field, problem.message);
  }
  error.subject.kind = kind;
  error.subject.name = name;
  error.causes = std::move(problems);
  return error;
}

}  // namespace gangway::api
