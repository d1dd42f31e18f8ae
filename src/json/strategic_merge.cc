#include "json/strategic_merge.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gangway::json {
namespace {

constexpr std::string_view kPatch = "$patch";
constexpr std::string_view kRetainKeys = "$retainKeys";
constexpr std::string_view kSetElementOrder = "$setElementOrder";
constexpr std::string_view kDeleteFromPrimitiveList = "$deleteFromPrimitiveList";
constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

// What the value may be called in a message.
std::string_view kind_name(const Value& value) {
  switch (value.kind()) {
    case Kind::null:
      return "null";
    case Kind::bool_:
      return "boolean";
    case Kind::string:
      return "string";
    case Kind::array:
      return "list";
    case Kind::object:
      return "object";
    default:
      return "number";
  }
}

bool same_kind(const Value& a, const Value& b) {
  return a.kind() == b.kind() || (a.is_number() && b.is_number());
}

// "$setElementOrder/containers" is a directive for "containers".
bool is_directive_for(std::string_view key, std::string_view directive) {
  return key.substr(0, directive.size()) == directive;
}

const Value* directive_of(const Value& item) {
  const Object* object = item.if_object();
  return object == nullptr ? nullptr : object->if_contains(kPatch);
}

// A new value out of a patch: without nulls (there is nothing to delete) and without directives. False: drop it whole.
bool take_new(Value& value) {
  if (directive_of(value) != nullptr) return false;
  if (Object* object = value.if_object()) {
    Object kept(object->storage());
    for (auto& member : *object) {
      const std::string_view key(member.key().data(), member.key().size());
      const bool directive = key == kRetainKeys || is_directive_for(key, kSetElementOrder) ||
                             is_directive_for(key, kDeleteFromPrimitiveList);
      if (!directive && !member.value().is_null() && take_new(member.value())) {
        kept.emplace(member.key(), std::move(member.value()));
      }
    }
    value = std::move(kept);
  } else if (Array* array = value.if_array()) {
    Array kept(array->storage());
    for (Value& item : *array)
      if (take_new(item)) kept.push_back(std::move(item));
    value = std::move(kept);
  }
  return true;
}

// Which item of `list` stands for `item`: the one with the same merge key, or for scalars the equal one.
std::size_t index_of(const Array& list, const Value& item, const std::string& merge_key) {
  const Value* wanted = &item;
  if (!merge_key.empty() && item.is_object()) wanted = item.get_object().if_contains(merge_key);
  if (wanted == nullptr) return kNowhere;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Object* object = list[i].if_object();
    const Value* candidate = object != nullptr && !merge_key.empty() ? object->if_contains(merge_key) : &list[i];
    if (candidate != nullptr && equal(*candidate, *wanted)) return i;
  }
  return kNowhere;
}

void sort_by(Array& items, const Array& order, const std::string& merge_key) {
  std::vector<std::pair<std::size_t, Value>> keyed;
  keyed.reserve(items.size());
  for (Value& item : items) {
    const std::size_t place = index_of(order, item, merge_key);
    keyed.emplace_back(place, std::move(item));
  }
  std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = std::move(keyed[i].second);
}

// The order of a merged list. Items that the patch names stand in the patch's order, the others in the order they had;
// between the two, the order they had decides where both had one, and the patch's item goes first where not.
Array ordered(Array merged, const Array& patch_order, const Array& live_order, const std::string& merge_key) {
  Array named, others;
  for (Value& item : merged) {
    (index_of(patch_order, item, merge_key) != kNowhere ? named : others).push_back(std::move(item));
  }
  sort_by(named, patch_order, merge_key);
  sort_by(others, live_order, merge_key);
  Array all;
  all.reserve(named.size() + others.size());
  std::size_t next_named = 0;
  for (Value& other : others) {
    const std::size_t other_place = index_of(live_order, other, merge_key);
    for (; next_named < named.size(); ++next_named) {
      const std::size_t named_place = index_of(live_order, named[next_named], merge_key);
      if (named_place != kNowhere && other_place < named_place) break;
      all.push_back(std::move(named[next_named]));
    }
    all.push_back(std::move(other));
  }
  for (; next_named < named.size(); ++next_named) all.push_back(std::move(named[next_named]));
  return all;
}

