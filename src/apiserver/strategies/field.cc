#include "apiserver/strategies/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/quote.h"

namespace gangway::apiserver {

namespace {

bool holds_only_texts(const json::Value& value) {
  if (value.is_array()) {
    return std::all_of(value.get_array().begin(), value.get_array().end(), [](const auto& v) { return v.is_string(); });
  }
  return value.is_object() && std::all_of(value.get_object().begin(), value.get_object().end(),
                                          [](const auto& entry) { return entry.value().is_string(); });
}

}  // namespace

std::string shown(const json::Value& value) {
  if (value.is_string()) return quoted(value.get_string());
  if (!holds_only_texts(value)) return json::serialize(value);
  std::string inner;
  if (value.is_array()) {
    for (const auto& item : value.get_array()) {
      if (!inner.empty()) inner += ", ";
      inner += quoted(item.get_string());
    }
    return "[]string{" + inner + "}";
  }
  std::vector<std::pair<std::string_view, std::string_view>> entries;
  for (const auto& [key, text] : value.get_object()) entries.emplace_back(key, text.get_string());
  std::sort(entries.begin(), entries.end());
  for (const auto& [key, text] : entries) {
    if (!inner.empty()) inner += ", ";
    inner += quoted(key) + ":" + quoted(text);
  }
  return "map[string]string{" + inner + "}";
}

PathText& PathText::operator=(const PathText& other) {
  if (this == &other) return *this;
  long_ = other.long_;
  size_ = other.size_;
  std::memcpy(short_, other.short_, size_);
  return *this;
}

void PathText::append(std::string_view text) {
  if (long_.empty() && size_ + text.size() <= sizeof short_) {
    std::memcpy(short_ + size_, text.data(), text.size());
    size_ += text.size();
    return;
  }
  if (long_.empty()) long_.assign(short_, size_);
  long_ += text;
}

Field Field::operator[](std::string_view key) const {
  const json::Value* child = value_ && value_->is_object() ? value_->get_object().if_contains(key) : nullptr;
  Field field(child, path_, *causes_);
  if (!path_.empty()) field.path_.append(".");
  field.path_.append(key);
  return field;
}

Field Field::bracketed(const json::Value* child, std::string_view step) const {
  Field field(child, path_, *causes_);
  field.path_.append("[");
  field.path_.append(step);
  field.path_.append("]");
  return field;
}

Field Field::key(std::string_view key) const {
  return bracketed(value_ && value_->is_object() ? value_->get_object().if_contains(key) : nullptr, key);
}

Field Field::at(std::size_t index) const {
  const json::Value* child = value_ && value_->is_array() ? value_->get_array().if_contains(index) : nullptr;
  char digits[24];
  const char* end = std::to_chars(digits, digits + sizeof digits, index).ptr;
  return bracketed(child, {digits, static_cast<std::size_t>(end - digits)});
}

std::vector<Field> Field::items() const {
  std::vector<Field> items;
  if (!value_ || !value_->is_array()) return items;
  items.reserve(value_->get_array().size());
  for (std::size_t i = 0; i < value_->get_array().size(); ++i) items.push_back(at(i));
  return items;
}

std::vector<std::pair<std::string_view, Field>> Field::entries() const {
  std::vector<std::pair<std::string_view, Field>> entries;
  if (!value_ || !value_->is_object()) return entries;
  for (const auto& [name, value] : value_->get_object()) entries.emplace_back(name, bracketed(&value, name));
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return entries;
}

bool Field::empty() const {
  if (!value_) return true;
  return (value_->is_string() || value_->is_array() || value_->is_object()) && size() == 0;
}

std::size_t Field::size() const {
  if (!value_) return 0;
  if (value_->is_array()) return value_->get_array().size();
  if (value_->is_object()) return value_->get_object().size();
  return value_->is_string() ? value_->get_string().size() : 0;
}

std::string_view Field::text() const {
  return value_ && value_->is_string() ? std::string_view(value_->get_string()) : std::string_view();
}

std::optional<std::int64_t> Field::integer() const {
  if (!value_) return std::nullopt;
  if (value_->is_int64()) return value_->get_int64();
  if (value_->is_uint64()) return static_cast<std::int64_t>(value_->get_uint64());
  return std::nullopt;
}

bool Field::flag() const {
  return value_ && value_->is_bool() && value_->get_bool();
}

std::optional<Quantity> Field::quantity() const {
  if (!value_) return std::nullopt;
  auto parsed = Quantity::parse(value_->is_string() ? std::string(value_->get_string()) : json::serialize(*value_));
  if (!parsed) return std::nullopt;
  return std::move(*parsed);
}

bool Field::same_as(const Field& other) const {
  if (!value_ || !other.value_) return empty() && other.empty();
  return json::equal(*value_, *other.value_);
}

void Field::refuse(std::string_view reason, std::string message) const {
  causes_->push_back(Cause{std::string(reason), std::move(message), path()});
}

void Field::required(std::string_view detail) const {
  refuse("FieldValueRequired", detail.empty() ? "Required value" : fmt::format("Required value: {}", detail));
}

void Field::forbidden(std::string_view detail) const {
  refuse("FieldValueForbidden", fmt::format("Forbidden: {}", detail));
}

void Field::invalid(std::string_view detail) const {
  invalid(value_ ? *value_ : json::Value(""), detail);
}

void Field::invalid(const json::Value& value, std::string_view detail) const {
  refuse("FieldValueInvalid", fmt::format("Invalid value: {}: {}", shown(value), detail));
}

void Field::invalid_each(const std::vector<std::string>& details) const {
  for (const auto& detail : details) invalid(detail);
}

void Field::duplicate() const {
  duplicate(value_ ? *value_ : json::Value(""));
}

void Field::duplicate(const json::Value& value) const {
  refuse("FieldValueDuplicate", fmt::format("Duplicate value: {}", shown(value)));
}

void Field::not_supported(std::initializer_list<std::string_view> supported) const {
  not_supported(std::span(supported.begin(), supported.size()));
}

void Field::not_supported(std::span<const std::string_view> supported) const {
  std::string list;
  for (auto value : supported) {
    if (!list.empty()) list += ", ";
    list += quoted(value);
  }
  refuse("FieldValueNotSupported",
         fmt::format("Unsupported value: {}: supported values: {}", value_ ? shown(*value_) : "\"\"", list));
}

void Field::too_long(std::size_t most_bytes) const {
  refuse("FieldValueTooLong", fmt::format("Too long: may not be more than {} bytes", most_bytes));
}

void Field::too_many(std::size_t most) const {
  refuse("FieldValueTooMany", fmt::format("Too many: {}: must have at most {} items", size(), most));
}

void Field::one_of(std::initializer_list<std::string_view> supported) const {
  if (!value_ || std::find(supported.begin(), supported.end(), text()) != supported.end()) return;
  not_supported(supported);
}

void Field::not_negative() const {
  if (auto number = integer(); number && *number < 0) invalid("must be greater than or equal to 0");
}

void Field::positive() const {
  if (auto number = integer(); number && *number <= 0) invalid("must be greater than 0");
}

void Field::immutable(const Field& before) const {
  if (same_as(before)) return;
  bool was_text = before.value_ && before.value_->is_string();
  invalid(value_ ? *value_ : was_text ? json::Value("") : json::Value(nullptr), "field is immutable");
}

}  // namespace gangway::apiserver
