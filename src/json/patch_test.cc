#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/json_patch.h"
#include "json/merge_patch.h"
#include "json/pointer.h"
#include "json/test_values.h"

namespace gangway::json {
namespace {

TEST(Pointer, FollowsRfc6901) {
  const Value document =
      json_of(R"({"foo":["bar","baz"],"":0,"a/b":1,"c%d":2,"e^f":3,"g|h":4,"i\\j":5,"k\"l":6," ":7,"m~n":8})");
  struct Case {
    const char* pointer;
    const char* want;
  };
  const Case cases[] = {{"/foo", R"(["bar","baz"])"},
                        {"/foo/0", R"("bar")"},
                        {"/", "0"},
                        {"/a~1b", "1"},
                        {"/c%d", "2"},
                        {"/k\"l", "6"},
                        {"/ ", "7"},
                        {"/m~0n", "8"},
                        {"/foo/2", nullptr},
                        {"/foo/00", nullptr},
                        {"/foo/-", nullptr},
                        {"/foo/0/x", nullptr},
                        {"/nope", nullptr}};
  for (const Case& c : cases) {
    const Result<Pointer> pointer = Pointer::parse(c.pointer);
    ASSERT_TRUE(pointer) << c.pointer;
    EXPECT_EQ(pointer->to_string(), c.pointer);
    const Value* found = pointer->find(document);
    if (c.want == nullptr) {
      EXPECT_EQ(found, nullptr) << c.pointer;
    } else {
      ASSERT_NE(found, nullptr) << c.pointer;
      EXPECT_EQ(serialize(*found), c.want);
    }
  }
  EXPECT_EQ(Pointer::parse("")->find(document), &document);
  EXPECT_FALSE(Pointer::parse("foo"));
  EXPECT_FALSE(Pointer::parse("/a~2"));
  EXPECT_FALSE(Pointer::parse("/a~"));
}

TEST(JsonPatch, AppliesOperations) {
  struct Case {
    const char* document;
    const char* patch;
    const char* want;
  };
  const Case cases[] = {
      {R"({"a":1})", R"([{"op":"add","path":"/b","value":[1]}])", R"({"a":1,"b":[1]})"},
      {R"({"a":1})", R"([{"op":"add","path":"/a","value":2}])", R"({"a":2})"},
      {R"({"l":[1,3]})", R"([{"op":"add","path":"/l/1","value":2},{"op":"add","path":"/l/-","value":4}])",
       R"({"l":[1,2,3,4]})"},
      {R"({"l":[1,2,3],"x":1,"y":2})", R"([{"op":"remove","path":"/l/1"},{"op":"remove","path":"/x"}])",
       R"({"l":[1,3],"y":2})"},
      {R"({"a":{"b":1}})", R"([{"op":"replace","path":"/a/b","value":null}])", R"({"a":{"b":null}})"},
      {R"({"a":{"b":1},"c":{}})", R"([{"op":"move","from":"/a/b","path":"/c/d"}])", R"({"a":{},"c":{"d":1}})"},
      {R"({"l":[1,2,3]})", R"([{"op":"move","from":"/l/0","path":"/l/2"}])", R"({"l":[2,3,1]})"},
      {R"({"a":{"b":1}})", R"([{"op":"copy","from":"/a","path":"/c"},{"op":"test","path":"/c/b","value":1.0}])",
       R"({"a":{"b":1},"c":{"b":1}})"},
      {R"({"a":1})", R"([{"op":"test","path":"/none","value":null}])", R"({"a":1})"},
      {R"({"a":1})", R"([{"op":"replace","path":"","value":{"z":1}}])", R"({"z":1})"},
      {R"({"a":1})", "[]", R"({"a":1})"},
  };
  for (const Case& c : cases) {
    const Result<Value> got = apply_json_patch(json_of(c.document), json_of(c.patch));
    ASSERT_TRUE(got) << c.patch << ": " << got.error().message;
    EXPECT_EQ(serialize(*got), c.want) << c.patch;
  }
}

TEST(JsonPatch, SaysWhatIsMalformedAndRefusesWhatDoesNotFit) {
  constexpr auto kDoesNotFit = "the server rejected our request due to an error in our request";
  struct Case {
    const char* patch;
    Reason reason;
    const char* message;
  };
  const Case cases[] = {
      {R"({"op":"add"})", Reason::kBadRequest, "a JSON patch is a list of operations"},
      {R"([1])", Reason::kBadRequest, "operation 0: must be an object"},
      {R"([{"op":"add","path":"/a"}])", Reason::kBadRequest, "operation 0: \"value\" is required for add"},
      {R"([{"op":7,"path":"/a"}])", Reason::kBadRequest, "operation 0: \"op\" must be a string"},
      {R"([{"op":"remove","path":7}])", Reason::kBadRequest, "operation 0: \"path\" must be a JSON pointer"},
      {R"([{"op":"burn","path":"/a"}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"path":"/a"}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"remove"}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"remove","path":"a"}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"move","path":"/a"}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"remove","path":"/l/0"},{"op":"remove","path":"/x/y"}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"replace","path":"/x","value":1}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"add","path":"/l/5","value":1}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"add","path":"/l/x","value":1}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"add","path":"/a/b/c","value":1}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"test","path":"/a","value":2}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"move","from":"/o","path":"/o/p"}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"copy","from":"/nope","path":"/o/p"}])", Reason::kInvalid, kDoesNotFit},
      {R"([{"op":"copy","from":"/l","path":"/o/p"},{"op":"copy","from":"/l","path":"/o/q"}])", Reason::kInvalid,
       kDoesNotFit},
      {R"([{"op":"test","path":"/a","value":1},{"op":"test","path":"/a","value":1},{"op":"test","path":"/a","value":1}])",
       Reason::kRequestEntityTooLarge, "maximum operations in a JSON patch is 2, got 3"},
  };
  for (const Case& c : cases) {
    const Result<Value> got = apply_json_patch(json_of(R"({"a":1,"l":[1,2],"o":{}})"), json_of(c.patch),
                                               {.max_operations = 2, .max_copied_bytes = 9});
    ASSERT_FALSE(got) << c.patch;
    EXPECT_EQ(got.error().reason, c.reason) << c.patch;
    EXPECT_NE(got.error().message.find(c.message), std::string::npos) << got.error().message;
  }
}

// Copies that double the depth would soon make a document that no parser reads and no stack holds.
TEST(JsonPatch, KeepsDocumentsReadable) {
  Array patch;
  for (const std::size_t steps : {2, 4, 8, 16, 32, 64}) {
    std::string path;
    for (std::size_t i = 0; i < steps; ++i) path += "/a";
    patch.push_back(Object{{"op", "copy"}, {"from", ""}, {"path", path}});
  }
  const Value document = json_of(R"({"a":{}})");
  const Result<Value> refused = apply_json_patch(document, patch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, Reason::kInvalid);

  // Without the last operation there are exactly 64 objects inside each other, as many as the parser takes.
  patch.pop_back();
  const Result<Value> deepest = apply_json_patch(document, patch);
  ASSERT_TRUE(deepest) << deepest.error().message;
  EXPECT_TRUE(parse(serialize(*deepest)));

  const Value in_place = json_of(R"([{"op":"replace","path":"/a","value":{"b":[]}}])");
  EXPECT_FALSE(apply_json_patch(document, in_place, {.max_depth = 2}));
  EXPECT_TRUE(apply_json_patch(document, in_place, {.max_depth = 3}));
}

TEST(MergePatch, FollowsRfc7386) {
  struct Case {
    const char* target;
    const char* patch;
    const char* want;
  };
  // The table of the RFC's appendix.
  const Case cases[] = {{R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
                        {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
                        {R"({"a":"b"})", R"({"a":null})", R"({})"},
                        {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
                        {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
                        {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
                        {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
                        {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
                        {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
                        {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
                        {R"({"a":"foo"})", "null", "null"},
                        {R"({"a":"foo"})", R"("bar")", R"("bar")"},
                        {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
                        {"[1,2]", R"({"a":"b","c":null})", R"({"a":"b"})"},
                        {"{}", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"}};
  for (const Case& c : cases) {
    Value target = json_of(c.target);
    apply_merge_patch(target, json_of(c.patch));
    EXPECT_EQ(serialize(target), c.want) << c.patch;
  }
}

Value without_nulls(const Value& value) {
  if (const Object* object = value.if_object()) {
    Object kept;
    for (const auto& member : *object)
      if (!member.value().is_null()) kept[member.key()] = without_nulls(member.value());
    return kept;
  }
  return value;
}

RC_GTEST_PROP(MergePatch, MakeThenApplyGivesTheTarget, ()) {
  const Value from = without_nulls(*rc::gen::arbitrary<Value>());
  const Value to = without_nulls(*rc::gen::arbitrary<Value>());
  Value got = from;
  apply_merge_patch(got, make_merge_patch(from, to));
  RC_ASSERT(equal(got, to));
}

RC_GTEST_PROP(MergePatch, ApplyingTwiceChangesNothing, ()) {
  Value once = *rc::gen::arbitrary<Value>();
  const Value patch = *rc::gen::arbitrary<Value>();
  apply_merge_patch(once, patch);
  Value twice = once;
  apply_merge_patch(twice, patch);
  RC_ASSERT(equal(once, twice));
}

}  // namespace
}  // namespace gangway::json
