#include "json/jsonpath.h"

#include <gtest/gtest.h>

#include "json/test_values.h"

namespace gangway::json {
namespace {

TEST(JsonPath, Selects) {
  const Value document = json_of(R"({
    "metadata": {"name": "p", "labels": {"app.kubernetes.io/name": "x", "a": "1"}},
    "spec": {"n": [10, 20, 30, 40]},
    "status": {"conditions": [{"type": "Ready", "status": "True", "n": 3}, {"type": "Other", "status": "False"}]}})");
  struct Case {
    const char* path;
    const char* want;  // what is found, with spaces between
  };
  const Case cases[] = {
      {".metadata.name", "\"p\""},
      {"metadata.name", "\"p\""},
      {"$.metadata.name", "\"p\""},
      {"{.metadata.name}", "\"p\""},
      {".metadata['name']", "\"p\""},
      {".metadata[\"name\"]", "\"p\""},
      {".metadata.labels.app\\.kubernetes\\.io/name", "\"x\""},
      {".metadata.labels['app.kubernetes.io/name']", "\"x\""},
      {".metadata.labels.*", "\"x\" \"1\""},
      {".spec.n[0]", "10"},
      {".spec.n[-1]", "40"},
      {".spec.n[9]", ""},
      {".spec.n[-9]", ""},
      {".spec.n[1:3]", "20 30"},
      {".spec.n[:2]", "10 20"},
      {".spec.n[2:]", "30 40"},
      {".spec.n[-2:]", "30 40"},
      {".spec.n[0:4:2]", "10 30"},
      {".spec.n[3:1]", ""},
      {".spec.n[*]", "10 20 30 40"},
      {".spec.n", "[10,20,30,40]"},
      {".status.conditions[?(@.type==\"Ready\")].status", "\"True\""},
      {".status.conditions[?(@.type=='Ready')].status", "\"True\""},
      {".status.conditions[?( @.type != 'Ready' )].status", "\"False\""},
      {".status.conditions[?(@.n)].type", "\"Ready\""},
      {".status.conditions[?(@.n >= 3)].type", "\"Ready\""},
      {".status.conditions[?(@.n<3)].type", ""},
      {".spec.n[?(@ > 20)]", "30 40"},
      {"..type", "\"Ready\" \"Other\""},
      {".status..status", "\"True\" \"False\""},
      {"..conditions[0].type", "\"Ready\""},
      {".none.at.all", ""},
      {".metadata.name.x", ""},
      {".metadata[0]", ""},
  };
  for (const Case& c : cases) {
    const Result<JsonPath> path = JsonPath::parse(c.path);
    ASSERT_TRUE(path) << c.path << ": " << path.error().message;
    std::string got;
    for (const Value* value : path->find(document)) got += (got.empty() ? "" : " ") + serialize(*value);
    EXPECT_EQ(got, c.want) << c.path;
  }
  EXPECT_EQ(JsonPath::parse(".")->find(document), std::vector<const Value*>{&document});
  EXPECT_EQ(JsonPath::parse("")->find(document), std::vector<const Value*>{&document});
}

TEST(JsonPath, RefusesBadPathsWithThePosition) {
  struct Case {
    const char* path;
    const char* message;
  };
  const Case cases[] = {
      {".a.", "a field name is missing at position 4"},
      {"..", "a field name is missing"},
      {".a[", "expected a quoted name"},
      {".a[x]", "expected a quoted name, an index, a slice, '*' or '?(' at position 4"},
      {".a[0", "']' is missing at position 5"},
      {".a['b]", "a quote is not closed"},
      {".a[?(b)]", "a filter must start with '@'"},
      {".a[?(@.b==)]", "expected a quoted text, a number, true, false or null at position 11"},
      {".a[?(@.b==1]", "expected a quoted text"},
      {".a[?(@.b=='x']", "')' is missing"},
      {".a[0:2:0]", "the step of a slice must be positive"},
      {".a\\", "a backslash needs a character behind it"},
      {".a b", "unexpected ' ' at position 3"},
      {".a)", "unexpected ')' at position 3"},
  };
  for (const Case& c : cases) {
    const Result<JsonPath> path = JsonPath::parse(c.path);
    ASSERT_FALSE(path) << c.path;
    EXPECT_NE(path.error().message.find(c.message), std::string::npos) << path.error().message;
  }
}

}  // namespace
}  // namespace gangway::json
