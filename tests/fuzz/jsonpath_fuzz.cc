// JSONPath from CustomResourceDefinitions: the path on the first line, a document behind it.
#include <algorithm>
#include <set>

#include "json/jsonpath.h"
#include "json_laws.h"

namespace gangway::fuzz {
namespace {

void collect(const json::Value& value, std::set<const json::Value*>& all) {
  all.insert(&value);
  if (const auto* object = value.if_object())
    for (const auto& member : *object) collect(member.value(), all);
  if (const auto* array = value.if_array())
    for (const auto& item : *array) collect(item, all);
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  const std::string text(input.line());
  const auto path = json::JsonPath::parse(text);
  if (!path) {
    FUZZ_LAW(!path.error().message.empty(), text);
    return 0;
  }
  // The documents that columns are read from; small, since repeated ".." multiplies.
  const auto value = json::parse(input.rest(), {.max_bytes = 512, .max_depth = 8});
  if (!value || std::count(text.begin(), text.end(), '.') > 12) return 0;
  std::set<const json::Value*> all;
  fuzz::collect(*value, all);
  for (const auto* found : path->find(*value)) FUZZ_LAW(all.contains(found), text);
  return 0;
}
