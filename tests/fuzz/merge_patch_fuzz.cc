// JSON merge patches: the document on the first line, the patch behind it.
#include "json/merge_patch.h"
#include "json_laws.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  const auto document = json::parse(input.line());
  const auto patch = json::parse(input.rest());
  if (!document || !patch) return 0;
  const std::string seen(input.rest());

  auto once = *document;
  json::apply_merge_patch(once, *patch);
  fuzz::check_storable(once);
  auto twice = once;
  json::apply_merge_patch(twice, *patch);
  FUZZ_LAW(json::equal(once, twice), seen);

  auto remade = *document;
  json::apply_merge_patch(remade, json::make_merge_patch(*document, *patch));
  if (!fuzz::has_null(*patch)) FUZZ_LAW(json::equal(remade, *patch), seen);
  return 0;
}
