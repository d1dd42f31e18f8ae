#include "json/schema_structural.h"

#include <algorithm>
#include <string>

#include "base/quote.h"
#include "json/schema.h"
#include "json/schema_decode.h"
#include "json/schema_pattern.h"
#include "json/schema_validate.h"

namespace gangway::json {
namespace {

const Value* get(const Object& schema, std::string_view key) {
  const Value* value = schema.if_contains(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string_view text_at(const Object& schema, std::string_view key) {
  const Value* value = get(schema, key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

bool true_at(const Object& schema, std::string_view key) {
  const Value* value = get(schema, key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

const Object* object_in(const Object& schema, std::string_view key) {
  const Value* value = get(schema, key);
  return value != nullptr && value->is_object() ? &value->get_object() : nullptr;
}

const Array* array_in(const Object& schema, std::string_view key) {
  const Value* value = get(schema, key);
  return value != nullptr && value->is_array() ? &value->get_array() : nullptr;
}

bool contains(const Array& values, std::string_view text) {
  return std::any_of(values.begin(), values.end(),
                     [&](const Value& v) { return v.is_string() && std::string_view(v.get_string()) == text; });
}

constexpr std::string_view kTypes[] = {"array", "boolean", "integer", "number", "object", "string"};
constexpr std::string_view kUnsupported[] = {"$ref",         "definitions",    "id", "$schema", "patternProperties",
                                             "dependencies", "additionalItems"};

class Checker {
 public:
  explicit Checker(std::vector<Cause>& causes) : causes_(causes) {}

  // Where a schema stands decides which words a missing type gets.
  enum class Place { kRoot, kProperty, kItem, kAdditional };

  void walk(const Object& schema, const std::string& path, Place place) {
    check_unsupported(schema, path);
    check_type(schema, path, place);
    if (place == Place::kRoot) check_root(schema, path);
    check_list(schema, path);
    check_map(schema, path);
    check_resource(schema, path);
    check_pattern(schema, path);
    walk_children(schema, path, place);
    for (const std::string_view key : {"allOf", "anyOf", "oneOf"}) {
      const Array* alternatives = array_in(schema, key);
      for (std::size_t i = 0; alternatives != nullptr && i < alternatives->size(); ++i) {
        if (!(*alternatives)[i].is_object()) continue;
        walk_rule((*alternatives)[i].get_object(), path + "." + std::string(key) + "[" + std::to_string(i) + "]",
                  true_at(schema, "x-kubernetes-int-or-string"));
      }
    }
    if (const Object* negated = object_in(schema, "not")) walk_rule(*negated, path + ".not", false);
    check_default(schema, path);
  }

 private:
  void add(std::string_view reason, const std::string& field, std::string message) {
    causes_.push_back(Cause{std::string(reason), std::move(message), field});
  }
  void forbidden(const std::string& field, std::string_view why) {
    add("FieldValueForbidden", field, "Forbidden: " + std::string(why));
  }
  void required(const std::string& field, std::string_view why) {
    add("FieldValueRequired", field, "Required value: " + std::string(why));
  }
  void invalid(const std::string& field, const std::string& value, std::string_view why) {
    add("FieldValueInvalid", field, "Invalid value: " + value + ": " + std::string(why));
  }
  void unsupported(const std::string& field, std::string_view value, std::string_view supported) {
    add("FieldValueNotSupported", field,
        "Unsupported value: " + quoted(value) + ": supported values: " + std::string(supported));
  }

  void check_unsupported(const Object& schema, const std::string& path) {
    for (const std::string_view key : kUnsupported) {
      if (get(schema, key) != nullptr) {
        forbidden(path + "." + std::string(key), std::string(key) + " is not supported");
      }
    }
    if (true_at(schema, "uniqueItems")) {
      forbidden(path + ".uniqueItems",
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    }
    if (object_in(schema, "properties") != nullptr && object_in(schema, "additionalProperties") != nullptr) {
      forbidden(path + ".additionalProperties", "additionalProperties and properties are mutual exclusive");
    }
    const Value* preserve = get(schema, "x-kubernetes-preserve-unknown-fields");
    if (preserve != nullptr && preserve->is_bool() && !preserve->get_bool()) {
      invalid(path + ".x-kubernetes-preserve-unknown-fields", "false", "must be true or undefined");
    }
  }

  void check_type(const Object& schema, const std::string& path, Place place) {
    const std::string_view type = text_at(schema, "type");
    if (!type.empty()) {
      if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes)) {
        unsupported(path + ".type", type, R"("array", "boolean", "integer", "number", "object", "string")");
        if (type == "null") forbidden(path + ".type", "type cannot be set to null, use nullable as an alternative");
      } else if (place == Place::kRoot && type != "object") {
        invalid(path + ".type", quoted(type), "must be object at the root");
      }
      const Value* items = get(schema, "items");
      if (type == "array" && items == nullptr) required(path + ".items", "must be specified");
      return;
    }
    if (true_at(schema, "x-kubernetes-int-or-string")) return;
    switch (place) {
      case Place::kRoot:
        return required(path + ".type", "must not be empty at the root");
      case Place::kItem:
        if (true_at(schema, "x-kubernetes-preserve-unknown-fields")) return;
        return required(path + ".type", "must not be empty for specified array items");
      case Place::kProperty:
      case Place::kAdditional:
        if (true_at(schema, "x-kubernetes-preserve-unknown-fields")) return;
        return required(path + ".type", "must not be empty for specified object fields");
    }
  }

  void check_root(const Object& schema, const std::string& path) {
    if (true_at(schema, "nullable")) forbidden(path + ".nullable", "nullable cannot be true at the root");
    const Object* properties = object_in(schema, "properties");
    const Object* metadata = properties != nullptr ? object_in(*properties, "metadata") : nullptr;
    const Object* fields = metadata != nullptr ? object_in(*metadata, "properties") : nullptr;
    if (fields == nullptr) return;
    for (const auto& [name, field] : *fields) {
      if (std::string_view(name) != "name" && std::string_view(name) != "generateName") {
        forbidden(path + ".properties[metadata]",
                  "must not specify anything other than name and generateName, but metadata is implicitly specified");
        return;
      }
      if (field.is_object() && get(field.get_object(), "default") != nullptr) {
        forbidden(path + ".properties[metadata].properties[" + std::string(name) + "].default",
                  "must not be set in top-level metadata");
      }
    }
  }

  void check_list(const Object& schema, const std::string& path) {
    const std::string_view list_type = text_at(schema, "x-kubernetes-list-type");
    const Array* keys = array_in(schema, "x-kubernetes-list-map-keys");
    const bool has_keys = keys != nullptr && !keys->empty();
    if (list_type.empty()) {
      if (has_keys) {
        required(path + ".x-kubernetes-list-type", "must be map if x-kubernetes-list-map-keys is non-empty");
      }
      return;
    }
    if (list_type != "atomic" && list_type != "set" && list_type != "map") {
      return unsupported(path + ".x-kubernetes-list-type", list_type, R"("atomic", "set", "map")");
    }
    if (text_at(schema, "type") != "array") {
      return invalid(path + ".type", quoted(text_at(schema, "type")),
                     "must be array if x-kubernetes-list-type is specified");
    }
    const Object* items = object_in(schema, "items");
    if (items == nullptr) return;
    if (list_type == "set") check_set_items(*items, path + ".items");
    if (list_type == "map") check_map_items(schema, *items, keys, path);
  }

  void check_set_items(const Object& items, const std::string& path) {
    if (text_at(items, "type") == "object" && text_at(items, "x-kubernetes-map-type") != "atomic") {
      const std::string_view given = text_at(items, "x-kubernetes-map-type");
      invalid(path + ".x-kubernetes-map-type", quoted(given.empty() ? "null" : given),
              "must be atomic as item of a list with x-kubernetes-list-type=set");
    }
    if (text_at(items, "type") == "array" && text_at(items, "x-kubernetes-list-type") != "atomic") {
      const std::string_view given = text_at(items, "x-kubernetes-list-type");
      invalid(path + ".x-kubernetes-list-type", quoted(given.empty() ? "null" : given),
              "must be atomic as item of a list with x-kubernetes-list-type=set");
    }
  }

  void check_map_items(const Object& schema, const Object& items, const Array* keys, const std::string& path) {
    const std::string keys_path = path + ".x-kubernetes-list-map-keys";
    if (keys == nullptr || keys->empty()) {
      return required(keys_path, "must not be empty if x-kubernetes-list-type is map");
    }
    if (text_at(items, "type") != "object") {
      return invalid(path + ".items.type", quoted(text_at(items, "type")),
                     "must be object if parent array's x-kubernetes-list-type is map");
    }
    const Object* fields = object_in(items, "properties");
    const Array* needed = array_in(items, "required");
    for (const Value& key : *keys) {
      if (!key.is_string()) continue;
      const std::string_view name = key.get_string();
      const Object* field = fields != nullptr ? object_in(*fields, name) : nullptr;
      if (field == nullptr) {
        invalid(keys_path, go_strings(*array_in(schema, "x-kubernetes-list-map-keys")),
                "entries must all be names of item properties");
      } else if (get(*field, "default") == nullptr && (needed == nullptr || !contains(*needed, name))) {
        required(path + ".items.properties[" + std::string(name) + "].default",
                 "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property");
      }
    }
  }

  static std::string go_strings(const Array& values) {
    std::string out = "[]string{";
    for (const Value& value : values) {
      if (out.back() != '{') out += ", ";
      if (value.is_string()) out += quoted(value.get_string());
    }
    return out + "}";
  }

  void check_map(const Object& schema, const std::string& path) {
    const std::string_view map_type = text_at(schema, "x-kubernetes-map-type");
    if (map_type.empty()) return;
    if (map_type != "atomic" && map_type != "granular") {
      unsupported(path + ".x-kubernetes-map-type", map_type, R"("atomic", "granular")");
    } else if (text_at(schema, "type") != "object") {
      invalid(path + ".type", quoted(text_at(schema, "type")), "must be object if x-kubernetes-map-type is specified");
    }
  }

  void check_resource(const Object& schema, const std::string& path) {
    if (!true_at(schema, "x-kubernetes-embedded-resource")) return;
    const Object* properties = object_in(schema, "properties");
    if ((properties == nullptr || properties->empty()) && !true_at(schema, "x-kubernetes-preserve-unknown-fields")) {
      required(path + ".properties",
               "must not be empty if x-kubernetes-embedded-resource is true without "
               "x-kubernetes-preserve-unknown-fields");
    }
    if (text_at(schema, "type") != "object") {
      invalid(path + ".type", quoted(text_at(schema, "type")),
              "must be object if x-kubernetes-embedded-resource is true");
    }
  }

  void check_pattern(const Object& schema, const std::string& path) {
    const std::string pattern(text_at(schema, "pattern"));
    if (pattern.empty()) return;
    if (auto compiled = Pattern::compile(pattern); !compiled) {
      invalid(path + ".pattern", quoted(pattern),
              "must be a valid regular expression, but isn't: " + compiled.error().message);
    }
  }

  void walk_children(const Object& schema, const std::string& path, Place place) {
    if (const Object* properties = object_in(schema, "properties")) {
      for (const auto& [name, child] : *properties) {
        // Metadata at the root is known anyhow; what may be said about it was checked with the root.
        const bool metadata = place == Place::kRoot && std::string_view(name) == "metadata";
        if (!child.is_object() || metadata) continue;
        walk(child.get_object(), path + ".properties[" + std::string(name) + "]", Place::kProperty);
      }
    }
    if (const Object* additional = object_in(schema, "additionalProperties")) {
      walk(*additional, path + ".additionalProperties", Place::kAdditional);
    }
    const Value* items = get(schema, "items");
    if (items != nullptr && items->is_array()) {
      forbidden(path + ".items", "items must be a schema object and not an array");
    } else if (items != nullptr && items->is_object()) {
      walk(items->get_object(), path + ".items", Place::kItem);
    }
  }

  // Inside allOf, anyOf, oneOf and not, a schema may only state value rules; what fields exist is said outside.
  void walk_rule(const Object& schema, const std::string& path, bool int_or_string) {
    const std::string_view type = text_at(schema, "type");
    if (!type.empty() && !(int_or_string && (type == "integer" || type == "string"))) {
      forbidden(path + ".type", "must be empty to be structural");
    }
    for (const std::string_view key : {"title", "description"}) {
      if (!text_at(schema, key).empty()) {
        forbidden(path + "." + std::string(key), "must be empty to be structural");
      }
    }
    if (get(schema, "default") != nullptr) forbidden(path + ".default", "must be undefined to be structural");
    if (get(schema, "additionalProperties") != nullptr) {
      forbidden(path + ".additionalProperties", "must be undefined to be structural");
    }
    for (const std::string_view key : {"nullable", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string",
                                       "x-kubernetes-embedded-resource"}) {
      if (true_at(schema, key)) forbidden(path + "." + std::string(key), "must be false to be structural");
    }
    check_unsupported(schema, path);
    check_pattern(schema, path);
    if (const Object* properties = object_in(schema, "properties")) {
      for (const auto& [name, child] : *properties) {
        if (child.is_object()) {
          walk_rule(child.get_object(), path + ".properties[" + std::string(name) + "]", false);
        }
      }
    }
    if (const Object* items = object_in(schema, "items")) walk_rule(*items, path + ".items", false);
    for (const std::string_view key : {"allOf", "anyOf", "oneOf"}) {
      const Array* alternatives = array_in(schema, key);
      for (std::size_t i = 0; alternatives != nullptr && i < alternatives->size(); ++i) {
        if (!(*alternatives)[i].is_object()) continue;
        walk_rule((*alternatives)[i].get_object(), path + "." + std::string(key) + "[" + std::to_string(i) + "]",
                  false);
      }
    }
    if (const Object* negated = object_in(schema, "not")) walk_rule(*negated, path + ".not", false);
  }

  void check_default(const Object& schema, const std::string& path) {
    const Value* value = get(schema, "default");
    if (value == nullptr) return;
    SchemaSet set;
    const auto loaded = set.load(Value(schema));
    if (!loaded) return;
    const std::string at = path + ".default";
    if (!unknown_fields(*value, **loaded, Dialect::kCustom).empty()) {
      return invalid(at, go_value(*value), "must not have unknown fields");
    }
    for (Cause cause : validate(*value, **loaded, Dialect::kCustom)) {
      cause.field = cause.field == "<nil>" ? at : at + "." + cause.field;
      causes_.push_back(std::move(cause));
    }
  }

  static std::string go_value(const Value& value) {
    if (!value.is_object()) return serialize(value);
    std::vector<std::string> fields;
    for (const auto& [key, child] : value.get_object()) fields.push_back(quoted(key) + ":" + go_value(child));
    std::sort(fields.begin(), fields.end());
    std::string out = "map[string]interface {}{";
    for (const std::string& field : fields) out += (out.back() == '{' ? "" : ", ") + field;
    return out + "}";
  }

  std::vector<Cause>& causes_;
};

}  // namespace

std::vector<Cause> check_structural(const Value& schema, std::string_view path) {
  std::vector<Cause> causes;
  if (!schema.is_object()) {
    causes.push_back(Cause{"FieldValueRequired", "Required value: schemas are required", std::string(path)});
    return causes;
  }
  Checker(causes).walk(schema.get_object(), std::string(path), Checker::Place::kRoot);
  return causes;
}

}  // namespace gangway::json
