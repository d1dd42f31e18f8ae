// Values seen through their schema as sets of fields: which fields a value has, how two values differ, and how an
// applied configuration merges into a live object. The ground that managed_fields.h stands on.
//
// The schema says what a field is: granular objects and keyed lists are walked, atomic ones are one field. Where there
// is no schema (null, or a field that it does not declare), objects are granular and lists atomic. Pure functions.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "json/field_set.h"
#include "json/schema.h"
#include "json/value.h"

namespace gangway::json {

// The fields that a configuration mentions: its leaves, its list items and the entries of its maps.
FieldSet fields_of(const Value& value, const Schema* schema);

struct Comparison {
  FieldSet added;
  FieldSet modified;
  FieldSet removed;
};
// `base` is what both sides have even where they leave it out (see empty_object); null: nothing.
Comparison compare(const Value& before, const Value& after, const Schema* schema, const Value* base = nullptr);

// What server-side apply would refuse: fields that the schema does not know, values of the wrong type, list items
// without their key, two items with one key. The message starts with the field's path.
Result<void> check_applied(const Value& applied, const Schema* schema);

// `live` with `applied` laid over it. Items of keyed lists stand in the order of `applied`; items that only `live` has
// keep their place among them. Requires: check_applied(applied).
Value merge_applied(const Value& live, const Value& applied, const Schema* schema);

// What becomes of an object or list that lost everything below it, but is not in the set itself.
enum class Emptied : std::uint8_t { kKeep, kNull };
// `value` without the fields of the set.
Value remove_fields(const Value& value, const FieldSet& fields, const Schema* schema, Emptied emptied = Emptied::kKeep);
// Only the fields of the set, with all that is below them.
Value extract_fields(const Value& value, const FieldSet& fields, const Schema* schema);

// The set with each declared field that has something below it as a member too.
FieldSet with_named_parents(const FieldSet& fields, const Schema* schema);

// What an object of a built-in kind has before anybody set a field: its structs, which the schema marks with the
// default {}, and the zero values of required fields. A create is compared with this. Objects of users' own kinds are
// compared with {}.
Value empty_object(const Schema& schema);

}  // namespace gangway::json
