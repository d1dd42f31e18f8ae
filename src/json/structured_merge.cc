#include "json/structured_merge.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "json/list_items.h"

namespace gangway::json {
namespace {

bool is_empty_container(const Value& value) {
  return (value.is_object() && value.get_object().empty()) || (value.is_array() && value.get_array().empty());
}

// ---- fields_of ----

void collect_fields(const Value& value, const Schema* schema, FieldSet::Node& node);

void collect_members(const Object& object, const Schema* schema, FieldSet& set) {
  for (const auto& member : object) {
    const bool declared = declared_field(schema, member.key()) != nullptr;
    FieldSet::Node child{PathElement::field(member.key()), false, {}};
    collect_fields(member.value(), field_schema(schema, member.key()), child);
    const bool empty_object_value = member.value().is_object() && member.value().get_object().empty();
    if (!declared || member.value().is_null() || empty_object_value) child.member = true;
    if (!child.empty()) set.at(child.element) = std::move(child);
  }
}

void collect_items(const Array& array, const Schema& schema, FieldSet& set) {
  for (ItemGroup& group : grouped_items(array, schema)) {
    FieldSet::Node child{std::move(group.element), true, {}};
    // Items that share a key are owned together, as one thing.
    if (group.items.size() == 1) collect_fields(*group.items[0], schema.items, child);
    child.member = true;
    set.append(std::move(child));
  }
}

void collect_fields(const Value& value, const Schema* schema, FieldSet::Node& node) {
  switch (shape_of(value, schema)) {
    case Shape::kLeaf:
      node.member = true;
      return;
    case Shape::kObject:
      return collect_members(value.get_object(), schema, node.children);
    case Shape::kList:
      return collect_items(value.get_array(), *schema, node.children);
  }
}

// ---- compare ----

// What became of one place, and of what is below it.
struct Difference {
  bool added = false, modified = false, removed = false;
  Comparison below;

  // Most places do not differ, and the step is only made where they do.
  template <class MakeElement>
  void keep(const MakeElement& make_element, Comparison& parent) {
    keep_in(parent.added, added, below.added, make_element);
    keep_in(parent.modified, modified, below.modified, make_element);
    keep_in(parent.removed, removed, below.removed, make_element);
  }

 private:
  template <class MakeElement>
  static void keep_in(FieldSet& set, bool member, FieldSet& children, const MakeElement& make_element) {
    if (!member && children.empty()) return;
    FieldSet::Node& place = set.at(make_element());
    place.member |= member;
    place.children = std::move(children);
  }
};

Difference compare_values(const Value* before, const Value* after, const Schema* schema, const Value* base);

const Value* member_of(const Object* object, std::string_view key) {
  return object == nullptr ? nullptr : object->if_contains(key);
}

// `base` holds what counts as present on both sides even where it is missing.
void compare_members(const Object* before, const Object* after, const Schema* schema, const Object* base,
                     Comparison& out) {
  if (after != nullptr) {
    if (before == nullptr) out.added.reserve(after->size());
    for (const auto& member : *after) {
      const Value* below = member_of(base, member.key());
      const Value* old = member_of(before, member.key());
      Difference difference =
          compare_values(old != nullptr ? old : below, &member.value(), field_schema(schema, member.key()), below);
      difference.keep([&member] { return PathElement::field(member.key()); }, out);
    }
  }
  if (before != nullptr) {
    for (const auto& member : *before) {
      if (after != nullptr && after->contains(member.key())) continue;
      const Value* below = member_of(base, member.key());
      Difference difference = compare_values(&member.value(), below, field_schema(schema, member.key()), below);
      difference.keep([&member] { return PathElement::field(member.key()); }, out);
    }
  }
}

using Items = std::span<const Value* const>;

bool equal_items(Items a, Items b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Value* x, const Value* y) { return equal(*x, *y); });
}

// Items that share a key are one thing: it appears, changes and goes as a whole.
Difference compare_item(Items before, Items after, const Schema* schema) {
  const Value* old = before.empty() ? nullptr : before[0];
  const Value* fresh = after.empty() ? nullptr : after[0];
  if (before.size() <= 1 && after.size() <= 1) return compare_values(old, fresh, schema, nullptr);
  Difference difference;
  if (before.size() >= 2 && after.size() >= 2) {
    difference.modified = !equal_items(before, after);
  } else if (before.size() >= 2) {
    if (fresh != nullptr) difference = compare_values(nullptr, fresh, schema, nullptr);
    difference.removed = true;
  } else {
    if (old != nullptr) difference = compare_values(old, nullptr, schema, nullptr);
    difference.added = true;
  }
  return difference;
}

