#include "json/schema.h"

#include <gtest/gtest.h>

#include "json/test_values.h"

namespace gangway::json {
namespace {

TEST(SchemaSet, LoadsFieldsSortedWithTheirFacts) {
  SchemaSet set;
  auto schema = set.load(json_of(R"({"type": "object", "required": ["b"], "properties": {
      "b": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "x-kubernetes-patch-merge-key": "k", "x-kubernetes-patch-strategy": "merge,retainKeys",
            "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
      "a": {"x-kubernetes-int-or-string": true, "default": 1},
      "c": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "integer"}}}})"));
  ASSERT_TRUE(schema) << schema.error().message;
  const Schema& root = **schema;
  ASSERT_EQ(root.properties.size(), 3u);
  EXPECT_EQ(root.properties[0].first, "a");
  EXPECT_EQ(root.field("a")->type, Type::kIntOrString);
  EXPECT_EQ(*root.field("a")->default_value, Value(1));
  const Schema& list = *root.field("b");
  EXPECT_EQ(list.list_type, ListType::kMap);
  EXPECT_EQ(list.list_keys, std::vector<std::string>{"k"});
  EXPECT_EQ(list.patch_merge_key, "k");
  EXPECT_TRUE(list.patch_merge);
  EXPECT_TRUE(list.patch_retain_keys);
  EXPECT_EQ(root.field("c")->map_type, MapType::kAtomic);
  EXPECT_EQ(root.field("c")->field("anything")->type, Type::kInteger);
  EXPECT_EQ(root.field("nope"), nullptr);
  EXPECT_EQ(root.required, std::vector<std::string>{"b"});
}

TEST(SchemaSet, DefinitionsMayReferToEachOtherAndToThemselves) {
  SchemaSet set;
  const Value definitions = json_of(R"({
      "x.Node": {"type": "object", "properties": {"next": {"$ref": "#/definitions/x.Node"},
                                                  "leaf": {"$ref": "#/definitions/x.Leaf", "description": "mine"}}},
      "x.Leaf": {"type": "string", "description": "theirs", "enum": ["a"]}})");
  ASSERT_TRUE(set.add_definitions(definitions.get_object()));
  const Schema* node = set.definition("x.Node");
  ASSERT_NE(node, nullptr);
  EXPECT_EQ(node->field("next"), node);
  const Schema* leaf = node->field("leaf");
  EXPECT_EQ(leaf->name, "x.Leaf");
  EXPECT_EQ(leaf->type, Type::kString);
  EXPECT_EQ(leaf->description, "mine");
  ASSERT_NE(leaf->rules, nullptr);
  EXPECT_EQ(leaf->rules->one_of_values.size(), 1u);
  EXPECT_EQ(set.definition("x.Leaf")->description, "theirs");
  EXPECT_EQ(set.definition("x.Other"), nullptr);
}

TEST(SchemaSet, MovingTheSetKeepsTheNodes) {
  SchemaSet set;
  const Value definitions = json_of(R"({"x.A": {"type": "string"}})");
  ASSERT_TRUE(set.add_definitions(definitions.get_object()));
  const Schema* before = set.definition("x.A");
  SchemaSet moved = std::move(set);
  EXPECT_EQ(moved.definition("x.A"), before);
}

struct BadCase {
  const char* name;
  const char* schema;
  const char* message;
};

class SchemaErrors : public testing::TestWithParam<BadCase> {};

TEST_P(SchemaErrors, NameThePlace) {
  SchemaSet set;
  auto schema = set.load(json_of(GetParam().schema));
  ASSERT_FALSE(schema);
  EXPECT_EQ(schema.error().message, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(All, SchemaErrors,
                         testing::Values(BadCase{"no_object", R"(5)", "schema: must be an object"},
                                         BadCase{"type", R"({"properties": {"a": {"items": {"type": "strin"}}}})",
                                                 R"(a.items: unknown type "strin")"},
                                         BadCase{"reference", R"({"properties": {"a": {"$ref": "#/definitions/b"}}})",
                                                 "a: there is no definition #/definitions/b"},
                                         BadCase{"pattern", R"({"properties": {"a": {"pattern": "["}}})",
                                                 "a.pattern: not a regular expression: missing ]: ["},
                                         BadCase{"required", R"({"required": "a"})",
                                                 "schema: required must be a list of strings"},
                                         BadCase{"minimum", R"({"additionalProperties": {"minimum": "1"}})",
                                                 "additionalProperties: minimum must be a number"}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace gangway::json
