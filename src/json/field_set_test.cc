#include "json/field_set.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/test_values.h"

namespace gangway::json {
namespace {

FieldSet set_of(std::string_view text) {
  Result<FieldSet> set = FieldSet::parse(json_of(text));
  EXPECT_TRUE(set) << (set ? "" : set.error().message) << " in " << text;
  return set ? *set : FieldSet();
}

std::string text_of(const FieldSet& set) {
  return serialize(set.to_value());
}

TEST(FieldSet, WritesFieldsV1InKubernetesOrder) {
  const char* text =
      R"({"f:a":{".":{},"k:{\"port\":9,\"proto\":\"TCP\"}":{".":{},"f:x":{}},"k:{\"port\":80,\"proto\":\"TCP\"}":{},)"
      R"("v:1":{},"v:\"b\"":{},"v:true":{},"i:2":{},"i:10":{}},"f:b":{"f:c":{}}})";
  EXPECT_EQ(text_of(set_of(text)), text);
  const char* shuffled =
      R"({"f:b":{"f:c":{}},"f:a":{"i:10":{},"v:true":{},"v:\"b\"":{},"v:1":{},"k:{\"proto\":\"TCP\",\"port\":80}":{},)"
      R"("i:2":{},".":{},"k:{ \"port\":9,\"proto\":\"T\u0043P\"}":{"f:x":{},".":{}}},"z:unknown":{}})";
  EXPECT_EQ(text_of(set_of(shuffled)), text);
}

TEST(FieldSet, OrdersElements) {
  // In Kubernetes' order: fields, keys, values, indexes.
  const char* sorted[] = {"f:",
                          "f:a",
                          "f:ab",
                          "f:b",
                          R"(k:{"a":1,"b":1})",
                          R"(k:{"a":"x"})",
                          R"(k:{"name":-5})",
                          R"(k:{"name":9})",
                          R"(k:{"name":10})",
                          R"(k:{"name":10.5})",
                          R"(k:{"name":""})",
                          R"(k:{"name":"a"})",
                          R"(k:{"name":"a b"})",
                          R"(k:{"name":"a\"b"})",
                          R"(k:{"name":"aa"})",
                          R"(k:{"name":"aa","x":1})",
                          R"(k:{"name":"é"})",
                          R"(k:{"name":false})",
                          R"(k:{"name":true})",
                          "v:2",
                          "v:10",
                          R"(v:"10")",
                          R"(v:"2")",
                          "v:null",
                          "i:2",
                          "i:10"};
  for (std::size_t i = 0; i < std::size(sorted); ++i) {
    for (std::size_t j = 0; j < std::size(sorted); ++j) {
      const PathElement a = *PathElement::parse(sorted[i]);
      const PathElement b = *PathElement::parse(sorted[j]);
      EXPECT_EQ(a < b, i < j) << sorted[i] << " " << sorted[j];
      EXPECT_EQ(a == b, i == j) << sorted[i] << " " << sorted[j];
    }
    EXPECT_EQ(PathElement::parse(sorted[i])->to_string(), sorted[i]);
  }
}

