// How structured_merge.cc sees one value: its shape by schema, and the items of keyed lists and sets. Not for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "json/field_set.h"
#include "json/schema.h"
#include "json/value.h"

namespace gangway::json {

// A leaf is one field: a scalar, or an atomic object or list. A value that is not of its schema's type is a leaf too.
enum class Shape : std::uint8_t { kLeaf, kObject, kList };
Shape shape_of(const Value& value, const Schema* schema);

// The schema of a field that is declared by name; null for entries of maps and for unknown fields.
const Schema* declared_field(const Schema* schema, std::string_view key);
// The schema of a field, declared or not; null: there is none.
const Schema* field_schema(const Schema* schema, std::string_view key);

// The key fields of an item, with their defaults where the item leaves them out; its own value in a set. An item that
// has no key (validation refuses it, but it may be stored) is known by its index.
PathElement item_element(const Value& item, std::size_t index, const Schema& list);
// Why item_element would have to fall back to the index; empty when it need not.
std::string item_problem(const Value& item, const Schema& list);

struct ItemGroup {
  PathElement element;
  std::vector<const Value*> items;  // more than one: items that share a key
};
// Sorted by element.
std::vector<ItemGroup> grouped_items(const Array& array, const Schema& list);

}  // namespace gangway::json
