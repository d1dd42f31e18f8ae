#include "json/strategic_merge.h"

#include <gtest/gtest.h>

#include "json/test_schemas.h"

namespace gangway::json {
namespace {

TEST(StrategicMerge, MergesBySchema) {
  struct Case {
    const char* name;
    const char* original;
    const char* patch;
    const char* want;
  };
  const Case cases[] = {
      {"objects merge, null deletes", R"({"spec":{"replicas":1,"paused":true}})",
       R"({"spec":{"replicas":2,"paused":null,"nope":null}})", R"({"spec":{"replicas":2}})"},
      {"nulls of new objects are dropped", R"({})", R"({"metadata":{"labels":{"a":"1","b":null}}})",
       R"({"metadata":{"labels":{"a":"1"}}})"},
      {"keyed lists merge, a new item goes first", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"name":"a","image":"2"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"name":"a","image":"2"},{"name":"b"}]}})"},
      {"keyed lists of keyed lists",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"Y","value":"1"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"Y","value":"2"}]}]}})",
       R"({"spec":{"containers":[{"name":"a","env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}]}]}})"},
      {"delete an item", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"a","$patch":"delete"}]}})", R"({"spec":{"containers":[{"name":"b"}]}})"},
      {"replace a list", R"({"spec":{"containers":[{"name":"a"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"$patch":"replace"},{"name":"z"}]}})", R"({"spec":{"containers":[{"name":"z"}]}})"},
      {"replace an object", R"({"metadata":{"labels":{"a":"1"}}})",
       R"({"metadata":{"labels":{"$patch":"replace","b":"2"}}})", R"({"metadata":{"labels":{"b":"2"}}})"},
      {"delete an object", R"({"metadata":{"labels":{"a":"1"}}})", R"({"metadata":{"labels":{"$patch":"delete"}}})",
       R"({"metadata":{"labels":{}}})"},
      {"scalars merge", R"({"metadata":{"finalizers":["a","b"]}})", R"({"metadata":{"finalizers":["c","b"]}})",
       R"({"metadata":{"finalizers":["c","a","b"]}})"},
      {"scalars are deleted", R"({"metadata":{"finalizers":["a","b","c"]}})",
       R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["b"]}})", R"({"metadata":{"finalizers":["a","c"]}})"},
      {"scalars are ordered", R"({"metadata":{"finalizers":["a","b","c"]}})",
       R"({"metadata":{"$setElementOrder/finalizers":["c","d","a"],"finalizers":["d"]}})",
       R"({"metadata":{"finalizers":["b","c","d","a"]}})"},
      {"items are ordered", R"({"spec":{"containers":[{"name":"a"},{"name":"b"},{"name":"c"}]}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"},{"name":"a"}],"containers":[{"name":"a","image":"1"}]}})",
       R"({"spec":{"containers":[{"name":"b"},{"name":"c"},{"name":"a","image":"1"}]}})"},
      {"an order for a list that is not there", R"({"spec":{}})",
       R"({"spec":{"$setElementOrder/containers":[{"name":"c"}]}})", R"({"spec":{}})"},
      {"retained keys", R"({"spec":{"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}}}})",
       R"({"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}})",
       R"({"spec":{"strategy":{"type":"Recreate"}}})"},
      {"atomic lists are replaced", R"({"spec":{"args":["a","b"]}})", R"({"spec":{"args":["c"]}})",
       R"({"spec":{"args":["c"]}})"},
      {"lists without schema are replaced", R"({"spec":{"free":{"l":[{"name":"a"}]}}})",
       R"({"spec":{"free":{"l":[{"name":"b"}]}}})", R"({"spec":{"free":{"l":[{"name":"b"}]}}})"},
      {"another type replaces", R"({"spec":{"free":{"l":{"x":1}}}})", R"({"spec":{"free":{"l":5}}})",
       R"({"spec":{"free":{"l":5}}})"},
  };
  for (const Case& c : cases) {
    const Result<Value> got = apply_strategic_merge_patch(json_of(c.original), json_of(c.patch), &test_schema());
    ASSERT_TRUE(got) << c.name << ": " << got.error().message;
    EXPECT_EQ(serialize(*got), c.want) << c.name;
  }
}

TEST(StrategicMerge, ReplacesWhatItsSchemaWantsReplaced) {
  SchemaSet set;
  const Schema* schema = set.load(json_of(R"({"type":"object","properties":{"selector":{"type":"object",
      "x-kubernetes-patch-strategy":"replace","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}})"))
                             .value();
  const Result<Value> got =
      apply_strategic_merge_patch(json_of(R"({"selector":{"a":"1"}})"), json_of(R"({"selector":{"b":"2"}})"), schema);
  EXPECT_EQ(got.value(), json_of(R"({"selector":{"b":"2"}})"));
}

TEST(StrategicMerge, RefusesBadDirectives) {
  struct Case {
    const char* patch;
    const char* message;
    Reason reason = Reason::kUnknown;
  };
  const Case cases[] = {
      {"[]", "must be an object", Reason::kBadRequest},
      {R"({"metadata":{"labels":{"$patch":"merge"}}})", "metadata.labels: unknown $patch directive \"merge\""},
      {R"({"spec":{"containers":[{"name":"a","$patch":"burn"}]}})",
       "spec.containers: unknown $patch directive \"burn\" in a list item"},
      {R"({"spec":{"containers":[{"image":"a"}]}})",
       "spec.containers: an item of the list lacks the merge key \"name\""},
      {R"({"spec":{"containers":["a"]}})", "spec.containers: a list must not mix objects and other values"},
      {R"({"spec":{"containers":[[1]]}})", "spec.containers: lists of lists are not supported", Reason::kInvalid},
      {R"({"spec":{"containers":[{"name":"a","env":[{"value":"x"}]}]}})",
       "spec.containers[name=\"a\"].env: an item of the list lacks the merge key \"name\""},
      {R"({"spec":{"strategy":{"$retainKeys":["x"],"type":"a"}}})",
       "spec.strategy: field \"type\" is in the patch but not in $retainKeys", Reason::kBadRequest},
      {R"({"spec":{"strategy":{"$retainKeys":"x"}}})", "spec.strategy: $retainKeys must be a list",
       Reason::kBadRequest},
      {R"({"metadata":{"$deleteFromPrimitiveList":["a"]}})", "metadata: $deleteFromPrimitiveList must be written",
       Reason::kBadRequest},
      {R"({"metadata":{"$deleteFromPrimitiveList/finalizers":"a"}})", "must be a list, not a string",
       Reason::kBadRequest},
      {R"({"metadata":{"$setElementOrder/finalizers":"a"}})", "must be a list, not a string", Reason::kBadRequest},
      {R"({"metadata":{"$setElementOrder/finalizers":["x"],"finalizers":["y"]}})",
       "the order of finalizers does not match $setElementOrder/finalizers"},
  };
  const char* original =
      R"({"metadata":{"labels":{},"finalizers":["x"]},"spec":{"strategy":{},"containers":[{"name":"a","env":[{"name":"n"}]}]}})";
  for (const Case& c : cases) {
    const Result<Value> got = apply_strategic_merge_patch(json_of(original), json_of(c.patch), &test_schema());
    ASSERT_FALSE(got) << c.patch;
    EXPECT_EQ(got.error().reason, c.reason) << c.patch;
    EXPECT_NE(got.error().message.find(c.message), std::string::npos) << got.error().message;
  }
}

}  // namespace
}  // namespace gangway::json
