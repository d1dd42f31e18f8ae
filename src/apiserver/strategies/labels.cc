#include "apiserver/strategies/labels.h"

#include <charconv>
#include <optional>

#include "api/selector.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

std::optional<std::int64_t> percentage(const Field& field) {
  auto text = field.text();
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  std::int64_t number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

void check_selector(const Field& selector) {
  if (!selector) return;
  auto causes = api::check_label_selector(*selector.value(), selector.path());
  selector.causes().insert(selector.causes().end(), causes.begin(), causes.end());
}

void check_labels(const Field& labels) {
  for (const auto& [key, value] : labels.entries()) {
    for (const auto& message : names::check_qualified_name(key)) labels.invalid(json::Value(key), message);
    for (const auto& message : names::check_label_value(value.text()))
      labels.invalid(json::Value(value.text()), message);
  }
}

void check_annotations(const Field& annotations) {
  for (const auto& [key, value] : annotations.entries()) {
    std::string lower(key);
    for (char& c : lower) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    for (const auto& message : names::check_qualified_name(lower)) annotations.invalid(json::Value(key), message);
  }
}

void check_count_or_percent(const Field& field) {
  if (!field) return;
  if (field.integer()) return field.not_negative();
  field.invalid_each(names::check_percent(field.text()));
}

void check_at_most_100_percent(const Field& field) {
  if (auto number = percentage(field); number && *number > 100) field.invalid("must not be greater than 100%");
}

bool is_zero_count_or_percent(const Field& field) {
  if (auto number = field.integer()) return *number == 0;
  return percentage(field) == 0;
}

}  // namespace gangway::apiserver
