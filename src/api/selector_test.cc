#include "api/selector.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace gangway::api {
namespace {

const std::string kNamePart =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const std::string kLabelValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

json::Value object(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

TEST(LabelSelectorTest, Matches) {
  const StringPairs labels = {{"app", "web"}, {"cores", "8"}, {"empty", ""}, {"in", "x"}, {"tier", "front"}};
  struct Case {
    const char* selector;
    bool want;
  };
  const Case cases[] = {
      {"", true},
      {"  ", true},
      {"app=web", true},
      {"app==web", true},
      {"app=db", false},
      {"app!=db", true},
      {"app!=web", false},
      {"missing!=x", true},
      {"missing=", false},
      {"empty=", true},
      {"empty", true},
      {"app", true},
      {"missing", false},
      {"!app", false},
      {"!missing", true},
      {"! missing", true},
      {"app in (db, web)", true},
      {"app in (db)", false},
      {"app in(web)", true},
      {"missing in ()", false},
      {"empty in ()", true},
      {"empty in (a,)", true},
      {"empty in (,a)", true},
      {"empty in (a,,b)", true},
      {"empty in (a,b)", false},
      {"app notin (db,cache)", true},
      {"app notin (web)", false},
      {"missing notin (web)", true},
      {"cores>4", true},
      {"cores>8", false},
      {"cores<9", true},
      {"app>1", false},
      {"missing<1", false},
      {"in=x", true},
      {"in in (x)", true},
      {"app=web,tier=front", true},
      {"app=web,tier=back", false},
      {"app=web , !old , cores>1", true},
  };
  for (const auto& c : cases) {
    auto selector = parse_label_selector(c.selector);
    ASSERT_TRUE(selector) << c.selector << ": " << selector.error().message;
    EXPECT_EQ(selector->matches(labels), c.want) << c.selector;
  }
}

// The messages are those of kube-apiserver for the same queries.
TEST(LabelSelectorTest, RefusesAsTheServerDoes) {
  const std::string requirement = "unable to parse requirement: ";
  const std::pair<std::string, std::string> cases[] = {
      {"a b", requirement + "found 'b', expected: in, notin, =, ==, !=, gt, lt"},
      {"-a", requirement + "<nil>: Invalid value: \"-a\": " + kNamePart},
      {"a=b c", "found 'c', expected: ',' or 'end of string'"},
      {"a=-b", requirement + "values[0][a]: Invalid value: \"-b\": " + kLabelValue},
      {"a in (-x,y)", requirement + "values[0][a]: Invalid value: \"-x\": " + kLabelValue},
      {"a in", requirement + "found '' expected: '('"},
      {"a in b", requirement + "found 'b' expected: '('"},
      {"a in (", requirement + "found '', expected: ',', ')' or identifier"},
      {"a in (b", requirement + "found '', expected: ',' or ')'"},
      {"a in (b,", requirement + "found '', expected: ',', or identifier"},
      {"a,", "found '', expected: identifier after ','"},
      {",a", "found ',', expected: !, identifier, or 'end of string'"},
      {"!", requirement + "found '', expected: identifier"},
      {"!a=b", "found '=', expected: ',' or 'end of string'"},
      {"a>x", requirement + "values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer"},
      {"a<", requirement + "values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer"},
      {"a===b", requirement + "found '=', expected: identifier"},
      {"a!", requirement + "found '!', expected: in, notin, =, ==, !=, gt, lt"},
      {"a=b=c", "found '=', expected: ',' or 'end of string'"},
      {"a=!b", requirement + "found '!', expected: identifier"},
      {"a (b)", requirement + "found '(', expected: in, notin, =, ==, !=, gt, lt"},
      {"=b", "found '=', expected: !, identifier, or 'end of string'"},
  };
  for (const auto& [text, message] : cases) {
    auto selector = parse_label_selector(text);
    ASSERT_FALSE(selector) << text;
    EXPECT_EQ(selector.error().reason, Reason::kBadRequest);
    EXPECT_EQ(selector.error().message, message) << text;
  }
  EXPECT_FALSE(parse_label_selector(std::string(kMaxSelectorLength + 1, 'a')));
}

TEST(LabelSelectorTest, WritesTheQueryForm) {
  auto selector = parse_label_selector("z,!y, x notin (c,a), b in (v), a==1, d!=2, e>3");
  ASSERT_TRUE(selector);
  EXPECT_EQ(selector->to_string(), "a==1,b in (v),d!=2,e>3,x notin (a,c),!y,z");
}

TEST(LabelSelectorTest, ReadsObjects) {
  auto selector = read_label_selector(object(R"({"matchLabels":{"app":"web"},"matchExpressions":[
      {"key":"tier","operator":"In","values":["b","a"]},{"key":"old","operator":"DoesNotExist"}]})"));
  ASSERT_TRUE(selector);
  EXPECT_EQ(selector->to_string(), "app=web,!old,tier in (a,b)");
  EXPECT_TRUE(selector->matches(StringPairs{{"app", "web"}, {"tier", "b"}}));
  EXPECT_FALSE(selector->matches(StringPairs{{"app", "web"}, {"old", ""}, {"tier", "b"}}));

  EXPECT_TRUE(read_label_selector(object("{}"))->selects_everything());
  EXPECT_FALSE(read_label_selector(json::Value())->matches(StringPairs()));
  EXPECT_FALSE(read_label_selector(object(R"({"matchExpressions":[{"key":"a","operator":"Near"}]})")));

  EXPECT_TRUE(read_label_map(object(R"({"app":"web"})")).matches(StringPairs{{"app", "web"}}));
  EXPECT_FALSE(read_label_map(object("{}")).matches(StringPairs{{"app", "web"}}));
}

TEST(LabelSelectorTest, NamesWhatIsWrongWithAnObject) {
  auto causes = check_label_selector(object(R"({"matchLabels":{"-a":"ok"},"matchExpressions":[
      {"key":"tier","operator":"In"},{"key":"b","operator":"Exists","values":["x"]},{"key":"c","operator":"Near"},
      {"key":"d","operator":"NotIn","values":["fine","-"]}]})"),
                                     "spec.selector");
  const std::vector<Cause> want = {
      {"FieldValueInvalid", "Invalid value: \"-a\": " + kNamePart, "spec.selector.matchLabels"},
      {"FieldValueRequired", "Required value: must be specified when `operator` is 'In' or 'NotIn'",
       "spec.selector.matchExpressions[0].values"},
      {"FieldValueForbidden", "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
       "spec.selector.matchExpressions[1].values"},
      {"FieldValueInvalid", "Invalid value: \"Near\": not a valid selector operator",
       "spec.selector.matchExpressions[2].operator"},
      {"FieldValueInvalid", "Invalid value: \"-\": " + kLabelValue, "spec.selector.matchExpressions[3].values[1]"},
  };
  EXPECT_EQ(causes, want);
}

