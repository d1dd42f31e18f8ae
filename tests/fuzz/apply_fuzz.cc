// Server-side apply and managed fields on a pod-like kind. Lines: FieldsV1, the live object, what one manager applies,
// what another updates it to.
#include <array>

#include "json/field_set.h"
#include "json/managed_fields.h"
#include "json/structured_merge.h"
#include "json/test_schemas.h"
#include "json_laws.h"

namespace gangway::fuzz {
namespace {

void check_sets(std::string_view text_a, std::string_view text_b) {
  const auto a_value = json::parse(text_a);
  const auto b_value = json::parse(text_b);
  if (!a_value || !b_value) return;
  const auto a = json::FieldSet::parse(*a_value);
  const auto b = json::FieldSet::parse(*b_value);
  if (!a || !b) return;
  const auto again = json::FieldSet::parse(a->to_value());
  FUZZ_LAW(again && *again == *a, text_a);
  FUZZ_LAW(a->united(*b) == b->united(*a), text_a);
  FUZZ_LAW(a->intersection(*b) == b->intersection(*a), text_a);
  FUZZ_LAW(a->overlaps(*b) == !a->intersection(*b).empty(), text_a);
  FUZZ_LAW(a->difference(*b).united(a->intersection(*b)) == *a, text_a);
  FUZZ_LAW(!a->recursive_difference(*b).overlaps(*b), text_a);
  FUZZ_LAW(a->leaves().difference(*a).empty(), text_a);
  std::size_t count = 0;
  a->for_each([&](const json::FieldPath& path) {
    ++count;
    FUZZ_LAW(a->has(path), json::to_string(path));
  });
  FUZZ_LAW(count == a->size(), text_a);
}

void check_comparison(const json::Value& before, const json::Value& after, const json::Schema* schema) {
  const auto forth = json::compare(before, after, schema);
  const auto back = json::compare(after, before, schema);
  const auto seen = json::serialize(after);
  FUZZ_LAW(forth.added == back.removed, seen);
  FUZZ_LAW(forth.removed == back.added, seen);
  FUZZ_LAW(forth.modified == back.modified, seen);
  const auto same = json::compare(after, after, schema);
  FUZZ_LAW(same.added.empty() && same.removed.empty() && same.modified.empty(), seen);
  const auto fields = json::fields_of(after, schema);
  check_storable(json::extract_fields(after, fields, schema));
  check_storable(json::remove_fields(after, fields, schema));
  check_storable(json::remove_fields(after, fields, schema, json::Emptied::kNull));
  (void)json::with_named_parents(fields, schema);
}

// Applying the same again changes nothing, whoever else wrote in between and lost.
void check_apply(json::Value live, const json::Value& applied, const json::Value& update, const json::Schema* schema) {
  const json::Value empty = schema != nullptr ? json::empty_object(*schema) : json::Value(json::Object{});
  json::FieldWrite write;
  write.schema = schema;
  write.empty = &empty;
  write.manager = "kubectl";
  write.api_version = "v1";
  (void)json::apply_configuration(live, applied, write, false);
  const auto first = json::apply_configuration(live, applied, write, true);
  if (!first) {
    FUZZ_LAW(!first.error().message.empty(), json::serialize(applied));
    return;
  }
  check_storable(first->object);
  const auto second = json::apply_configuration(first->object, applied, write, false);
  FUZZ_LAW(second && !second->changed, json::serialize(applied));
  FUZZ_LAW(json::equal_but_for_managed_times(first->object, second->object), json::serialize(applied));

  auto updated = update;
  write.manager = "editor";
  json::track_update(first->object, updated, write);
  check_storable(updated);
  write.manager = "kubectl";
  (void)json::apply_configuration(updated, applied, write, false);
}

bool fits(json::Value object, const json::Schema* schema) {
  // The schema of the tests says little about this field, and its own decoder is under test.
  if (auto* metadata = json::find(object, {"metadata"}); metadata != nullptr && metadata->is_object())
    metadata->get_object().erase("managedFields");
  return json::check_applied(object, schema).has_value();
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  std::array<std::string, 4> lines;
  for (auto& line : lines) line = input.line();
  fuzz::check_sets(lines[0], lines[1]);
  const auto live = json::parse(lines[1]);
  const auto applied = json::parse(lines[2]);
  if (!live || !applied || !live->is_object() || !applied->is_object()) return 0;
  auto update = json::parse(lines[3]);
  if (!update || !update->is_object()) update = live;
  for (const auto* schema : {&json::test_schema(), static_cast<const json::Schema*>(nullptr)}) {
    fuzz::check_comparison(*live, *applied, schema);
    // What the server applies to has passed the decoder: it has the types of its kind.
    if (!fuzz::fits(*live, schema) || !fuzz::fits(*update, schema)) continue;
    fuzz::check_apply(*live, *applied, *update, schema);
  }
  return 0;
}
