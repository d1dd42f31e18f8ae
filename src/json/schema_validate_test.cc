#include "json/schema_validate.h"

#include <gtest/gtest.h>

#include "json/schema_format.h"
#include "json/test_values.h"

namespace gangway::json {
namespace {

struct Case {
  const char* name;
  const char* schema;  // of the field "f"
  const char* value;   // of the field "f"
  std::vector<Cause> want;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

Cause invalid(std::string message, std::string field = "f") {
  return {"FieldValueInvalid", std::move(message), std::move(field)};
}
Cause wrong_type(std::string message, std::string field = "f") {
  return {"FieldValueTypeInvalid", std::move(message), std::move(field)};
}
Cause required(std::string field) {
  return {"FieldValueRequired", "Required value", std::move(field)};
}

class CustomResource : public testing::TestWithParam<Case> {};

// Expected causes are what kube-apiserver 1.33 answers for the same schema and value.
TEST_P(CustomResource, Validation) {
  SchemaSet set;
  auto schema = set.load(json_of(std::string(R"({"type": "object", "properties": {"f": )") + GetParam().schema + "}}"));
  ASSERT_TRUE(schema) << schema.error().message;
  const Value object = json_of(std::string(R"({"f": )") + GetParam().value + "}");
  EXPECT_EQ(validate(object, **schema, Dialect::kCustom), GetParam().want);
}

constexpr const char* kMapList =
    R"({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "k2"],
    "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "k2": {"type": "integer"}}}})";
constexpr const char* kList = R"({"type": "array", "minItems": 1, "maxItems": 2,
    "items": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}})";

