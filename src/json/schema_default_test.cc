#include "json/schema_default.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/schema_prune.h"
#include "json/test_values.h"

namespace gangway::json {
namespace {

struct Case {
  const char* name;
  const char* schema;  // of the field "f" of an object
  const char* given;
  const char* want;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

const Schema* load(SchemaSet& set, const char* field) {
  auto schema = set.load(json_of(std::string(R"({"type": "object", "properties": {"f": )") + field + "}}"));
  EXPECT_TRUE(schema) << schema.error().message;
  return *schema;
}

class Defaults : public testing::TestWithParam<Case> {};

TEST_P(Defaults, OfCustomResources) {
  SchemaSet set;
  const Schema* schema = load(set, GetParam().schema);
  Value value = json_of(GetParam().given);
  apply_defaults(value, *schema);
  EXPECT_EQ(value, json_of(GetParam().want)) << serialize(value);
}

constexpr const char* kInner = R"({"type": "object", "properties": {"x": {"type": "string", "default": "d"}}})";

INSTANTIATE_TEST_SUITE_P(
    All, Defaults,
    testing::Values(
        Case{"missing", R"({"type": "string", "default": "d"})", "{}", R"({"f": "d"})"},
        Case{"given", R"({"type": "string", "default": "d"})", R"({"f": ""})", R"({"f": ""})"},
        Case{"null_with_default", R"({"type": "string", "default": "d"})", R"({"f": null})", R"({"f": "d"})"},
        Case{"null_nullable", R"({"type": "string", "default": "d", "nullable": true})", R"({"f": null})",
             R"({"f": null})"},
        Case{"null_dropped", R"({"type": "string"})", R"({"f": null, "g": null})", R"({"g": null})"},
        Case{"not_below_what_is_kept_as_given",
             R"({"type": "object", "x-gangway-as-given": true, "properties": {
                 "x": {"type": "string", "default": "d"},
                 "in": {"type": "object", "properties": {"y": {"type": "integer", "default": 1}}}}})",
             R"({"f": {"x": null, "in": {}}})", R"({"f": {"in": {}}})"},
        Case{"not_in_missing_object", kInner, "{}", "{}"},
        Case{"in_existing_object", kInner, R"({"f": {}})", R"({"f": {"x": "d"}})"},
        Case{"in_default_object",
             R"({"type": "object", "default": {}, "properties": {"x": {"type": "string", "default": "d"}}})", "{}",
             R"({"f": {"x": "d"}})"},
        Case{"in_items", R"({"type": "array", "items": {"type": "object", "properties": {"x": {"default": 1}}}})",
             R"({"f": [{}, {"x": 2}, null]})", R"({"f": [{"x": 1}, {"x": 2}, null]})"},
        Case{"in_map",
             R"({"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"default": 1}}}})",
             R"({"f": {"a": {}}})", R"({"f": {"a": {"x": 1}}})"}),
    [](const auto& test) { return test.param.name; });

class Pruned : public testing::TestWithParam<Case> {};

TEST_P(Pruned, CustomResources) {
  SchemaSet set;
  const Schema* schema = load(set, GetParam().schema);
  Value value = json_of(GetParam().given);
  prune(value, *schema);
  EXPECT_EQ(value, json_of(GetParam().want)) << serialize(value);
}

INSTANTIATE_TEST_SUITE_P(
    All, Pruned,
    testing::Values(Case{"root_keeps_type_and_metadata", R"({"type": "string"})",
                         R"({"apiVersion": "v", "kind": "k", "metadata": {"name": "n"}, "x": 1, "f": "a"})",
                         R"({"apiVersion": "v", "kind": "k", "metadata": {"name": "n"}, "f": "a"})"},
                    Case{"nested", R"({"type": "object", "properties": {"a": {"type": "string"}}})",
                         R"({"f": {"a": 1, "b": 2}})", R"({"f": {"a": 1}})"},
                    Case{"items", R"({"type": "array", "items": {"type": "object"}})", R"({"f": [{"b": 1}]})",
                         R"({"f": [{}]})"},
                    Case{"map", R"({"type": "object", "additionalProperties": {"type": "object"}})",
                         R"({"f": {"k": {"b": 1}}})", R"({"f": {"k": {}}})"},
                    Case{"preserved", R"({"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                              "properties": {"in": {"type": "object"}}})",
                         R"({"f": {"b": {"c": 1}, "in": {"d": 1}}})", R"({"f": {"b": {"c": 1}, "in": {}}})"},
                    Case{"embedded", R"({"type": "object", "x-kubernetes-embedded-resource": true,
                             "properties": {"spec": {"type": "object"}}})",
                         R"({"f": {"apiVersion": "v", "kind": "k", "metadata": {"x": 1}, "w": 1, "spec": {"y": 1}}})",
                         R"({"f": {"apiVersion": "v", "kind": "k", "metadata": {"x": 1}, "spec": {}}})"}),
    [](const auto& test) { return test.param.name; });

