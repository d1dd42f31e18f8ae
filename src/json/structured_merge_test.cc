#include "json/structured_merge.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/test_schemas.h"

namespace gangway::json {
namespace {

std::string text_of(const FieldSet& set) {
  return serialize(set.to_value());
}

TEST(FieldsOf, WalksBySchema) {
  struct Case {
    const char* name;
    const char* value;
    const char* want;
  };
  const Case cases[] = {
      {"leaves of structs", R"({"spec":{"replicas":1,"strategy":{"type":"a"}}})",
       R"({"f:spec":{"f:replicas":{},"f:strategy":{"f:type":{}}}})"},
      {"entries of maps, empty maps, nulls",
       R"({"metadata":{"labels":{"a":"1"},"annotations":{}},"spec":{"paused":null}})",
       R"({"f:metadata":{"f:annotations":{},"f:labels":{"f:a":{}}},"f:spec":{"f:paused":{}}})"},
      {"atomic lists and maps", R"({"spec":{"args":["a"],"selector":{"matchLabels":{"a":"1"}}}})",
       R"({"f:spec":{"f:args":{},"f:selector":{}}})"},
      {"keyed lists with a defaulted key",
       R"({"spec":{"containers":[{"name":"c","ports":[{"containerPort":80},{"containerPort":9,"protocol":"UDP"}]}]}})",
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{},"f:ports":{)"
       R"("k:{\"containerPort\":9,\"protocol\":\"UDP\"}":{".":{},"f:containerPort":{},"f:protocol":{}},)"
       R"("k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}})"},
      {"sets, empty keyed lists", R"({"metadata":{"finalizers":["b","a"]},"spec":{"containers":[]}})",
       R"({"f:metadata":{"f:finalizers":{"v:\"a\"":{},"v:\"b\"":{}}}})"},
      {"no schema: granular objects, atomic lists", R"({"spec":{"free":{"a":{"b":1},"l":[{"x":1}],"e":{}}}})",
       R"({"f:spec":{"f:free":{"f:a":{".":{},"f:b":{}},"f:e":{},"f:l":{}}}})"},
      {"items that share a key are one thing", R"({"spec":{"containers":[{"name":"c","image":"a"},{"name":"c"}]}})",
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{}}}})"},
  };
  for (const Case& c : cases) EXPECT_EQ(text_of(fields_of(json_of(c.value), &test_schema())), c.want) << c.name;
}

TEST(Compare, NamesWhatChanged) {
  struct Case {
    const char* name;
    const char* before;
    const char* after;
    const char* added;
    const char* modified;
    const char* removed;
  };
  const Case cases[] = {
      {"scalars", R"({"spec":{"replicas":1,"paused":true}})", R"({"spec":{"replicas":2,"strategy":{"type":"a"}}})",
       R"({"f:spec":{"f:strategy":{".":{},"f:type":{}}}})", R"({"f:spec":{"f:replicas":{}}})",
       R"({"f:spec":{"f:paused":{}}})"},
      {"numbers are equal by value", R"({"spec":{"replicas":1}})", R"({"spec":{"replicas":1.0}})", "{}", "{}", "{}"},
      {"maps", R"({"metadata":{"labels":{"a":"1","b":"1"}}})",
       R"({"metadata":{"labels":{"a":"2","c":"1"},"annotations":{}}})",
       R"({"f:metadata":{"f:annotations":{},"f:labels":{"f:c":{}}}})", R"({"f:metadata":{"f:labels":{"f:a":{}}}})",
       R"({"f:metadata":{"f:labels":{"f:b":{}}}})"},
      {"keyed lists, whatever their order", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}})",
       R"({"spec":{"containers":[{"name":"c"},{"name":"a","image":"2"}]}})",
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:name":{}}}}})",
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{"f:image":{}}}}})",
       R"({"f:spec":{"f:containers":{"k:{\"name\":\"b\"}":{".":{},"f:name":{}}}}})"},
      {"atomic", R"({"spec":{"args":["a","b"],"selector":{"matchLabels":{"a":"1"}}}})",
       R"({"spec":{"args":["b","a"],"selector":{"matchLabels":{"a":"2"}}}})", "{}",
       R"({"f:spec":{"f:args":{},"f:selector":{}}})", "{}"},
      {"null and empty are leaves", R"({"metadata":{"labels":null},"spec":{"containers":[]}})",
       R"({"metadata":{"labels":{}},"spec":{"containers":null}})", "{}",
       R"({"f:metadata":{"f:labels":{}},"f:spec":{"f:containers":{}}})", "{}"},
      {"another type without schema", R"({"spec":{"free":{"x":{"y":1}}}})", R"({"spec":{"free":{"x":5}}})", "{}",
       R"({"f:spec":{"f:free":{"f:x":{}}}})", R"({"f:spec":{"f:free":{"f:x":{"f:y":{}}}}})"},
  };
  for (const Case& c : cases) {
    const Comparison got = compare(json_of(c.before), json_of(c.after), &test_schema());
    EXPECT_EQ(text_of(got.added), c.added) << c.name;
    EXPECT_EQ(text_of(got.modified), c.modified) << c.name;
    EXPECT_EQ(text_of(got.removed), c.removed) << c.name;
  }
}

TEST(MergeApplied, KeepsTheAppliedOrderOfKeyedLists) {
  struct Case {
    const char* live;
    const char* applied;
    const char* want;
  };
  // Each letter is an item.
  const Case cases[] = {{"abc", "", "abc"},    {"", "ab", "ab"},         {"abc", "ca", "bca"},  {"abc", "xa", "xabc"},
                        {"abc", "xb", "axbc"}, {"abc", "bx", "abcx"},    {"abc", "cba", "cba"}, {"abcd", "db", "acdb"},
                        {"ab", "xy", "abxy"},  {"abc", "axbyc", "axbyc"}};
  const auto list = [](std::string_view letters) {
    Array items;
    for (const char letter : letters) items.push_back(Object{{"name", std::string(1, letter)}});
    return Value(Object{{"spec", Object{{"containers", std::move(items)}}}});
  };
  for (const Case& c : cases) {
    const Value got = merge_applied(list(c.live), list(c.applied), &test_schema());
    EXPECT_EQ(serialize(got), serialize(list(c.want))) << c.live << " + " << c.applied;
  }
}