void compare_items(const Array* before, const Array* after, const Schema& schema, Comparison& out) {
  const std::vector<ItemGroup> old = before == nullptr ? std::vector<ItemGroup>() : grouped_items(*before, schema);
  const std::vector<ItemGroup> fresh = after == nullptr ? std::vector<ItemGroup>() : grouped_items(*after, schema);
  auto left = old.begin();
  auto right = fresh.begin();
  while (left != old.end() || right != fresh.end()) {
    const auto order = left == old.end()      ? std::strong_ordering::greater
                       : right == fresh.end() ? std::strong_ordering::less
                                              : left->element <=> right->element;
    Difference difference = compare_item(order <= 0 ? Items(left->items) : Items(),
                                         order >= 0 ? Items(right->items) : Items(), schema.items);
    difference.keep([&] { return order <= 0 ? left->element : right->element; }, out);
    if (order <= 0) ++left;
    if (order >= 0) ++right;
  }
}

void compare_leaves(const Value* before, const Value* after, Difference& out) {
  if (before == nullptr) {
    out.added = true;
  } else if (after == nullptr) {
    out.removed = true;
  } else if (!equal(*before, *after)) {
    out.modified = true;
  }
}

// Compares what both sides are in `shape`; a side of another shape counts as having nothing below.
void compare_in_shape(Shape shape, const Value* before, const Value* after, const Schema* schema, const Value* base,
                      Difference& out) {
  if (shape == Shape::kObject) {
    compare_members(before == nullptr ? nullptr : before->if_object(), after == nullptr ? nullptr : after->if_object(),
                    schema, base == nullptr ? nullptr : base->if_object(), out.below);
  } else {
    compare_items(before == nullptr ? nullptr : before->if_array(), after == nullptr ? nullptr : after->if_array(),
                  *schema, out.below);
  }
}

Difference compare_values(const Value* before, const Value* after, const Schema* schema, const Value* base) {
  Difference out;
  const bool nothing_below = (before == nullptr || before->is_null() || is_empty_container(*before)) &&
                             (after == nullptr || after->is_null() || is_empty_container(*after));
  const Shape old_shape = before == nullptr ? Shape::kLeaf : shape_of(*before, schema);
  const Shape new_shape = after == nullptr ? Shape::kLeaf : shape_of(*after, schema);
  if (nothing_below || (old_shape == Shape::kLeaf && new_shape == Shape::kLeaf)) {
    compare_leaves(before, after, out);
    return out;
  }
  if (before != nullptr && after != nullptr && old_shape == Shape::kList && equal(*before, *after)) return out;
  const Shape shape = new_shape != Shape::kLeaf ? new_shape : old_shape;
  compare_in_shape(shape, before, after, schema, base, out);
  if (before == nullptr) {
    out.added = true;
  } else if (after == nullptr) {
    out.removed = true;
  } else if (old_shape != new_shape && !before->is_null() && !after->is_null()) {
    out.modified = true;
  }
  return out;
}

// ---- merge ----

Value merge_values(const Value* live, const Value* applied, const Schema* schema);

Value merge_members(const Object& live, const Object& applied, const Schema* schema) {
  Object merged;
  merged.reserve(live.size() + applied.size());
  for (const auto& member : live) {
    merged.emplace(member.key(), merge_values(&member.value(), applied.if_contains(member.key()),
                                              field_schema(schema, member.key())));
  }
  for (const auto& member : applied) {
    if (!live.contains(member.key())) merged.emplace(member.key(), member.value());
  }
  return merged;
}

struct MergeItem {
  PathElement element;
  const Value* value = nullptr;
  std::size_t partner = kNoPartner;  // the item of the other list with the same key
  bool shared_key = false;           // another item of the same list has this key
  bool merged = false;

  static constexpr std::size_t kNoPartner = static_cast<std::size_t>(-1);
};

std::vector<MergeItem> merge_items_of(const Array& array, const Schema& schema) {
  std::vector<MergeItem> items;
  items.reserve(array.size());
  for (std::size_t i = 0; i < array.size(); ++i) items.push_back({item_element(array[i], i, schema), &array[i]});
  return items;
}