INSTANTIATE_TEST_SUITE_P(
    All, CustomResource,
    testing::Values(
        Case{"ok", R"({"type": "integer", "minimum": 1, "maximum": 5})", "3", {}},
        Case{"whole_number", R"({"type": "integer"})", "2.0", {}},
        Case{"not_whole",
             R"({"type": "integer"})",
             "1.5",
             {wrong_type(R"(Invalid value: "number": f in body must be of type integer: "number")")}},
        Case{"int32_is_not_checked", R"({"type": "integer", "format": "int32"})", "3000000000", {}},
        Case{"type",
             R"({"type": "boolean"})",
             R"("x")",
             {wrong_type(R"(Invalid value: "string": f in body must be of type boolean: "string")")}},
        Case{"null_item",
             kList,
             "[null]",
             {wrong_type(R"(Invalid value: "null": f[0] in body must be of type object: "null")", "f[0]")}},
        Case{"nullable", R"({"type": "string", "nullable": true})", "null", {}},
        Case{"maximum",
             R"({"type": "integer", "maximum": 5})",
             "9",
             {invalid("Invalid value: 9: f in body should be less than or equal to 5")}},
        Case{"exclusive_minimum",
             R"({"type": "number", "minimum": 0, "exclusiveMinimum": true})",
             "0",
             {invalid("Invalid value: 0: f in body should be greater than 0")}},
        Case{"multiple",
             R"({"type": "number", "multipleOf": 2})",
             "3",
             {invalid("Invalid value: 3: f in body should be a multiple of 2")}},
        Case{"multiple_of_a_fraction", R"({"type": "number", "multipleOf": 0.5})", "2.5", {}},
        Case{"an_integer_meets_the_integer_part_of_a_factor",
             R"({"type": "number", "multipleOf": 0.5})",
             "3",
             {invalid("Invalid value: 0: factor MultipleOf declared for f must be positive: 0")}},
        Case{"an_integer_meets_the_integer_part_of_a_limit", R"({"type": "number", "minimum": 3.5})", "3", {}},
        Case{"min_length_before_pattern",
             R"({"type": "string", "minLength": 2, "pattern": "^[a-z]+$"})",
             R"("A")",
             {invalid(R"(Invalid value: "A": f in body should be at least 2 chars long)")}},
        Case{"length_counts_characters", R"({"type": "string", "maxLength": 2})", R"("äö")", {}},
        Case{"max_length",
             R"({"type": "string", "maxLength": 4})",
             R"("abcdef")",
             {{"FieldValueTooLong", "Too long: may not be more than 4 bytes", "f"}}},
        Case{"pattern",
             R"({"x-kubernetes-int-or-string": true, "pattern": "^[0-9]+m?$"})",
             R"("x")",
             {invalid(R"(Invalid value: "x": f in body should match '^[0-9]+m?$')")}},
        Case{"enum",
             R"({"type": "string", "enum": ["A", "B"]})",
             R"("C")",
             {{"FieldValueNotSupported", R"(Unsupported value: "C": supported values: "A", "B")", "f"}}},
        Case{"enum_number",
             R"({"type": "integer", "enum": [1, 2]})",
             "3",
             {{"FieldValueNotSupported", R"(Unsupported value: 3: supported values: "1", "2")", "f"}}},
        Case{"enum_and_type",
             R"({"type": "string", "enum": ["A", "B"]})",
             "{}",
             {wrong_type(R"(Invalid value: "object": f in body must be of type string: "object")"),
              {"FieldValueNotSupported", R"(Unsupported value: map[string]interface {}{}: supported values: "A", "B")",
               "f"}}},
        Case{"format",
             R"({"type": "string", "format": "date-time"})",
             R"("x")",
             {wrong_type(R"(Invalid value: "x": f in body must be of type date-time: "x")")}},
        Case{"int_or_string",
             R"({"x-kubernetes-int-or-string": true})",
             "true",
             {wrong_type(R"(Invalid value: "boolean": f in body must be of type integer,string: "boolean")")}},
        Case{"set",
             R"({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}})",
             R"(["a", "b", "a", "a"])",
             {{"FieldValueDuplicate", R"(Duplicate value: "a")", "f[2]"}}},
        Case{"map_list",
             kMapList,
             R"([{"k": "a", "k2": 7}, {"k": "a", "k2": 7}, {"k": "b"}])",
             {{"FieldValueDuplicate", R"(Duplicate value: map[string]interface {}{"k":"a", "k2":7})", "f[1]"}}},
        Case{"required_in_items",
             kList,
             R"([{}, {"a": "x"}])",
             {required("f[0].a"),
              wrong_type(R"(Invalid value: "string": f[1].a in body must be of type integer: "string")", "f[1].a")}},
        Case{"too_many",
             kList,
             R"([{"a": 1}, {"a": 1}, {"a": 1}])",
             {{"FieldValueTooMany", "Too many: 3: must have at most 2 items", "f"}}},
        Case{"too_few", kList, "[]", {invalid("Invalid value: 0: f in body should have at least 1 items")}},
        Case{"map",
             R"({"type": "object", "maxProperties": 1, "additionalProperties": {"type": "integer", "minimum": 1}})",
             R"({"a": 0, "b": 2})",
             {invalid("Invalid value: 0: f.a in body should be greater than or equal to 1", "f.a"),
              {"FieldValueTooMany", "Too many: 2: must have at most 1 items", "f"}}},
        Case{
            "any_of",
            R"({"type": "object", "anyOf": [{"required": ["p"]}, {"required": ["q"]}]})",
            "{}",
            {invalid(R"(Invalid value: "": "f" must validate at least one schema (anyOf))", "<nil>"), required("f.p")}},
        Case{"one_of_two",
             R"({"type": "object", "oneOf": [{"required": ["p"]}, {"required": ["q"]}]})",
             R"({"p": "a", "q": "b"})",
             {invalid(
                 R"(Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives)",
                 "<nil>")}},
        Case{"one_of_none",
             R"({"type": "object", "oneOf": [{"required": ["p"]}, {"required": ["q"]}]})",
             "{}",
             {invalid(R"(Invalid value: "": "f" must validate one and only one schema (oneOf). Found none valid)",
                      "<nil>"),
              required("f.p")}},
        Case{"not",
             R"({"type": "object", "not": {"required": ["p"]}})",
             R"({"p": 1})",
             {invalid(R"(Invalid value: "": "f" must not validate the schema (not))", "<nil>")}},
        Case{"all_of",
             R"({"type": "integer", "allOf": [{"minimum": 3}, {"maximum": 1}]})",
             "2",
             {invalid("Invalid value: 2: f in body should be greater than or equal to 3"),
              invalid("Invalid value: 2: f in body should be less than or equal to 1"),
              invalid(R"(Invalid value: "": "f" must validate all the schemas (allOf). None validated)", "<nil>")}},
        Case{
            "embedded",
            R"({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true})",
            R"({"w": 1})",
            {{"FieldValueRequired", "Required value: must not be empty", "f.apiVersion"},
             {"FieldValueRequired", "Required value: must not be empty", "f.kind"}}}),
    [](const auto& test) { return test.param.name; });