TEST(MergeApplied, LaysTheConfigurationOverTheObject) {
  const Value got = merge_applied(
      json_of(
          R"({"metadata":{"labels":{"a":"1"}},"spec":{"replicas":1,"args":["x"],"containers":[{"name":"c","image":"1",
                  "ports":[{"containerPort":80,"protocol":"TCP","name":"w"}]}]},"status":{"phase":"Up"}})"),
      json_of(R"({"metadata":{"labels":{"b":"2"}},"spec":{"args":["y"],"containers":[{"name":"c","image":"2",
                  "ports":[{"containerPort":80}]}]}})"),
      &test_schema());
  EXPECT_EQ(serialize(got),
            R"({"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"replicas":1,"args":["y"],"containers":[{"name":"c",)"
            R"("image":"2","ports":[{"containerPort":80,"protocol":"TCP","name":"w"}]}]},"status":{"phase":"Up"}})");
}

TEST(RemoveFields, TakesFieldsAndKeepsTheRest) {
  const Value object = json_of(
      R"({"metadata":{"labels":{"a":"1"}},"spec":{"replicas":1,"paused":true,"containers":[{"name":"c","image":"1"},{"name":"d"}]}})");
  const FieldSet fields = *FieldSet::parse(json_of(
      R"({"f:metadata":{"f:labels":{"f:a":{}}},"f:spec":{"f:replicas":{},"f:containers":{"k:{\"name\":\"d\"}":{".":{}},"k:{\"name\":\"c\"}":{"f:image":{}}}}})"));
  EXPECT_EQ(serialize(remove_fields(object, fields, &test_schema())),
            R"({"metadata":{"labels":{}},"spec":{"paused":true,"containers":[{"name":"c"}]}})");
  EXPECT_EQ(serialize(remove_fields(object, fields, &test_schema(), Emptied::kNull)),
            R"({"metadata":{"labels":null},"spec":{"paused":true,"containers":[{"name":"c"}]}})");
  EXPECT_EQ(serialize(extract_fields(object, fields, &test_schema())),
            R"({"metadata":{"labels":{"a":"1"}},"spec":{"replicas":1,"containers":[{"image":"1"},{"name":"d"}]}})");
}

TEST(CheckApplied, NamesTheField) {
  struct Case {
    const char* value;
    const char* message;
  };
  const Case cases[] = {
      {R"({"spec":{"foo":1}})", ".spec.foo: field not declared in schema"},
      {R"({"spec":{"replicas":"x"}})", ".spec.replicas: expected numeric (int or float), got string"},
      {R"({"spec":{"replicas":true}})", ".spec.replicas: expected numeric (int or float), got bool"},
      {R"({"spec":{"containers":{}}})", ".spec.containers: expected a list, got an object"},
      {R"({"spec":{"containers":[{"name":"c"},{"name":"c"}]}})",
       ".spec.containers: duplicate entries for key [name=\"c\"]"},
      {R"({"spec":{"containers":[{"image":"c"}]}})",
       ".spec.containers: element 0: an item of a keyed list omits its key field \"name\""},
      {R"({"spec":{"containers":[{"name":"c","ports":[{"containerPort":1},{"containerPort":1,"protocol":"TCP"}]}]}})",
       ".spec.containers[name=\"c\"].ports: duplicate entries for key [containerPort=1,protocol=\"TCP\"]"},
      {R"({"spec":{"args":[1]}})", ".spec.args[0]: expected a string, got 1"},
      {R"({"metadata":{"finalizers":[{}]}})",
       ".metadata.finalizers: element 0: an item of a set must be a string, a number or a boolean"},
      {R"({"spec":{"free":{"anything":[1,{}]},"paused":null}})", nullptr},
  };
  for (const Case& c : cases) {
    const Result<void> got = check_applied(json_of(c.value), &test_schema());
    ASSERT_EQ(got.has_value(), c.message == nullptr) << c.value;
    EXPECT_EQ(got ? "" : got.error().message, c.message == nullptr ? "" : c.message);
  }
}

// Documents without schema: granular objects, atomic lists.
RC_GTEST_PROP(Compare, NothingDiffersFromItself, ()) {
  const Value value = *rc::gen::arbitrary<Value>();
  const Comparison same = compare(value, value, nullptr);
  RC_ASSERT(same.added.empty() && same.modified.empty() && same.removed.empty());
}

RC_GTEST_PROP(Compare, BackwardsSwapsAddedAndRemoved, ()) {
  const Value a = *rc::gen::arbitrary<Value>(), b = *rc::gen::arbitrary<Value>();
  const Comparison there = compare(a, b, nullptr), back = compare(b, a, nullptr);
  RC_ASSERT(there.added == back.removed);
  RC_ASSERT(there.removed == back.added);
  RC_ASSERT(there.modified == back.modified);
}

RC_GTEST_PROP(MergeApplied, Twice, ()) {
  const Value live = Object{{"x", *rc::gen::arbitrary<Value>()}};
  const Value applied = Object{{"x", *rc::gen::arbitrary<Value>()}};
  const Value once = merge_applied(live, applied, nullptr);
  RC_ASSERT(equal(merge_applied(once, applied, nullptr), once));
}

}  // namespace
}  // namespace gangway::json
