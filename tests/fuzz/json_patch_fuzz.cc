// JSON patches: the document on the first line, the patch behind it.
#include "json/json_patch.h"
#include "json/pointer.h"
#include "json_laws.h"

namespace gangway::fuzz {
namespace {

void check_pointer(std::string_view text) {
  const auto pointer = json::Pointer::parse(text);
  if (pointer) FUZZ_LAW(pointer->to_string() == text, text);
}

// A few operations that must always succeed on what is there.
void check_no_change(const json::Value& document) {
  const json::Array tests = {json::Object{{"op", "test"}, {"path", ""}, {"value", document}},
                             json::Object{{"op", "copy"}, {"path", ""}, {"from", ""}}};
  const auto same = json::apply_json_patch(document, tests);
  FUZZ_LAW(same && json::equal(*same, document), json::serialize(document));
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  const auto document = json::parse(input.line());
  const std::string patch_text(input.rest());
  fuzz::check_pointer(patch_text);
  const auto patch = json::parse(patch_text);
  if (!document || !patch) return 0;
  constexpr json::JsonPatchLimits kLimits = {.max_operations = 50, .max_copied_bytes = 10'000};
  const auto patched = json::apply_json_patch(*document, *patch, kLimits);
  if (!patched) {
    FUZZ_LAW(!patched.error().message.empty(), patch_text);
    return 0;
  }
  fuzz::check_storable(*patched);
  fuzz::check_no_change(*patched);
  FUZZ_LAW(json::serialize(*patched).size() <= 2 * size * 6 + kLimits.max_copied_bytes, patch_text);
  return 0;
}
