#include "apiserver/strategies/labels.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "api/selector.h"
#include "base/names.h"
#include "base/quote.h"

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

std::string shown_selector(const Field& selector) {
  auto labels = selector["matchLabels"];
  std::string text = "v1.LabelSelector{MatchLabels:";
  text += labels ? shown(*labels.value()) : "map[string]string(nil)";
  text += ", MatchExpressions:[]v1.LabelSelectorRequirement";
  auto expressions = selector["matchExpressions"].items();
  if (expressions.empty()) return text + "(nil)}";
  text += '{';
  for (const auto& expression : expressions) {
    if (text.back() != '{') text += ", ";
    auto values = expression["values"];
    text +=
        fmt::format("v1.LabelSelectorRequirement{{Key:{}, Operator:{}, Values:{}}}", quoted(expression["key"].text()),
                    quoted(expression["operator"].text()), values ? shown(*values.value()) : "[]string(nil)");
  }
  return text + "}}";
}

void check_selects_template(const Field& spec) {
  // No selector selects nothing, so it does not select the template either.
  auto selector =
      spec["selector"] ? api::read_label_selector(*spec["selector"].value()) : api::LabelSelector::nothing();
  auto labels = spec["template"]["metadata"]["labels"];
  api::StringPairs pairs;
  for (const auto& [key, value] : labels.entries()) pairs.emplace_back(key, value.text());
  if (!selector || selector->matches(pairs)) return;
  labels.refuse("FieldValueInvalid", fmt::format("Invalid value: {}: `selector` does not match template `labels`",
                                                 labels ? shown(*labels.value()) : "map[string]string(nil)"));
}

bool check_workload_selector(const Field& spec, const SelectorMessages& messages) {
  auto selector = spec["selector"];
  auto refuse = [&](std::string_view why) {
    selector.refuse("FieldValueInvalid", fmt::format("Invalid value: {}: {}", shown_selector(selector), why));
  };
  if (selector) {
    check_selector(selector);
    if (!api::read_label_selector(*selector.value())) {
      refuse(messages.unreadable);
      return false;
    }
    if (selector["matchLabels"].empty() && selector["matchExpressions"].empty()) refuse(messages.empty);
  }
  check_selects_template(spec);
  return true;
}

void check_same_selector(const Field& selector, const Field& before) {
  if (selector.same_as(before)) return;
  auto now = selector ? shown_selector(selector) : quoted("null");
  selector.refuse("FieldValueInvalid", fmt::format("Invalid value: {}: field is immutable", now));
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
