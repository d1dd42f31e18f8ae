#include "json/list_items.h"

#include <algorithm>
#include <utility>

namespace gangway::json {
namespace {

const Value* key_field(const Object& item, const std::string& key, const Schema& list) {
  if (const Value* value = item.if_contains(key)) return value;
  const Schema* field = declared_field(list.items, key);
  if (field == nullptr) return nullptr;
  // A key of a built-in type that was left out is its zero, as in Go.
  if (field->empty && !field->empty->is_null()) return &*field->empty;
  return field->default_value ? &*field->default_value : nullptr;
}

}  // namespace

const Schema* declared_field(const Schema* schema, std::string_view key) {
  return schema == nullptr ? nullptr : schema->property(key);
}

const Schema* field_schema(const Schema* schema, std::string_view key) {
  return schema == nullptr ? nullptr : schema->field(key);
}

Shape shape_of(const Value& value, const Schema* schema) {
  const Type type = schema == nullptr ? Type::kAny : schema->type;
  if (value.is_object() && (type == Type::kObject || type == Type::kAny)) {
    return schema != nullptr && schema->map_type == MapType::kAtomic ? Shape::kLeaf : Shape::kObject;
  }
  if (value.is_array() && schema != nullptr && (type == Type::kArray || type == Type::kAny)) {
    return schema->list_type == ListType::kAtomic ? Shape::kLeaf : Shape::kList;
  }
  return Shape::kLeaf;
}

std::string item_problem(const Value& item, const Schema& list) {
  if (list.list_type == ListType::kMap) {
    const Object* object = item.if_object();
    if (object == nullptr) return "an item of a keyed list must be an object";
    for (const std::string& key : list.list_keys) {
      if (key_field(*object, key, list) == nullptr)
        return "an item of a keyed list omits its key field \"" + key + "\"";
    }
    return {};
  }
  return item.is_structured() || item.is_null() ? "an item of a set must be a string, a number or a boolean" : "";
}

PathElement item_element(const Value& item, std::size_t index, const Schema& list) {
  if (list.list_type == ListType::kMap) {
    if (const Object* object = item.if_object()) {
      std::vector<std::pair<std::string_view, const Value*>> fields;
      fields.reserve(list.list_keys.size());
      for (const std::string& key : list.list_keys) {
        if (const Value* value = key_field(*object, key, list)) fields.emplace_back(key, value);
      }
      if (fields.size() == list.list_keys.size()) return PathElement::key(std::move(fields));
    }
  } else if (!item.is_structured() && !item.is_null()) {
    return PathElement::value(item);
  }
  return {PathElement::Kind::kIndex, std::to_string(index)};
}

std::vector<ItemGroup> grouped_items(const Array& array, const Schema& list) {
  std::vector<ItemGroup> groups;
  groups.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) groups.push_back({item_element(array[i], i, list), {&array[i]}});
  std::stable_sort(groups.begin(), groups.end(),
                   [](const ItemGroup& a, const ItemGroup& b) { return a.element < b.element; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < groups.size(); ++i) {
    if (groups[i].element == groups[kept].element) {
      groups[kept].items.push_back(groups[i].items[0]);
    } else if (++kept != i) {
      groups[kept] = std::move(groups[i]);
    }
  }
  if (!groups.empty()) groups.resize(kept + 1);
  return groups;
}

}  // namespace gangway::json
