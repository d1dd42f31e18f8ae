// YAML streams: request bodies of apply, and files that people write.
#include <algorithm>

#include "json/yaml.h"
#include "json_laws.h"

namespace gangway::fuzz {
namespace {

// yaml-cpp needs quadratic time for some inputs; the limits keep a run short and are themselves under test.
constexpr json::YamlOptions kOptions = {.max_bytes = 4096, .max_depth = 16, .max_values = 2000};

void check_document(const json::YamlDocument& document, const json::Value& same, const std::string& text) {
  FUZZ_LAW(json::equal(document.value, same), text);
  FUZZ_LAW(depth_of(same) <= kOptions.max_depth, text);
  check_storable(same);
  const auto last_line = 1 + std::count_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; });
  for (const auto& [path, line] : document.lines) FUZZ_LAW(line >= 1 && line <= last_line, path);
  FUZZ_LAW(document.line_of("no.such[1].field") >= 1, text);

  const auto written = json::to_yaml(same);
  const auto again = json::parse_yaml(written);
  FUZZ_LAW(again && again->size() == 1, written);
  FUZZ_LAW(json::equal(again->front(), same), written);
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto values = json::parse_yaml(text, fuzz::kOptions);
  const auto documents = json::parse_yaml_with_lines(text, fuzz::kOptions);
  FUZZ_LAW(values.has_value() == documents.has_value(), text);
  if (!values) {
    FUZZ_LAW(!values.error().message.empty(), text);
    return 0;
  }
  FUZZ_LAW(values->size() == documents->size() && text.size() <= fuzz::kOptions.max_bytes, text);
  for (std::size_t i = 0; i < values->size(); ++i) fuzz::check_document((*documents)[i], (*values)[i], text);
  return 0;
}
