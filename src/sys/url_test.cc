#include "sys/url.h"

#include <gtest/gtest.h>

namespace gangway::sys {
namespace {

TEST(Url, DecodesPathsAndQueriesApart) {
  auto target =
      parse_target("/api/v1/namespaces/a%2Fb/pods/?labelSelector=app%3Dweb%2Ctier+in+%28a%29&limit=5&limit=6&watch");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->segments, (std::vector<std::string>{"api", "v1", "namespaces", "a", "b", "pods"}));
  EXPECT_EQ(target->query.get("labelSelector"), "app=web,tier in (a)");
  EXPECT_EQ(target->query.get("limit"), "5");
  EXPECT_EQ(target->query.all("limit").size(), 2u);
  EXPECT_TRUE(target->query.has("watch"));
}

TEST(Url, PlusIsASpaceInQueriesOnly) {
  auto target = parse_target("/a+b?x=c+d");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->segments.front(), "a+b");
  EXPECT_EQ(target->query.get("x"), "c d");
}

TEST(Url, EncodesAllThatIsNotPlain) {
  EXPECT_EQ(percent_encode("az-AZ.0_9~"), "az-AZ.0_9~");
  EXPECT_EQ(percent_encode("a/b c+d&e=\xff"), "a%2Fb%20c%2Bd%26e%3D%FF");
  EXPECT_EQ(percent_decode(percent_encode("sh -c 'a+b'"), true).value(), "sh -c 'a+b'");
}

TEST(Url, AQueryIsWrittenAsItIsRead) {
  Query query;
  EXPECT_EQ(query.text(), "");
  query.set("command", "a b");
  query.set("command", "&=");
  query.set("tty", "");
  EXPECT_EQ(query.text(), "command=a%20b&command=%26%3D&tty=");
  EXPECT_EQ(Query::parse(query.text())->all("command"), (std::vector<std::string_view>{"a b", "&="}));
}

TEST(Url, RefusesBrokenEscapes) {
  for (auto text : {"/%", "/%4", "/%zz", "/a?b=%g0"}) EXPECT_FALSE(parse_target(text)) << text;
}

TEST(Url, FlagsFollowKubernetesRule) {
  struct Case {
    std::string_view query;
    bool want;
  };
  for (const auto& c : {Case{"", false},
                        {"watch=0", false},
                        {"watch=False", false},
                        {"watch=false", false},
                        {"watch=1", true},
                        {"watch=true", true},
                        {"watch=yes", true}}) {
    auto query = Query::parse(c.query);
    ASSERT_TRUE(query);
    EXPECT_EQ(query->flag("watch"), c.want) << c.query;
  }
}

TEST(Url, IntegersSayWhichParameterIsWrong) {
  auto query = Query::parse("limit=ten&timeoutSeconds=7");
  ASSERT_TRUE(query);
  EXPECT_EQ(query->integer("timeoutSeconds").value(), 7);
  EXPECT_EQ(query->integer("absent").value(), std::nullopt);
  auto wrong = query->integer("limit");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().reason, Reason::kBadRequest);
  EXPECT_NE(wrong.error().message.find("limit"), std::string::npos);
}

}  // namespace
}  // namespace gangway::sys
