#include "json/yaml.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/test_values.h"

namespace gangway::json {
namespace {

std::string json_from(std::string_view yaml, const YamlOptions& options = {}) {
  const Result<std::vector<Value>> values = parse_yaml(yaml, options);
  if (!values) return values.error().message;
  std::string text;
  for (const Value& value : *values) text += (text.empty() ? "" : " ") + serialize(value);
  return text;
}

TEST(Yaml, ReadsScalarsAsKubectlDoes) {
  struct Case {
    const char* yaml;
    const char* want;
  };
  const Case cases[] = {
      {"[yes, No, on, OFF, y, n, true, False]", "[true,false,true,false,true,false,true,false]"},
      {"['yes', \"no\", 'true', '1', \"\", '~']", R"(["yes","no","true","1","","~"])"},
      {"[~, null, Null, ]", "[null,null,null]"},
      {"[1, -2, +3, 0x1F, 017, 0o17, 0b101, 1_000]", "[1,-2,3,31,15,15,5,1000]"},
      {"[1.5, -.5, 1e3, 1., +1.5e-2]", "[1.5,-0.5,1000,1,0.015]"},
      {"[9223372036854775807, 18446744073709551615, -9223372036854775808]",
       "[9223372036854775807,18446744073709551615,-9223372036854775808]"},
      {"[1.2.3, 1Gi, 100m, 2026-01-02, 0x, 08, -, a, .]", R"(["1.2.3","1Gi","100m","2026-01-02","0x",8,"-","a","."])"},
      {"{1: a, true: b, 1.5: c, x: d}", R"({"1":"a","true":"b","1.5":"c","x":"d"})"},
      {"a: |\n  x\n  y\nb: >-\n  x\n  y\n", R"({"a":"x\ny\n","b":"x y"})"},
      {"a: !!str 5\nb: !!int \"7\"\n", R"({"a":"5","b":7})"},
      {"a:\nb: []\nc: {}\n", R"({"a":null,"b":[],"c":{}})"},
      {"x: &a {k: 1}\nv: *a\nz: {<<: *a, k: 2}\nw: {<<: [*a, {m: 1}], o: 3}\n",
       R"({"x":{"k":1},"v":{"k":1},"z":{"k":2},"w":{"o":3,"k":1,"m":1}})"},
      {"---\na: 1\n---\n# nothing\n---\nb: 2\n...\n", R"({"a":1} {"b":2})"},
      {"", ""},
      {R"({"a": [1, "x"], "b": null})", R"({"a":[1,"x"],"b":null})"},
  };
  for (const Case& c : cases) EXPECT_EQ(json_from(c.yaml), c.want) << c.yaml;
}

TEST(Yaml, SaysWhereItIsWrong) {
  struct Case {
    const char* yaml;
    const char* message;
  };
  const Case cases[] = {
      {"a: 1\nb: [1\n", "YAML: line 3 column 1: "},
      {"a: 1\n  b: 2\n", "YAML: line 2 column 4: "},
      {"a: 1\nb:\n  c: 1\n  c: 2\n", "YAML: line 4 column 3: key \"c\" is already set in this mapping"},
      {"a: .inf\n", "line 1 column 4: .inf is a number that JSON cannot hold"},
      {"? [a]\n: b\n", "a key must be a scalar"},
      {"~: b\n", "a key must be a string, a number or a boolean"},
      {"a: *nope\n", "line 1 column 4"},
      {"a: &x [*x]\n", "line 1"},
      {"a: {<<: 5}\n", "<< must bring in a mapping"},
      {"[[[[[[1]]]]]]", "line 1 column 6: nested deeper than 5 levels"},
  };
  for (const Case& c : cases) {
    const std::string got = json_from(c.yaml, {.max_depth = 5});
    EXPECT_NE(got.find(c.message), std::string::npos) << c.yaml << ": " << got;
  }
  EXPECT_EQ(json_from("{a: 1, a: 2}", {.refuse_duplicate_keys = false}), R"({"a":2})");
  EXPECT_NE(json_from("aaaaaa", {.max_bytes = 5}).find("too large"), std::string::npos);
}

// Other bytes would come out as JSON that nobody can read.
TEST(Yaml, TakesOnlyUtf8) {
  EXPECT_EQ(json_from("a: \xc3\xa9\n"), "{\"a\":\"\xc3\xa9\"}");
  for (const std::string_view bytes :
       {std::string_view("a: \xff\n"), std::string_view("\xda\xdf"), std::string_view("a: 'x\xc3'\n"),
        std::string_view("\0\xd8\0\xdc", 4), std::string_view("a: \0\n", 5)})
    EXPECT_EQ(json_from(bytes), "YAML: must be UTF-8 text");
}

TEST(Yaml, AliasesCannotGrowWithoutBound) {
  std::string bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n";
  for (char c = 'b'; c <= 'k'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) bomb += (i ? ",*" : "*") + std::string(1, static_cast<char>(c - 1));
    bomb += "]\n";
  }
  EXPECT_NE(json_from(bomb).find("too many values"), std::string::npos);
}

TEST(Yaml, KnowsTheLineOfAField) {
  const Result<std::vector<YamlDocument>> documents = parse_yaml_with_lines(
      "kind: Cluster\nnodes:\n- name: a\n  labels:\n    x.y/z: b\n- name: c\n  taints: [{key: k}]\n");
  ASSERT_TRUE(documents);
  const YamlDocument& document = documents->front();
  EXPECT_EQ(document.line_of("kind"), 1);
  EXPECT_EQ(document.line_of("nodes"), 2);
  EXPECT_EQ(document.line_of("nodes[0].name"), 3);
  EXPECT_EQ(document.line_of("nodes[0].labels.x.y/z"), 5);
  EXPECT_EQ(document.line_of("nodes[1]"), 6);
  EXPECT_EQ(document.line_of("nodes[1].taints[0].key"), 7);
  EXPECT_EQ(document.line_of("nodes[1].capacity.cpu"), 6) << "missing: where its nearest parent is";
  EXPECT_EQ(document.line_of("nope"), 1);
}

TEST(Yaml, ReadsBackLongKeys) {
  const std::string key(2000, 'k');
  for (const Value& value : {Value("v"), json_of(R"({"a":[1]})"), json_of("[1,[2],{}]"), Value(nullptr)}) {
    for (const Value& written : {Value(Object{{key, value}}), Value(Array{Object{{key, value}, {"b", 1}}}),
                                 Value(Object{{"a", Object{{"b", 1}, {key, value}}}})}) {
      const Result<std::vector<Value>> read = parse_yaml(to_yaml(written));
      ASSERT_TRUE(read) << read.error().message;
      ASSERT_EQ(read->size(), 1U);
      EXPECT_EQ(serialize(read->front()), serialize(written));
    }
  }
}

TEST(Yaml, WritesBlocks) {
  EXPECT_EQ(to_yaml(json_of(
                R"({"a":1,"b":{"c":[],"d":{},"e":null},"l":[1,{"x":1,"v":[2]},[3,4]],"s":"yes","t":"x: y","u":""})")),
            "a: 1\nb:\n  c: []\n  d: {}\n  e: null\nl:\n- 1\n- x: 1\n  v:\n  - 2\n-\n  - 3\n  - 4\ns: \"yes\"\nt: \"x: "
            "y\"\nu: \"\"\n");
  EXPECT_EQ(to_yaml(Value("a")), "a\n");
  EXPECT_EQ(to_yaml(json_of("[]")), "[]\n");
}

RC_GTEST_PROP(Yaml, ReadsBackWhatItWrites, ()) {
  const Value value = Object{{"x", *rc::gen::arbitrary<Value>()}};
  const std::string text = to_yaml(value);
  const Result<std::vector<Value>> back = parse_yaml(text);
  if (!back) RC_FAIL(back.error().message + "\n" + text);
  RC_ASSERT(back->size() == 1u);
  RC_ASSERT(equal(back->front(), value));
}

}  // namespace
}  // namespace gangway::json