TEST(FieldSet, RefusesWhatIsNotFieldsV1) {
  for (const char* text : {"1", R"({"f:a":1})", R"({"a":{}})", R"({"k:1":{}})", R"({"k:{":{}})", R"({"i:x":{}})",
                           R"({"v:":{}})", R"({"":{}})"}) {
    EXPECT_FALSE(FieldSet::parse(json_of(text))) << text;
  }
}

TEST(FieldSet, Operations) {
  const FieldSet a = set_of(R"({"f:a":{".":{},"f:b":{},"f:c":{"f:d":{}}},"f:x":{}})");
  const FieldSet b = set_of(R"({"f:a":{"f:b":{},"f:e":{}},"f:x":{"f:y":{}}})");
  EXPECT_EQ(text_of(a.united(b)), R"({"f:a":{".":{},"f:b":{},"f:c":{"f:d":{}},"f:e":{}},"f:x":{".":{},"f:y":{}}})");
  EXPECT_EQ(text_of(a.intersection(b)), R"({"f:a":{"f:b":{}}})");
  EXPECT_EQ(text_of(a.difference(b)), R"({"f:a":{".":{},"f:c":{"f:d":{}}},"f:x":{}})");
  EXPECT_EQ(text_of(b.difference(a)), R"({"f:a":{"f:e":{}},"f:x":{"f:y":{}}})");
  EXPECT_EQ(text_of(b.recursive_difference(a)), R"({})");
  EXPECT_EQ(text_of(a.leaves()), R"({"f:a":{"f:b":{},"f:c":{"f:d":{}}},"f:x":{}})");
  EXPECT_EQ(a.size(), 4u);
  const FieldPath path{PathElement::field("a"), PathElement::field("c"), PathElement::field("d")};
  EXPECT_TRUE(a.has(path));
  EXPECT_FALSE(b.has(path));
  EXPECT_FALSE(a.has(std::span(path).first(2)));
  EXPECT_FALSE(a.has({}));
}

TEST(FieldSet, ListsMembersBeforeWhatIsBelow) {
  std::vector<std::string> paths;
  set_of(
      R"({"f:a":{".":{},"f:b":{"k:{\"name\":\"q\\\"\",\"port\":1}":{".":{},"f:z":{}}},"f:c":{}},"f:x":{"v:\"s\"":{},"i:3":{}}})")
      .for_each([&paths](const FieldPath& path) { paths.push_back(to_string(path)); });
  EXPECT_EQ(paths, (std::vector<std::string>{".a", ".a.c", R"(.a.b[name="q\"",port=1])", R"(.a.b[name="q\"",port=1].z)",
                                             R"(.x[="s"])", ".x[3]"}));
}

rc::Gen<FieldSet> gen_set() {
  const auto element = rc::gen::element<std::string>("f:a", "f:b", "f:c", R"(k:{"n":1})", R"(k:{"n":10})",
                                                     R"(k:{"n":"x"})", R"(v:"s")", "i:0");
  const auto path = rc::gen::resize(4, rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(element)));
  return rc::gen::map(rc::gen::container<std::vector<std::vector<std::string>>>(path), [](const auto& paths) {
    FieldSet set;
    for (const auto& steps : paths) {
      FieldPath p;
      for (const std::string& step : steps) p.push_back(*PathElement::parse(step));
      set.insert(p);
    }
    return set;
  });
}

RC_GTEST_PROP(FieldSet, LawsOfSets, ()) {
  const FieldSet a = *gen_set(), b = *gen_set(), c = *gen_set();
  RC_ASSERT(a.united(b) == b.united(a));
  RC_ASSERT(a.united(b).united(c) == a.united(b.united(c)));
  RC_ASSERT(a.intersection(b) == b.intersection(a));
  RC_ASSERT(a.difference(b).united(a.intersection(b)) == a);
  RC_ASSERT(a.difference(b).intersection(b).empty());
  RC_ASSERT(a.overlaps(b) == !a.intersection(b).empty());
  RC_ASSERT(a.overlaps_encoded(b.to_value()) == a.overlaps(b));
  RC_ASSERT(a.difference(b.united(c)) == a.difference(b).difference(c));
  RC_ASSERT(a.recursive_difference(b) == a.recursive_difference(b).difference(b));
  RC_ASSERT(a.size() + b.size() == a.united(b).size() + a.intersection(b).size());
  std::size_t visited = 0;
  a.for_each([&](const FieldPath& path) {
    ++visited;
    RC_ASSERT(a.has(path));
    RC_ASSERT(a.united(b).has(path));
    RC_ASSERT(a.difference(b).has(path) == !b.has(path));
  });
  RC_ASSERT(visited == a.size());
}

RC_GTEST_PROP(FieldSet, FieldsV1RoundTrip, ()) {
  const FieldSet set = *gen_set();
  const Result<FieldSet> back = FieldSet::parse(set.to_value());
  RC_ASSERT(back.has_value());
  RC_ASSERT(*back == set);
}

}  // namespace
}  // namespace gangway::json