void find_partners(std::vector<MergeItem>& live, std::vector<MergeItem>& applied) {
  std::vector<std::size_t> by_element(live.size());
  for (std::size_t i = 0; i < live.size(); ++i) by_element[i] = i;
  std::stable_sort(by_element.begin(), by_element.end(),
                   [&live](std::size_t a, std::size_t b) { return live[a].element < live[b].element; });
  for (std::size_t i = 1; i < by_element.size(); ++i) {
    if (live[by_element[i - 1]].element == live[by_element[i]].element) {
      live[by_element[i - 1]].shared_key = live[by_element[i]].shared_key = true;
    }
  }
  for (std::size_t i = 0; i < applied.size(); ++i) {
    auto found = std::lower_bound(by_element.begin(), by_element.end(), applied[i].element,
                                  [&live](std::size_t a, const PathElement& e) { return live[a].element < e; });
    for (; found != by_element.end() && live[*found].element == applied[i].element; ++found) {
      live[*found].partner = i;
      if (applied[i].partner == MergeItem::kNoPartner) applied[i].partner = *found;
    }
  }
}

// Walks both lists at once. What both have is emitted in the order of `applied`; what only `live` has is emitted where
// the walk meets it, so it stays behind the items that it stood behind.
Value merge_lists(const Array& live_array, const Array& applied_array, const Schema& schema) {
  std::vector<MergeItem> live = merge_items_of(live_array, schema);
  std::vector<MergeItem> applied = merge_items_of(applied_array, schema);
  find_partners(live, applied);
  std::vector<std::size_t> shared;  // items of `applied` that `live` has too, in order
  for (std::size_t i = 0; i < applied.size(); ++i)
    if (applied[i].partner != MergeItem::kNoPartner) shared.push_back(i);
  Array merged;
  merged.reserve(std::max(live.size(), applied.size()));
  std::size_t next_shared = 0;
  const auto emit_applied = [&](std::size_t index) {
    const MergeItem& item = applied[index];
    const MergeItem* partner = item.partner == MergeItem::kNoPartner ? nullptr : &live[item.partner];
    // Items of `live` that share a key cannot be told apart, so that they are replaced.
    const bool mergeable = partner != nullptr && !partner->shared_key;
    merged.push_back(merge_values(mergeable ? partner->value : nullptr, item.value, schema.items));
    applied[index].merged = true;
    if (next_shared < shared.size() && shared[next_shared] == index) ++next_shared;
  };
  std::size_t l = 0, a = 0;
  while (l < live.size() || a < applied.size()) {
    const std::size_t partner = l < live.size() ? live[l].partner : MergeItem::kNoPartner;
    if (l < live.size() && a < applied.size() && partner != MergeItem::kNoPartner) {
      if (partner == a) {
        emit_applied(a++);
        ++l;
        continue;
      }
      if (next_shared < shared.size() && shared[next_shared] != partner) {
        ++l;  // its turn comes with the item of `applied`
        continue;
      }
    }
    if (l < live.size()) {
      if (partner == MergeItem::kNoPartner) {
        merged.push_back(*live[l++].value);
        continue;
      }
      if (applied[partner].merged) ++l;
    }
    if (a < applied.size()) emit_applied(a++);
  }
  return merged;
}

Value merge_values(const Value* live, const Value* applied, const Schema* schema) {
  if (applied == nullptr) return *live;
  if (live == nullptr) return *applied;
  const Shape shape = shape_of(*applied, schema);
  if (shape == Shape::kLeaf || shape_of(*live, schema) != shape) {
    // A null that is applied to an object or a keyed list says nothing about its fields.
    if (applied->is_null() && shape_of(*live, schema) != Shape::kLeaf) return *live;
    return *applied;
  }
  if (is_empty_container(*live) && is_empty_container(*applied)) return *applied;
  if (shape == Shape::kObject) return merge_members(live->get_object(), applied->get_object(), schema);
  return merge_lists(live->get_array(), applied->get_array(), *schema);
}

// ---- remove, extract ----

Value emptied(const Value& value, Emptied emptied_as) {
  if (emptied_as == Emptied::kNull) return nullptr;
  return value.is_object() ? Value(Object()) : Value(Array());
}

