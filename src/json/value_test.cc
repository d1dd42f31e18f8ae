#include "json/value.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "json/test_values.h"

namespace gangway::json {
namespace {

TEST(Parse, KeepsNumbersExact) {
  struct Case {
    const char* text;
    Value want;
    const char* back;
  };
  const Case cases[] = {
      {"0", 0, "0"},
      {"-0", 0, "0"},
      {"9223372036854775807", std::int64_t{9223372036854775807}, "9223372036854775807"},
      {"18446744073709551615", std::uint64_t{18446744073709551615u}, "18446744073709551615"},
      {"18446744073709551616", 18446744073709551616.0, "18446744073709552000"},
      {"1.0", 1.0, "1"},
      {"0.1", 0.1, "0.1"},
      {"1e21", 1e21, "1e+21"},
      {"1e-7", 1e-7, "1e-7"},
      {"1.5e-10", 1.5e-10, "1.5e-10"},
      {"123456.789", 123456.789, "123456.789"},
      {"2.2250738585072011e-308", 2.2250738585072011e-308, "2.225073858507201e-308"},
      {"-1e20", -1e20, "-100000000000000000000"},
      {"1234567890123456.5", 1234567890123456.5, "1234567890123456.5"},
      {"1e-400", 0.0, "0"},
  };
  for (const Case& c : cases) {
    const Result<Value> got = parse(c.text);
    ASSERT_TRUE(got) << c.text << ": " << got.error().message;
    EXPECT_EQ(got->kind(), c.want.kind()) << c.text;
    EXPECT_TRUE(equal(*got, c.want)) << c.text;
    EXPECT_EQ(serialize(*got), c.back);
  }
}

TEST(Parse, RefusesWhatIsNotJson) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "unexpected end of JSON input, at line 1 column 1 (offset 0)"},
      {"{\"a\":\n\n  nil}", "at line 3 column 3 (offset 9)"},
      {"{\"a\":1,}", "at line 1 column 8 (offset 7)"},
      {"NaN", "at line 1 column 1"},
      {"1e999", "number too large"},
      {"[1] 2", "extra data, at line 1 column 5"},
      {"{\"a\" 1}", "at line 1 column 6"},
      {"\"a\xff\"", "at line 1"},
      {"[[[[1]]]]", "nested deeper than 3 levels"},
      {"\"0123456789012345678901234567890123456789\"", "too large: 42 bytes, at most 40 are allowed"},
  };
  for (const Case& c : cases) {
    const Result<Value> got = parse(c.text, {.max_bytes = 40, .max_depth = 3});
    ASSERT_FALSE(got) << c.text;
    EXPECT_NE(got.error().message.find(c.message), std::string::npos) << c.text << ": " << got.error().message;
  }
}

TEST(Parse, NamesDuplicateKeys) {
  std::vector<std::string> duplicates;
  const char* text =
      R"({"a":1,"spec":{"replicas":1,"list":[{"x":1},{"x":1,"y":2,"x":3,"x":4}],"replicas":2},"b":{"a":{}},"a":7})";
  const Result<Value> got = parse(text, {}, &duplicates);
  ASSERT_TRUE(got);
  EXPECT_EQ(duplicates, (std::vector<std::string>{"spec.list[1].x", "spec.replicas", "a"}));
  EXPECT_EQ(got->at("a"), 7);
  EXPECT_EQ(got->at("spec").at("replicas"), 2);
  EXPECT_EQ(got->at("spec").at("list").at(1).at("x"), 4);

  duplicates.clear();
  ASSERT_TRUE(parse(R"({"a":{"a":1},"b":[{"a":1},{"a":1}]})", {}, &duplicates));
  EXPECT_TRUE(duplicates.empty());
}

TEST(Serialize, EscapesWhatJsonRequires) {
  EXPECT_EQ(serialize(Value("a\"b\\c\n\r\t\b\f\x01\x1f é\u2028/")), R"("a\"b\\c\n\r\t\b\f\u0001\u001f é)"
                                                                    "\u2028/\"");
  EXPECT_EQ(serialize(*parse(R"({"b":[1,{"a":null}],"a":{},"c":[]})")), R"({"b":[1,{"a":null}],"a":{},"c":[]})");
}

// Plain text is found in steps of eight bytes: what must be escaped is found wherever it stands.
TEST(Serialize, EscapesAtEveryPlace) {
  const std::pair<char, std::string> cases[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\x1f', "\\u001f"}};
  for (const auto& [byte, escaped] : cases) {
    for (std::size_t size = 1; size <= 24; ++size) {
      for (std::size_t at = 0; at < size; ++at) {
        // 0x7f and bytes from 0x80 on have the high bit in play that the steps of eight rely on.
        const std::string fill[] = {std::string(size, ' '), std::string(size, '\x7f'), std::string(size, '\xff')};
        for (std::string text : fill) {
          const std::string plain = text;
          std::string out;
          append_quoted(plain, out);
          EXPECT_EQ(out, '"' + plain + '"');
          text[at] = byte;
          out.clear();
          append_quoted(text, out);
          EXPECT_EQ(out, '"' + plain.substr(0, at) + escaped + plain.substr(at + 1) + '"') << size << " " << at;
        }
      }
    }
  }
}

TEST(Equal, KnowsOneNumberType) {
  EXPECT_TRUE(equal(Value(1), Value(1u)));
  EXPECT_TRUE(equal(Value(1), Value(1.0)));
  EXPECT_FALSE(equal(Value(-1), Value(18446744073709551615u)));
  EXPECT_FALSE(equal(Value(1), Value("1")));
  EXPECT_FALSE(equal(Value(1), Value(true)));
  EXPECT_TRUE(equal(*parse(R"({"a":[1],"b":2.0})"), *parse(R"({"b":2,"a":[1.0]})")));
  EXPECT_FALSE(equal(*parse(R"({"a":1,"b":2})"), *parse(R"({"a":1,"c":2})")));
  EXPECT_FALSE(equal(*parse("[1,2]"), *parse("[1]")));
}

TEST(Find, WalksObjectsOnly) {
  Value root = *parse(R"({"a":{"b":{"c":"x"}},"l":[1],"n":null})");
  EXPECT_EQ(string_at(root, {"a", "b", "c"}), "x");
  EXPECT_EQ(string_at(root, {"a", "b"}), "");
  EXPECT_EQ(find(root, {"a", "x", "c"}), nullptr);
  EXPECT_EQ(find(root, {"l", "0"}), nullptr);
  EXPECT_EQ(find(root, {}), &root);
  object_at(root, {"n", "m"})["k"] = 1;
  object_at(root, {"a", "b"})["d"] = 2;
  EXPECT_EQ(serialize(root), R"({"a":{"b":{"c":"x","d":2}},"l":[1],"n":{"m":{"k":1}}})");
}

RC_GTEST_PROP(Value, ParseOfSerializeIsIdentity, ()) {
  const Value value = *gen_value(4);
  const std::string text = serialize(value);
  const Result<Value> back = parse(text);
  RC_ASSERT(back.has_value());
  RC_ASSERT(equal(value, *back));
  RC_ASSERT(serialize(*back) == text);
}

}  // namespace
}  // namespace gangway::json
