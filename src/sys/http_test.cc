#include "sys/http.h"

#include <gtest/gtest.h>

namespace gangway::sys {
namespace {

TEST(HttpHeaders, CompareNamesWithoutCase) {
  HttpHeaders headers;
  headers.add("Accept", "a");
  headers.add("X-Other", "o");
  headers.add("ACCEPT", "b");
  EXPECT_EQ(headers.get("accept"), "a");
  EXPECT_EQ(headers.get("accep"), "");
  EXPECT_EQ(headers.get("accept-encoding"), "");
  EXPECT_EQ(headers.all("Accept"), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(headers.all("missing").empty());
  // '@' and '`' differ by the same bit as 'A' and 'a'.
  headers.add("x@y", "at");
  EXPECT_EQ(headers.get("x`y"), "");
}

}  // namespace
}  // namespace gangway::sys