RC_GTEST_PROP(LabelSelectorTest, TheQueryFormIsReadBackAsItself, ()) {
  auto word = rc::gen::container<std::string>(4, rc::gen::elementOf(std::string("abcdef01")));
  auto op = *rc::gen::element<std::string>("=", "==", "!=", " in ", " notin ");
  auto value = *word;
  auto text = *word + op + (op[0] == ' ' ? "(" + value + "," + *word + ")" : value) + ",!" + *word;
  auto selector = parse_label_selector(text);
  RC_ASSERT(selector.has_value());
  auto again = parse_label_selector(selector->to_string());
  RC_ASSERT(again.has_value());
  RC_ASSERT(again->to_string() == selector->to_string());
}

RC_GTEST_PROP(LabelSelectorTest, NoTextBreaksTheParsers, ()) {
  auto text = *rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab=!(),<> in\\notin.\0", 20)));
  auto selector = parse_label_selector(text);
  if (selector) RC_ASSERT(parse_label_selector(selector->to_string()).has_value());
  auto fields = parse_field_selector(text, {});
  if (fields) RC_ASSERT(parse_field_selector(fields->to_string(), {}).has_value());
}

TEST(FieldSelectorTest, Matches) {
  Header header;
  header.name = {"default", "web-0"};
  header.fields = {{"spec.nodeName", "n0"}, {"status.phase", "a=b,c\\"}};
  const std::vector<std::string> paths = {"spec.nodeName", "status.phase"};
  struct Case {
    const char* selector;
    bool want;
  };
  const Case cases[] = {
      {"", true},
      {",", true},
      {"metadata.name=web-0", true},
      {"metadata.name=web-1", false},
      {"metadata.namespace==default", true},
      {"metadata.namespace!=default", false},
      {"spec.nodeName=n0,metadata.name!=x", true},
      {"spec.nodeName=", false},
      {"spec.nodeName!=", true},
      {"status.phase=a\\=b\\,c\\\\", true},
  };
  for (const auto& c : cases) {
    auto selector = parse_field_selector(c.selector, {.paths = paths});
    ASSERT_TRUE(selector) << c.selector << ": " << selector.error().message;
    EXPECT_EQ(selector->matches(header), c.want) << c.selector;
    EXPECT_EQ(parse_field_selector(selector->to_string(), {.paths = paths})->matches(header), c.want) << c.selector;
  }
  auto selector = parse_field_selector("spec.nodeName!=n1,metadata.name=web-0", {.paths = paths});
  EXPECT_EQ(selector->exact("metadata.name"), "web-0");
  EXPECT_EQ(selector->exact("spec.nodeName"), std::nullopt);
}

TEST(FieldSelectorTest, RefusesAsTheServerDoes) {
  const std::vector<std::string> paths = {"spec.nodeName"};
  struct Case {
    const char* selector;
    FieldLabels labels;
    const char* message;
  };
  const Case cases[] = {
      {"x=1", {.paths = paths}, "field label not supported: x"},
      {"x=1", {}, "\"x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""},
      {"x=1", {.is_custom = true}, "field label not supported: x"},
      {"x=1", {.paths = paths, .kind = "Job"}, "field label \"x\" not supported for Job"},
      {"metadata.namespace=a",
       {.paths = paths, .has_namespace = false},
       "field label not supported: metadata.namespace"},
      {"metadata.name", {}, "invalid selector: 'metadata.name'; can't understand 'metadata.name'"},
      {"metadata.name=a\\b", {}, "invalid field selector: invalid escape sequence: \\b"},
      {"metadata.name=a\\", {}, "invalid field selector: invalid escape sequence: \\"},
      {"metadata.name=a\\\xC3\xA4"
       "b",
       {},
       "invalid field selector: invalid escape sequence: \\\xC3\xA4"},
      {"metadata.name=a=b", {}, "invalid field selector: unescaped character in value: 61"},
      {"metadata.name==a,spec.foo!=b", {.paths = paths}, "field label not supported: spec.foo"},
  };
  for (const auto& c : cases) {
    auto selector = parse_field_selector(c.selector, c.labels);
    ASSERT_FALSE(selector) << c.selector;
    EXPECT_EQ(selector.error().reason, Reason::kBadRequest);
    EXPECT_EQ(selector.error().message, c.message) << c.selector;
  }
}

}  // namespace
}  // namespace gangway::api
