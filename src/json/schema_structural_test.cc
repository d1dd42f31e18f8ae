#include "json/schema_structural.h"

#include <gtest/gtest.h>

#include "json/test_values.h"

namespace gangway::json {
namespace {

struct Case {
  const char* name;
  const char* schema;  // of the field "a" of an object
  const char* field;   // below s.properties[a]; null: the schema is fine
  const char* reason;
  const char* message;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

class Structural : public testing::TestWithParam<Case> {};

// Expected causes are what kube-apiserver 1.33 answers for the same definition.
TEST_P(Structural, Mistakes) {
  const Case& c = GetParam();
  const Value schema = json_of(std::string(R"({"type": "object", "properties": {"a": )") + c.schema + "}}");
  std::vector<Cause> want;
  if (c.field != nullptr) want.push_back(Cause{c.reason, c.message, std::string("s.properties[a]") + c.field});
  EXPECT_EQ(check_structural(schema, "s"), want);
}

constexpr const char* kForbidden = "FieldValueForbidden";
constexpr const char* kRequired = "FieldValueRequired";
constexpr const char* kInvalid = "FieldValueInvalid";
constexpr const char* kNotSupported = "FieldValueNotSupported";
constexpr const char* kOk = nullptr;

INSTANTIATE_TEST_SUITE_P(
    All, Structural,
    testing::Values(
        Case{"ok", R"({"type": "array", "items": {"type": "string"}})", kOk, "", ""},
        Case{"no_type", "{}", ".type", kRequired, "Required value: must not be empty for specified object fields"},
        Case{"any", R"({"x-kubernetes-preserve-unknown-fields": true})", kOk, "", ""},
        Case{
            "bad_type", R"({"type": "strin"})", ".type", kNotSupported,
            R"(Unsupported value: "strin": supported values: "array", "boolean", "integer", "number", "object", "string")"},
        Case{"no_items", R"({"type": "array"})", ".items", kRequired, "Required value: must be specified"},
        Case{"items_no_type", R"({"type": "array", "items": {}})", ".items.type", kRequired,
             "Required value: must not be empty for specified array items"},
        Case{"items_list", R"({"type": "array", "items": [{"type": "string"}]})", ".items", kForbidden,
             "Forbidden: items must be a schema object and not an array"},
        Case{"unique", R"({"type": "array", "uniqueItems": true, "items": {"type": "string"}})", ".uniqueItems",
             kForbidden, "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"},
        Case{
            "both_maps",
            R"({"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": {"type": "string"}})",
            ".additionalProperties", kForbidden, "Forbidden: additionalProperties and properties are mutual exclusive"},
        Case{"reference", R"({"type": "object", "$ref": "#/x"})", ".$ref", kForbidden,
             "Forbidden: $ref is not supported"},
        Case{"default_type", R"({"type": "string", "default": 5})", ".default", "FieldValueTypeInvalid",
             R"(Invalid value: "integer":  in body must be of type string: "integer")"},
        Case{"default_unknown",
             R"({"type": "object", "default": {"b": "x", "c": 1}, "properties": {"b": {"type": "string"}}})",
             ".default", kInvalid,
             R"(Invalid value: map[string]interface {}{"b":"x", "c":1}: must not have unknown fields)"},
        Case{"default_enum", R"({"type": "string", "enum": ["a"], "default": "b"})", ".default", kNotSupported,
             R"(Unsupported value: "b": supported values: "a")"},
        Case{"no_keys", R"({"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}})",
             ".x-kubernetes-list-map-keys", kRequired,
             "Required value: must not be empty if x-kubernetes-list-type is map"},
        Case{
            "unknown_key",
            R"({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["z"], "items": {"type": "object"}})",
            ".x-kubernetes-list-map-keys", kInvalid,
            R"(Invalid value: []string{"z"}: entries must all be names of item properties)"},
        Case{
            "optional_key",
            R"({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {"type": "object", "properties": {"k": {"type": "string"}}}})",
            ".items.properties[k].default", kRequired,
            "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property"},
        Case{"list_type", R"({"type": "array", "x-kubernetes-list-type": "foo", "items": {"type": "string"}})",
             ".x-kubernetes-list-type", kNotSupported,
             R"(Unsupported value: "foo": supported values: "atomic", "set", "map")"},
        Case{"set_of_objects", R"({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}})",
             ".items.x-kubernetes-map-type", kInvalid,
             R"(Invalid value: "null": must be atomic as item of a list with x-kubernetes-list-type=set)"},
        Case{"preserve_false", R"({"type": "object", "x-kubernetes-preserve-unknown-fields": false})",
             ".x-kubernetes-preserve-unknown-fields", kInvalid, "Invalid value: false: must be true or undefined"},
        Case{"embedded", R"({"type": "object", "x-kubernetes-embedded-resource": true})", ".properties", kRequired,
             "Required value: must not be empty if x-kubernetes-embedded-resource is true without "
             "x-kubernetes-preserve-unknown-fields"},
        Case{"rule_with_description", R"({"type": "object", "anyOf": [{"description": "x", "required": ["a"]}]})",
             ".anyOf[0].description", kForbidden, "Forbidden: must be empty to be structural"},
        Case{"rule_with_type", R"({"type": "string", "anyOf": [{"type": "string"}]})", ".anyOf[0].type", kForbidden,
             "Forbidden: must be empty to be structural"},
        Case{"int_or_string_rule",
             R"({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]})", kOk, "",
             ""},
        Case{"rule_with_default", R"({"type": "object", "not": {"properties": {"a": {"default": "x"}}}})",
             ".not.properties[a].default", kForbidden, "Forbidden: must be undefined to be structural"}),
    [](const auto& test) { return test.param.name; });

TEST(StructuralRoot, MustBeAnObjectThatLeavesMetadataAlone) {
  const std::pair<const char*, Cause> cases[] = {
      {"{}", {kRequired, "Required value: must not be empty at the root", "s.type"}},
      {R"({"type": "string"})", {kInvalid, R"(Invalid value: "string": must be object at the root)", "s.type"}},
      {R"({"type": "object", "nullable": true})",
       {kForbidden, "Forbidden: nullable cannot be true at the root", "s.nullable"}},
      {R"({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}})",
       {kForbidden,
        "Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified",
        "s.properties[metadata]"}},
  };
  for (const auto& [schema, want] : cases) {
    EXPECT_EQ(check_structural(json_of(schema), "s"), std::vector<Cause>{want}) << schema;
  }
}

}  // namespace
}  // namespace gangway::json
