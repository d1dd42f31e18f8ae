#include "base/quote.h"

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(QuoteTest, EscapesAsGoDoes) {
  EXPECT_EQ(quoted(""), R"("")");
  EXPECT_EQ(quoted("a b"), R"("a b")");
  EXPECT_EQ(quoted("a\"b\\"), R"("a\"b\\")");
  EXPECT_EQ(quoted("\n\t\r\a"), R"("\n\t\r\a")");
  EXPECT_EQ(quoted(std::string_view("\0\x1f\x7f", 3)), R"("\x00\x1f\x7f")");
  EXPECT_EQ(quoted("\xC3\xA4\xE2\x82\xAC"), "\"\xC3\xA4\xE2\x82\xAC\"");
  EXPECT_EQ(quoted("\xC2\x85"), R"("\u0085")");
  EXPECT_EQ(quoted("\xC3("), R"("\xc3(")");
  EXPECT_EQ(quoted("\xC0\x80"), R"("\xc0\x80")");
  EXPECT_EQ(quoted("\xED\xA0\x80"), R"("\xed\xa0\x80")");
  EXPECT_EQ(quoted("\xF0\x9F\x98"), R"("\xf0\x9f\x98")");
}

}  // namespace
}  // namespace gangway
