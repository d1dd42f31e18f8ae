#include "apiserver/openapi_schemas.h"

#include <cstdint>
#include <vector>

#include "base/check.h"

namespace gangway::apiserver {
namespace {

using json::Array;
using json::ListType;
using json::MapType;
using json::Object;
using json::Schema;
using json::Type;
using json::Value;
using json::ValueRules;

constexpr std::string_view kReferencePrefix = "#/components/schemas/";

std::string_view type_name(Type type) {
  switch (type) {
    case Type::kObject:
      return "object";
    case Type::kArray:
      return "array";
    case Type::kString:
      return "string";
    case Type::kInteger:
      return "integer";
    case Type::kNumber:
      return "number";
    case Type::kBoolean:
      return "boolean";
    case Type::kAny:
    case Type::kIntOrString:
      return "";
  }
  return "";
}

Array strings(const std::vector<std::string>& values) {
  Array out;
  for (const std::string& value : values) out.emplace_back(value);
  return out;
}

// Limits are kept as doubles; whole ones are written as users wrote them.
Value number(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Value(whole) : Value(value);
}

Object of_type(std::string_view type) {
  return Object{{"type", type}};
}

// "stable.example.com" + "v1" + "Foo" → "com.example.stable.v1.Foo", as custom resources are published.
std::string published_name(const GroupVersionKind& gvk) {
  std::string out;
  std::string_view rest = gvk.group;
  while (!rest.empty()) {
    const auto dot = rest.rfind('.');
    const auto label = dot == std::string_view::npos ? rest : rest.substr(dot + 1);
    out.append(label).append(".");
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(0, dot);
  }
  return out.append(gvk.version).append(".").append(gvk.kind);
}

// "io.k8s.api.core.v1.Pod" belongs to version v1 and kind Pod.
bool is_named_after(const Schema& schema, const GroupVersionKind& gvk) {
  const std::string ending = "." + std::string(gvk.version) + "." + std::string(gvk.kind);
  return schema.name.ends_with(ending);
}

void write_extensions(const Schema& schema, Object& out) {
  if (schema.list_type_given) {
    out["x-kubernetes-list-type"] = schema.list_type == ListType::kMap   ? "map"
                                    : schema.list_type == ListType::kSet ? "set"
                                                                         : "atomic";
  }
  if (!schema.list_keys.empty()) out["x-kubernetes-list-map-keys"] = strings(schema.list_keys);
  if (schema.map_type_given) {
    out["x-kubernetes-map-type"] = schema.map_type == MapType::kAtomic ? "atomic" : "granular";
  }
  if (!schema.patch_merge_key.empty()) out["x-kubernetes-patch-merge-key"] = schema.patch_merge_key;
  if (schema.patch_merge || schema.patch_retain_keys) {
    out["x-kubernetes-patch-strategy"] = schema.patch_merge && schema.patch_retain_keys ? "merge,retainKeys"
                                         : schema.patch_merge                           ? "merge"
                                                                                        : "retainKeys";
  } else if (schema.patch_replace) {
    out["x-kubernetes-patch-strategy"] = "replace";
  }
  if (schema.embedded_resource) out["x-kubernetes-embedded-resource"] = true;
}

}  // namespace

Object gvk_json(const GroupVersionKind& gvk) {
  return Object{{"group", gvk.group}, {"version", gvk.version}, {"kind", gvk.kind}};
}

Object OpenApiComponents::reference(std::string_view component) {
  return Object{{"$ref", std::string(kReferencePrefix) + std::string(component)}};
}

void OpenApiComponents::add_definition(const Schema& schema) {
  if (schemas_.contains(schema.name)) return;
  // The place is taken before the fields are written: types may contain themselves.
  schemas_.emplace(schema.name, nullptr);
  const Schema* definition = shared_.definition(schema.name);
  schemas_[schema.name] = write_inline(definition != nullptr ? *definition : schema);
}

std::string OpenApiComponents::add_meta(std::string_view name) {
  const Schema* schema = shared_.definition(std::string(kMetaPrefix) + std::string(name));
  GW_CHECK(schema != nullptr);
  add_definition(*schema);
  return schema->name;
}

std::string OpenApiComponents::add_kind(const GroupVersionKind& gvk, const Schema& schema) {
  const bool own = is_named_after(schema, gvk);
  const std::string name = own ? schema.name : published_name(gvk);
  if (!schemas_.contains(name)) {
    schemas_.emplace(name, nullptr);
    Object out = write_inline(schema);
    if (!own) {
      Object& properties =
          out["properties"].is_object() ? out["properties"].get_object() : out["properties"].emplace_object();
      write_object_fields(properties);
    }
    schemas_[name] = std::move(out);
  }
  Object& component = schemas_[name].get_object();
  if (!component.contains("x-kubernetes-group-version-kind")) {
    component["x-kubernetes-group-version-kind"] = Array{gvk_json(gvk)};
  }
  return name;
}

// What every object has, in the words that the built-in kinds have for it.
void OpenApiComponents::write_object_fields(Object& properties) {
  const Schema* described = shared_.definition(std::string(kMetaPrefix) + "Status");
  auto field = [&](std::string_view key, Object schema) {
    const Schema* known = described ? described->field(key) : nullptr;
    if (known && !known->description.empty()) schema["description"] = known->description;
    properties[key] = std::move(schema);
  };
  field("apiVersion", of_type("string"));
  field("kind", of_type("string"));
  field("metadata", Object{{"allOf", Array{reference(add_meta("ObjectMeta"))}}});
}

std::string OpenApiComponents::add_list(const GroupVersionKind& list, std::string_view item) {
  const std::string name = std::string(item.substr(0, item.rfind('.') + 1)) + std::string(list.kind);
  schemas_[name] = Object{
      {"type", "object"},
      {"description", "A list of objects of one kind."},
      {"required", Array{"items"}},
      {"properties", Object{{"apiVersion", of_type("string")},
                            {"kind", of_type("string")},
                            {"metadata", reference(add_meta("ListMeta"))},
                            {"items", Object{{"type", "array"}, {"items", reference(item)}}}}},
      {"x-kubernetes-group-version-kind", Array{gvk_json(list)}},
  };
  return name;
}

Value OpenApiComponents::write(const Schema& schema) {
  return schema.name.empty() ? Value(write_inline(schema)) : write_reference(schema);
}

// A reference with keywords beside it needs the allOf: OpenAPI ignores what stands next to a $ref.
Value OpenApiComponents::write_reference(const Schema& schema) {
  add_definition(schema);
  const Schema* definition = shared_.definition(schema.name);
  Object beside;
  if (definition == nullptr || schema.description != definition->description)
    beside["description"] = schema.description;
  if (schema.default_value) beside["default"] = *schema.default_value;
  Object extensions;
  write_extensions(schema, extensions);
  Object known;
  if (definition != nullptr) write_extensions(*definition, known);
  for (const auto& [key, value] : extensions) {
    const Value* inherited = known.if_contains(key);
    if (inherited == nullptr || *inherited != value) beside[key] = value;
  }
  if (beside.empty()) return reference(schema.name);
  beside["allOf"] = Array{reference(schema.name)};
  return beside;
}

Object OpenApiComponents::write_inline(const Schema& schema) {
  Object out;
  if (!schema.description.empty()) out["description"] = schema.description;
  if (schema.format == "quantity") {
    out["oneOf"] = Array{of_type("string"), of_type("number")};
    return out;
  }
  if (schema.type == Type::kIntOrString) {
    out["oneOf"] = Array{of_type("integer"), of_type("string")};
    if (schema.name.empty()) {
      out["x-kubernetes-int-or-string"] = true;
    } else {
      out["format"] = "int-or-string";
    }
  }
  if (const auto type = type_name(schema.type); !type.empty()) out["type"] = type;
  if (!schema.format.empty() && schema.type != Type::kIntOrString) out["format"] = schema.format;
  if (schema.nullable) out["nullable"] = true;
  if (schema.default_value) out["default"] = *schema.default_value;
  const auto& required = schema.documented_required.empty() ? schema.required : schema.documented_required;
  if (!required.empty()) out["required"] = strings(required);
  if (!schema.documented_values.empty()) {
    out["enum"] = Array(schema.documented_values.begin(), schema.documented_values.end());
  }
  // Built-in types that hold anything do not say so in OpenAPI; custom resources do.
  if (schema.preserve_unknown && schema.name.empty()) out["x-kubernetes-preserve-unknown-fields"] = true;
  write_extensions(schema, out);
  if (schema.rules) write_rules(*schema.rules, out);
  write_children(schema, out);
  return out;
}

void OpenApiComponents::write_children(const Schema& schema, Object& out) {
  if (!schema.properties.empty()) {
    Object properties;
    for (const auto& [name, field] : schema.properties) properties[name] = write(*field);
    out["properties"] = std::move(properties);
  }
  if (schema.additional != nullptr) out["additionalProperties"] = write(*schema.additional);
  if (schema.items != nullptr) out["items"] = write(*schema.items);
}

void OpenApiComponents::write_rules(const ValueRules& rules, Object& out) {
  if (!rules.one_of_values.empty()) out["enum"] = Array(rules.one_of_values.begin(), rules.one_of_values.end());
  if (rules.minimum) out["minimum"] = number(*rules.minimum);
  if (rules.maximum) out["maximum"] = number(*rules.maximum);
  if (rules.multiple_of) out["multipleOf"] = number(*rules.multiple_of);
  if (rules.exclusive_minimum) out["exclusiveMinimum"] = true;
  if (rules.exclusive_maximum) out["exclusiveMaximum"] = true;
  const std::pair<const char*, const std::optional<std::size_t>*> sizes[] = {
      {"minLength", &rules.min_length},         {"maxLength", &rules.max_length},
      {"minItems", &rules.min_items},           {"maxItems", &rules.max_items},
      {"minProperties", &rules.min_properties}, {"maxProperties", &rules.max_properties}};
  for (const auto& [key, size] : sizes) {
    if (*size) out[key] = **size;
  }
  if (!rules.pattern.empty()) out["pattern"] = rules.pattern;
  if (rules.unique_items) out["uniqueItems"] = true;
  const std::pair<const char*, const std::vector<const Schema*>*> lists[] = {
      {"allOf", &rules.all_of}, {"anyOf", &rules.any_of}, {"oneOf", &rules.one_of}};
  for (const auto& [key, schemas] : lists) {
    if (schemas->empty()) continue;
    Array alternatives;
    for (const Schema* schema : *schemas) alternatives.push_back(write(*schema));
    out[key] = std::move(alternatives);
  }
  if (rules.negated != nullptr) out["not"] = write(*rules.negated);
  if (!rules.cel_rules.empty()) {
    out["x-kubernetes-validations"] = Array(rules.cel_rules.begin(), rules.cel_rules.end());
  }
}

}  // namespace gangway::apiserver