Value remove_below(const Value& value, const FieldSet& fields, const Schema* schema, Emptied emptied_as) {
  const Shape shape = shape_of(value, schema);
  if (shape == Shape::kLeaf) return value.is_structured() ? emptied(value, emptied_as) : value;
  const auto reduced = [&fields, emptied_as](const PathElement& element, const Value& child,
                                             const Schema* child_schema) -> std::optional<Value> {
    const FieldSet::Node* node = fields.find(element);
    if (node == nullptr) return child;
    if (node->member) return std::nullopt;
    return remove_below(child, node->children, child_schema, emptied_as);
  };
  if (shape == Shape::kObject) {
    Object kept;
    for (const auto& member : value.get_object()) {
      std::optional<Value> rest =
          reduced(PathElement::field(member.key()), member.value(), field_schema(schema, member.key()));
      if (rest) kept.emplace(member.key(), std::move(*rest));
    }
    return kept.empty() ? emptied(value, emptied_as) : Value(std::move(kept));
  }
  Array kept;
  const Array& array = value.get_array();
  for (std::size_t i = 0; i < array.size(); ++i) {
    std::optional<Value> rest = reduced(item_element(array[i], i, *schema), array[i], schema->items);
    if (rest) kept.push_back(std::move(*rest));
  }
  return kept.empty() ? emptied(value, emptied_as) : Value(std::move(kept));
}

std::optional<Value> extract_below(const Value& value, const FieldSet& fields, const Schema* schema) {
  const Shape shape = shape_of(value, schema);
  if (shape == Shape::kLeaf) return value;
  const auto extracted = [&fields](const PathElement& element, const Value& child,
                                   const Schema* child_schema) -> std::optional<Value> {
    const FieldSet::Node* node = fields.find(element);
    if (node == nullptr) return std::nullopt;
    if (node->children.empty()) return child;
    return extract_below(child, node->children, child_schema);
  };
  if (shape == Shape::kObject) {
    Object kept;
    for (const auto& member : value.get_object()) {
      std::optional<Value> part =
          extracted(PathElement::field(member.key()), member.value(), field_schema(schema, member.key()));
      if (part) kept.emplace(member.key(), std::move(*part));
    }
    return kept.empty() ? std::nullopt : std::optional<Value>(std::move(kept));
  }
  Array kept;
  const Array& array = value.get_array();
  for (std::size_t i = 0; i < array.size(); ++i) {
    std::optional<Value> part = extracted(item_element(array[i], i, *schema), array[i], schema->items);
    if (part) kept.push_back(std::move(*part));
  }
  return kept.empty() ? std::nullopt : std::optional<Value>(std::move(kept));
}

Value zero_of(Type type) {
  switch (type) {
    case Type::kString:
      return "";
    case Type::kInteger:
    case Type::kNumber:
      return 0;
    case Type::kBoolean:
      return false;
    default:
      return nullptr;
  }
}

}  // namespace

FieldSet fields_of(const Value& value, const Schema* schema) {
  FieldSet::Node root;
  collect_fields(value, schema, root);
  return std::move(root.children);
}

Comparison compare(const Value& before, const Value& after, const Schema* schema, const Value* base) {
  return compare_values(&before, &after, schema, base).below;
}

Value merge_applied(const Value& live, const Value& applied, const Schema* schema) {
  return merge_values(&live, &applied, schema);
}

Value remove_fields(const Value& value, const FieldSet& fields, const Schema* schema, Emptied emptied_as) {
  return remove_below(value, fields, schema, emptied_as);
}

Value extract_fields(const Value& value, const FieldSet& fields, const Schema* schema) {
  return extract_below(value, fields, schema).value_or(Object());
}

FieldSet with_named_parents(const FieldSet& fields, const Schema* schema) {
  FieldSet result;
  for (const FieldSet::Node& node : fields.nodes()) {
    const Schema* below = nullptr;
    bool member = node.member;
    if (node.element.kind == PathElement::Kind::kField) {
      below = field_schema(schema, node.element.text);
      member |= declared_field(schema, node.element.text) != nullptr;
    } else if (schema != nullptr) {
      below = schema->items;
    }
    result.append({node.element, member, with_named_parents(node.children, below)});
  }
  return result;
}

Value empty_object(const Schema& schema) {
  Object object;
  for (const auto& [name, field] : schema.properties) {
    if (field->empty) {
      object.emplace(name, field->empty->is_object() ? empty_object(*field) : *field->empty);
    } else if (name == "creationTimestamp") {
      object.emplace(name, nullptr);  // a null that Kubernetes writes into templates too, so it is nobody's
    } else if (std::find(schema.required.begin(), schema.required.end(), name) != schema.required.end()) {
      object.emplace(name, zero_of(field->type));
    }
  }
  return object;
}

}  // namespace gangway::json