class Normalized : public testing::TestWithParam<Case> {};

TEST_P(Normalized, BuiltInTypes) {
  SchemaSet set;
  const Schema* schema = load(set, GetParam().schema);
  Value value = json_of(GetParam().given);
  normalize(value, *schema);
  EXPECT_EQ(value, json_of(GetParam().want)) << serialize(value);
}

INSTANTIATE_TEST_SUITE_P(
    All, Normalized,
    testing::Values(
        Case{"unknown_and_null", R"({"type": "string"})", R"({"f": null, "g": 1})", "{}"},
        Case{"zero_left_out", R"({"type": "integer", "x-gangway-omit": true})", R"({"f": 0})", "{}"},
        Case{"zero_of_a_pointer", R"({"type": "integer"})", R"({"f": 0})", R"({"f": 0})"},
        Case{"empty_list_left_out", R"({"type": "array", "x-gangway-omit": true, "items": {"type": "string"}})",
             R"({"f": []})", "{}"},
        Case{"empty_struct_written",
             R"({"type": "object", "x-gangway-empty": {},
                 "properties": {"n": {"type": "integer", "x-gangway-empty": 0}, "s": {"type": "string", "default": "d"}}})",
             "{}", R"({"f": {"n": 0, "s": "d"}})"},
        Case{"null_written", R"({"type": "object", "x-gangway-empty": null})", "{}", R"({"f": null})"},
        Case{"zero_takes_default", R"({"type": "string", "x-gangway-omit": true, "default": "Always"})", R"({"f": ""})",
             R"({"f": "Always"})"},
        Case{"pointer_zero_keeps_default_away", R"({"type": "integer", "default": 30})", R"({"f": 0})", R"({"f": 0})"},
        Case{"null_items", R"({"type": "array", "items": {"type": "object", "properties": {"p": {"default": "TCP"}}}})",
             R"({"f": [null]})", R"({"f": [{"p": "TCP"}]})"},
        Case{"null_in_map", R"({"type": "object", "additionalProperties": {"type": "string"}})",
             R"({"f": {"a": null}})", R"({"f": {"a": ""}})"},
        Case{"quantity", R"({"type": "object", "additionalProperties": {"type": "string", "format": "quantity"}})",
             R"({"f": {"a": "0.5", "b": "1024Mi", "c": 2, "d": "3"}})",
             R"({"f": {"a": "500m", "b": "1Gi", "c": "2", "d": "3"}})"},
        Case{"time", R"({"type": "string", "format": "date-time"})", R"({"f": "2020-01-01T01:00:00.5+01:00"})",
             R"({"f": "2020-01-01T00:00:00Z"})"},
        Case{"micro_time", R"({"type": "string", "format": "date-time", "x-gangway-micro-time": true})",
             R"({"f": "2020-01-01T01:00:00.000001+01:00"})", R"({"f": "2020-01-01T00:00:00.000001Z"})"},
        Case{"anything", R"({"x-kubernetes-preserve-unknown-fields": true})", R"({"f": {"a": {"b": null}}})",
             R"({"f": {"a": {"b": null}}})"}),
    [](const auto& test) { return test.param.name; });

RC_GTEST_PROP(SchemaWalks, AreIdempotent, (const Value& given)) {
  SchemaSet set;
  const Schema* schema = load(set, R"({"type": "object", "default": {"a": {}}, "properties": {
      "a": {"type": "object", "properties": {"b": {"type": "integer", "default": 1}}},
      "name": {"type": "string", "x-gangway-omit": true, "default": "n"},
      "c": {"type": "array", "items": {"type": "object", "properties": {"d/e": {"default": {}}}}}}})");
  Object object;
  object.emplace("f", given);
  Value custom(object), builtin(object);
  prune(custom, *schema);
  apply_defaults(custom, *schema);
  Value again = custom;
  prune(again, *schema);
  apply_defaults(again, *schema);
  RC_ASSERT(again == custom);
  normalize(builtin, *schema);
  again = builtin;
  normalize(again, *schema);
  RC_ASSERT(again == builtin);
}

}  // namespace
}  // namespace gangway::json
