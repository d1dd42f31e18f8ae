// JSON documents from request bodies.
#include "json_laws.h"

namespace gangway::fuzz {
namespace {

void check_limits(const std::string& text, const json::Value& value, bool duplicates) {
  const auto depth = depth_of(value);
  FUZZ_LAW(depth <= json::ParseLimits().max_depth, text);
  FUZZ_LAW(!json::parse(text, {.max_bytes = text.size() - 1, .max_depth = 64}), text);
  // A duplicate that lost may have been deeper than all that is left.
  if (duplicates) return;
  if (depth > 0) FUZZ_LAW(!json::parse(text, {.max_bytes = text.size(), .max_depth = depth - 1}), text);
  FUZZ_LAW(json::parse(text, {.max_bytes = text.size(), .max_depth = depth}).has_value(), text);
}

void check_lookups(json::Value value, const std::string& text) {
  FUZZ_LAW(json::string_at(value, {"metadata", "name"}).empty() || json::find(value, {"metadata", "name"}), text);
  if (!value.is_object()) return;
  const auto* metadata = value.get_object().if_contains("metadata");
  if (metadata != nullptr && !metadata->is_null() && !metadata->is_object()) return;
  json::object_at(value, {"metadata"})["name"] = "x";
  FUZZ_LAW(json::string_at(value, {"metadata", "name"}) == "x", text);
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> duplicates;
  const auto value = json::parse(text, {}, &duplicates);
  FUZZ_LAW(value.has_value() == json::parse(text).has_value(), text);
  if (!value) {
    FUZZ_LAW(!value.error().message.empty(), text);
    return 0;
  }
  fuzz::check_storable(*value);
  fuzz::check_limits(text, *value, !duplicates.empty());
  fuzz::check_lookups(*value, text);
  // What is written has no duplicates any more.
  std::vector<std::string> none;
  FUZZ_LAW(json::parse(json::serialize(*value), {}, &none) && none.empty(), text);
  return 0;
}
