// Strategic merge patches on a pod-like kind: the document on the first line, the patch behind it.
#include "json/strategic_merge.h"
#include "json/test_schemas.h"
#include "json_laws.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  const auto document = json::parse(input.line());
  const auto patch = json::parse(input.rest());
  if (!document || !patch) return 0;
  const std::string seen(input.rest());
  for (const auto* schema : {&json::test_schema(), static_cast<const json::Schema*>(nullptr)}) {
    const auto patched = json::apply_strategic_merge_patch(*document, *patch, schema);
    if (!patched) {
      FUZZ_LAW(!patched.error().message.empty(), seen);
      continue;
    }
    fuzz::check_storable(*patched);
    const auto nothing = json::apply_strategic_merge_patch(*patched, json::Object{}, schema);
    FUZZ_LAW(nothing && (!patched->is_object() || json::equal(*nothing, *patched)), seen);
  }
  return 0;
}
