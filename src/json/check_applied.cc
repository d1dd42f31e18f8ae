#include <algorithm>
#include <string>

#include "json/list_items.h"
#include "json/structured_merge.h"

namespace gangway::json {
namespace {

std::string_view expected_name(Type type) {
  switch (type) {
    case Type::kObject:
      return "an object";
    case Type::kArray:
      return "a list";
    case Type::kString:
      return "a string";
    case Type::kInteger:
    case Type::kNumber:
      return "numeric (int or float)";
    case Type::kBoolean:
      return "a boolean";
    case Type::kIntOrString:
    case Type::kAny:
      return "a number or a string";
  }
  return "";
}

bool fits(const Value& value, const Schema& schema) {
  switch (schema.type) {
    case Type::kObject:
      return value.is_object();
    case Type::kArray:
      return value.is_array();
    case Type::kString:
      // Quantities may be written as numbers.
      return value.is_string() || (!schema.format.empty() && schema.format != "byte" && !value.is_structured());
    case Type::kInteger:
    case Type::kNumber:
      return value.is_number();
    case Type::kBoolean:
      return value.is_bool();
    case Type::kIntOrString:
      return !value.is_structured();
    case Type::kAny:
      return true;
  }
  return true;
}

// Of what is no number Kubernetes names the type; of what is no text or no list, ours shows what it is instead.
std::string shown_instead_of(Type expected, const Value& value) {
  if (value.is_structured()) return value.is_object() ? "an object" : "a list";
  if (expected == Type::kInteger || expected == Type::kNumber) return value.is_string() ? "string" : "bool";
  return serialize(value);
}

class Checker {
 public:
  Result<void> check(const Value& value, const Schema* schema) {
    if (schema == nullptr || value.is_null()) return {};
    if (!fits(value, *schema)) {
      return error("expected " + std::string(expected_name(schema->type)) + ", got " +
                   shown_instead_of(schema->type, value));
    }
    if (const Object* object = value.if_object()) return check_members(*object, *schema);
    if (const Array* array = value.if_array()) return check_items(*array, *schema);
    return {};
  }

 private:
  Error error(const std::string& what) const {
    return bad_request((path_.empty() ? "" : to_string(path_) + ": ") + what);
  }

  Result<void> check_below(PathElement element, const Value& value, const Schema* schema) {
    path_.push_back(std::move(element));
    Result<void> result = check(value, schema);
    path_.pop_back();
    return result;
  }

  Result<void> check_members(const Object& object, const Schema& schema) {
    const bool closed = schema.type == Type::kObject && !schema.preserve_unknown && schema.additional == nullptr &&
                        !schema.properties.empty();
    for (const auto& member : object) {
      const Schema* field = field_schema(&schema, member.key());
      if (field == nullptr && closed) {
        path_.push_back(PathElement::field(member.key()));
        return error("field not declared in schema");
      }
      GW_CHECKED(check_below(PathElement::field(member.key()), member.value(), field));
    }
    return {};
  }

  Result<void> check_items(const Array& array, const Schema& schema) {
    const bool keyed = schema.list_type != ListType::kAtomic;
    for (std::size_t i = 0; i < array.size(); ++i) {
      if (const std::string problem = keyed ? item_problem(array[i], schema) : ""; !problem.empty()) {
        return error("element " + std::to_string(i) + ": " + problem);
      }
      PathElement element =
          keyed ? item_element(array[i], i, schema) : PathElement{PathElement::Kind::kIndex, std::to_string(i)};
      GW_CHECKED(check_below(std::move(element), array[i], schema.items));
    }
    if (!keyed) return {};
    for (const ItemGroup& group : grouped_items(array, schema)) {
      if (group.items.size() > 1) return error("duplicate entries for key " + to_string(FieldPath{group.element}));
    }
    return {};
  }

  FieldPath path_;
};

}  // namespace

Result<void> check_applied(const Value& applied, const Schema* schema) {
  return Checker().check(applied, schema);
}

}  // namespace gangway::json