TEST(Validate, WhatDidNotChangeIsNotHeldAgainstAnUpdate) {
  SchemaSet set;
  auto schema = set.load(json_of(R"({"type": "object", "properties": {
      "a": {"type": "integer", "maximum": 1}, "b": {"type": "integer", "maximum": 1},
      "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
               "items": {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer", "maximum": 1}}}}}})"));
  ASSERT_TRUE(schema);
  const Value old = json_of(R"({"a": 5, "b": 0, "list": [{"k": "x", "v": 5}]})");
  const Value now = json_of(R"({"a": 5, "b": 6, "list": [{"k": "y", "v": 7}, {"k": "x", "v": 5}]})");
  EXPECT_EQ(validate(now, **schema, Dialect::kCustom, &old),
            (std::vector<Cause>{
                invalid("Invalid value: 6: b in body should be less than or equal to 1", "b"),
                invalid("Invalid value: 7: list[0].v in body should be less than or equal to 1", "list[0].v")}));
}

TEST(Validate, BuiltInKindsCountAZeroAsMissing) {
  SchemaSet set;
  auto schema = set.load(json_of(R"({"type": "object", "required": ["containers", "name", "mode"], "properties": {
      "containers": {"type": "array", "x-gangway-empty": null, "items": {"type": "object"}},
      "name": {"type": "string", "x-gangway-empty": ""}, "mode": {"type": "integer"},
      "policy": {"type": "string", "x-gangway-omit": true, "enum": ["Always", "Never"]},
      "count": {"type": "integer", "minimum": 0}}})"));
  ASSERT_TRUE(schema);
  EXPECT_EQ(validate(json_of(R"({"containers": null, "name": "", "mode": 0, "policy": "x", "count": -1})"), **schema,
                     Dialect::kBuiltin),
            (std::vector<Cause>{
                {"FieldValueNotSupported", R"(Unsupported value: "x": supported values: "Always", "Never")", "policy"},
                invalid("Invalid value: -1: must be greater than or equal to 0", "count"),
                required("containers"),
                required("name")}));
}

TEST(Formats, AcceptAndRefuse) {
  struct FormatCase {
    const char* format;
    const char* good;
    const char* bad;
  };
  const FormatCase cases[] = {
      {"date-time", "2020-01-01T00:00:00.5Z", "2020-01-01"},
      {"date", "2020-02-29", "2020-1-1"},
      {"byte", "aGk=", "!!"},
      {"uuid", "6D2090B6-b389-4261-8fa4-f90b102c38b0", "x"},
      {"ipv4", "10.0.0.1", "999.1.1.1"},
      {"ipv6", "fe80::1", "10.0.0.1"},
      {"cidr", "10.0.0.0/8", "10.0.0.0/33"},
      {"duration", "1h30m", "x"},
      {"email", "a@example.com", "x"},
      {"uri", "https://example.com/a%20b", "%%"},
      {"hostname", "node-1.example.com", "-_"},
      {"mac", "00:11:22:33:44:55", "00:11"},
  };
  for (const auto& c : cases) {
    EXPECT_TRUE(matches_format(c.format, c.good)) << c.format;
    EXPECT_FALSE(matches_format(c.format, c.bad)) << c.format;
  }
  EXPECT_TRUE(matches_format("no-such-format", "anything"));
}

}  // namespace
}  // namespace gangway::json