class Merger {
 public:
  Result<void> merge_object(Value& original, const Value& patch, const Schema* schema) {
    const Object& changes = patch.get_object();
    if (const Value* directive = changes.if_contains(kPatch)) return whole_object(original, changes, *directive);
    if (!original.is_object()) original.emplace_object();
    Object& object = original.get_object();
    GW_CHECKED(retain_keys(object, changes));
    std::vector<std::string_view> done;  // lists that an order directive has merged already
    for (const auto& change : changes) {
      if (is_directive_for(change.key(), kSetElementOrder)) {
        GW_CHECKED(merge_in_order(object, changes, change.key(), change.value(), schema, done));
      }
    }
    for (const auto& change : changes) {
      if (is_directive_for(change.key(), kDeleteFromPrimitiveList)) {
        GW_CHECKED(delete_scalars(object, change.key(), change.value()));
      }
    }
    for (const auto& change : changes) {
      const std::string_view key = change.key();
      if (key == kRetainKeys || is_directive_for(key, kSetElementOrder) ||
          is_directive_for(key, kDeleteFromPrimitiveList) || std::find(done.begin(), done.end(), key) != done.end()) {
        continue;
      }
      GW_CHECKED(merge_member(object, key, change.value(), schema));
    }
    return {};
  }

 private:
  // Kubernetes answers 400 for directives that are malformed, and 500 for those that it does not know or that do not
  // fit the list; clients see the same codes here.
  Error misfit(std::string what) const {
    Error result = error(std::move(what));
    result.reason = Reason::kUnknown;
    return result;
  }

  Error error(std::string what) const {
    std::string where;
    for (const std::string& step : path_) where += where.empty() || step[0] == '[' ? step : "." + step;
    return bad_request("strategic merge patch" + (where.empty() ? "" : ": " + where) + ": " + std::move(what));
  }

  Result<void> whole_object(Value& original, const Object& changes, const Value& directive) {
    if (directive == "delete") {
      original.emplace_object();
      return {};
    }
    if (directive != "replace") {
      return misfit("unknown $patch directive " + serialize(directive) + "; known are \"replace\" and \"delete\"");
    }
    Value replacement = changes;
    replacement.get_object().erase(kPatch);
    take_new(replacement);
    original = std::move(replacement);
    return {};
  }

  Result<void> retain_keys(Object& object, const Object& changes) const {
    const Value* directive = changes.if_contains(kRetainKeys);
    if (directive == nullptr) return {};
    const Array* keys = directive->if_array();
    if (keys == nullptr) return error("$retainKeys must be a list of field names");
    const auto is_retained = [keys](std::string_view key) {
      return std::any_of(keys->begin(), keys->end(),
                         [key](const Value& kept) { return kept.is_string() && kept.get_string() == key; });
    };
    for (const auto& change : changes) {
      const std::string_view key = change.key();
      if (change.value().is_null() || key == kRetainKeys || is_directive_for(key, kSetElementOrder) ||
          is_directive_for(key, kDeleteFromPrimitiveList) || is_retained(key)) {
        continue;
      }
      return error("field \"" + std::string(key) + "\" is in the patch but not in $retainKeys");
    }
    Object kept(object.storage());
    for (auto& member : object)
      if (is_retained(member.key())) kept.emplace(member.key(), std::move(member.value()));
    object = std::move(kept);
    return {};
  }

  Result<std::string_view> directive_target(std::string_view key, std::string_view directive) const {
    if (key.size() <= directive.size() + 1 || key[directive.size()] != '/') {
      return error(std::string(key) + " must be written " + std::string(directive) + "/<field>");
    }
    return key.substr(directive.size() + 1);
  }

