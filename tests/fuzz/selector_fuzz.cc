// Selectors. Lines: the query form of a label selector, a field selector, a LabelSelector object.
#include <array>

#include "api/selector.h"
#include "json_laws.h"

namespace gangway::fuzz {
namespace {

const std::array<api::StringPairs, 4> kLabels = {{
    {},
    {{"app", "web"}},
    {{"app", "db"}, {"cores", "8"}, {"tier", "a"}},
    {{"a", ""}, {"example.com/key", "1"}},
}};

void check_same(const api::LabelSelector& a, const api::LabelSelector& b, std::string_view text) {
  for (const auto& labels : kLabels) FUZZ_LAW(a.matches(labels) == b.matches(labels), text);
}

void check_labels(const std::string& text) {
  const auto selector = api::parse_label_selector(text);
  if (!selector) {
    FUZZ_LAW(!selector.error().message.empty(), text);
    return;
  }
  FUZZ_LAW(text.size() <= api::kMaxSelectorLength, text);
  const auto written = selector->to_string();
  const auto again = api::parse_label_selector(written);
  FUZZ_LAW(again.has_value(), written);
  FUZZ_LAW(again->to_string() == written, written);
  FUZZ_LAW(again->selects_everything() == selector->selects_everything(), written);
  check_same(*selector, *again, text);
}

void check_fields(const std::string& text) {
  static const std::array<std::string, 2> paths = {"spec.nodeName", "status.phase"};
  const auto selector = api::parse_field_selector(text, {.paths = paths, .has_namespace = true});
  if (!selector) {
    FUZZ_LAW(!selector.error().message.empty(), text);
    return;
  }
  const auto written = selector->to_string();
  const auto again = api::parse_field_selector(written, {.paths = paths, .has_namespace = true});
  FUZZ_LAW(again && again->to_string() == written, written);
  FUZZ_LAW(again->exact("metadata.name") == selector->exact("metadata.name"), written);
  FUZZ_LAW(again->requirements().size() == selector->requirements().size(), written);
}

void check_object(const std::string& text) {
  const auto value = json::parse(text);
  if (!value) return;
  (void)api::read_label_map(*value);
  const auto causes = api::check_label_selector(*value, "spec.selector");
  for (const auto& cause : causes) FUZZ_LAW(cause.field.starts_with("spec.selector"), cause.field);
  const auto selector = api::read_label_selector(*value);
  FUZZ_LAW(selector || !selector.error().message.empty(), text);
  if (!selector || !causes.empty() || !value->is_object()) return;
  // What passes validation can be written as a query: a Scale reports it so.
  const auto again = api::parse_label_selector(selector->to_string());
  FUZZ_LAW(again.has_value(), text);
  check_same(*selector, *again, text);
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  const std::string labels(input.line());
  const std::string fields(input.line());
  const std::string object(input.rest());
  fuzz::check_labels(labels);
  fuzz::check_fields(fields);
  fuzz::check_object(object);
  return 0;
}