  Result<void> delete_scalars(Object& object, std::string_view key, const Value& value) const {
    GW_TRY(const std::string_view field, directive_target(key, kDeleteFromPrimitiveList));
    const Array* unwanted = value.if_array();
    if (unwanted == nullptr) return error(std::string(key) + " must be a list, not a " + std::string(kind_name(value)));
    Value* member = object.if_contains(field);
    if (member == nullptr || !member->is_array()) return {};
    Array kept(object.storage());
    for (Value& item : member->get_array())
      if (index_of(*unwanted, item, {}) == kNowhere) kept.push_back(std::move(item));
    *member = std::move(kept);
    return {};
  }

  Result<void> merge_in_order(Object& object, const Object& changes, std::string_view key, const Value& order_value,
                              const Schema* schema, std::vector<std::string_view>& done) {
    GW_TRY(const std::string_view field, directive_target(key, kSetElementOrder));
    const Array* order = order_value.if_array();
    if (order == nullptr) {
      return error(std::string(key) + " must be a list, not a " + std::string(kind_name(order_value)));
    }
    const Value* change = changes.if_contains(field);
    if (change != nullptr && !change->is_array()) {
      return error(std::string(field) + " must be a list, because the patch has " + std::string(key));
    }
    Value* live = object.if_contains(field);
    if (live != nullptr && !live->is_array())
      return error(std::string(field) + " is not a list, but the patch has " + std::string(key));
    if (live == nullptr && change == nullptr) return {};
    const Schema* list_schema = schema == nullptr ? nullptr : schema->field(field);
    const std::string merge_key = list_schema == nullptr ? std::string() : list_schema->patch_merge_key;
    GW_CHECKED(check_order(field, change, *order, merge_key));
    const Array live_order = live == nullptr ? Array() : live->get_array();
    if (change != nullptr) {
      GW_CHECKED(merge_member(object, field, *change, schema));
      done.push_back(field);
    }
    if (Value* merged = object.if_contains(field); merged != nullptr && merged->is_array()) {
      GW_CHECKED(require_merge_key(field, merged->get_array(), merge_key));
      *merged = ordered(std::move(merged->get_array()), *order, live_order, merge_key);
    }
    return {};
  }

  // The order directive must list every item of the patch's list, in the patch's order.
  Result<void> check_order(std::string_view field, const Value* change, const Array& order,
                           const std::string& merge_key) const {
    if (change == nullptr || order.empty()) return {};
    std::size_t at = 0;
    for (const Value& item : change->get_array()) {
      if (directive_of(item) != nullptr) continue;
      const std::size_t place = index_of(order, item, merge_key);
      if (place == kNowhere || place < at) {
        return misfit("the order of " + std::string(field) + " does not match $setElementOrder/" + std::string(field));
      }
      at = place;
    }
    return {};
  }

  Result<void> require_merge_key(std::string_view field, const Array& items, const std::string& merge_key) const {
    for (const Value& item : items) {
      const Object* object = item.if_object();
      if (object != nullptr && !merge_key.empty() && !object->contains(merge_key)) {
        return misfit("an item of " + std::string(field) + " lacks the merge key \"" + merge_key + "\"");
      }
    }
    return {};
  }

  Result<void> merge_member(Object& object, std::string_view key, const Value& change, const Schema* schema) {
    auto found = object.find(key);
    if (change.is_null()) {
      if (found != object.end()) object.stable_erase(found);
      return {};
    }
    if (found == object.end() || !same_kind(found->value(), change) || !change.is_structured()) {
      Value value = change;
      if (take_new(value)) {
        object.insert_or_assign(key, std::move(value));
      } else if (found != object.end()) {
        object.stable_erase(found);
      }
      return {};
    }
    const Schema* member_schema = schema == nullptr ? nullptr : schema->field(key);
    if (change.is_object() && member_schema != nullptr && member_schema->patch_replace) {
      found->value() = change;
      return {};
    }
    path_.emplace_back(key);
    Result<void> merged = change.is_object() ? merge_object(found->value(), change, member_schema)
                                             : merge_list(found->value(), change.get_array(), member_schema);
    path_.pop_back();
    return merged;
  }

  Result<void> merge_list(Value& original, const Array& patch, const Schema* schema) {
    if (schema == nullptr || !schema->patch_merge) {
      original = patch;
      return {};
    }
    Array& items = original.get_array();
    if (items.empty() && patch.empty()) return {};
    bool has_objects = false, has_scalars = false;
    for (const Array* list : {std::as_const(original).if_array(), &patch}) {
      for (const Value& item : *list) {
        if (item.is_array()) {
          Error nested = error("lists of lists are not supported");
          nested.reason = Reason::kInvalid;
          return nested;
        }
        (item.is_object() ? has_objects : has_scalars) = true;
      }
    }
    if (has_objects && has_scalars) return misfit("a list must not mix objects and other values");
    return has_objects ? merge_objects(items, patch, *schema) : merge_scalars(items, patch);
  }

  Result<void> merge_scalars(Array& items, const Array& patch) const {
    Array merged;
    for (const Array* list : {static_cast<const Array*>(&items), &patch})
      for (const Value& item : *list)
        if (index_of(merged, item, {}) == kNowhere) merged.push_back(item);
    items = ordered(std::move(merged), patch, Array(items), {});
    return {};
  }

  Result<void> merge_objects(Array& items, const Array& patch, const Schema& schema) {
    const std::string& merge_key = schema.patch_merge_key;
    if (merge_key.empty()) return misfit("the list has no merge key, so its items cannot be merged");
    Array changes;
    bool replace = false;
    for (const Value& item : patch) {
      const Value* directive = directive_of(item);
      if (directive == nullptr || *directive != "replace") {
        GW_CHECKED(require_merge_key("the list", Array{item}, merge_key));
      }
      if (directive == nullptr) {
        changes.push_back(item);
      } else if (*directive == "delete") {
        for (std::size_t at; (at = index_of(items, item, merge_key)) != kNowhere;)
          items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
      } else if (*directive == "replace") {
        replace = true;
      } else {
        return misfit("unknown $patch directive " + serialize(*directive) +
                      " in a list item; known are \"replace\" and \"delete\"");
      }
    }
    if (replace) {
      Value fresh = std::move(changes);
      take_new(fresh);
      items = std::move(fresh.get_array());
      return {};
    }
    GW_CHECKED(require_merge_key("the list", items, merge_key));
    const Array live_order = items;
    for (const Value& change : changes) {
      GW_CHECKED(merge_item(items, change, schema));
    }
    items = ordered(std::move(items), changes, live_order, merge_key);
    return {};
  }

  Result<void> merge_item(Array& items, const Value& change, const Schema& schema) {
    const std::size_t at = index_of(items, change, schema.patch_merge_key);
    if (at == kNowhere) {
      Value value = change;
      take_new(value);
      items.push_back(std::move(value));
      return {};
    }
    path_.push_back('[' + schema.patch_merge_key + '=' +
                    serialize(*change.get_object().if_contains(schema.patch_merge_key)) + ']');
    Result<void> merged = merge_object(items[at], change, schema.items);
    path_.pop_back();
    return merged;
  }

  std::vector<std::string> path_;
};

}  // namespace

Result<Value> apply_strategic_merge_patch(Value original, const Value& patch, const Schema* schema) {
  if (!patch.is_object()) return bad_request("a strategic merge patch must be an object");
  if (!original.is_object()) return bad_request("only objects can be patched");
  Merger merger;
  GW_CHECKED(merger.merge_object(original, patch, schema));
  return original;
}

}  // namespace gangway::json
