#include "base/utf8.h"

#include <gtest/gtest.h>

namespace gangway {
namespace {

TEST(Utf8, TakesWhatUnicodeDefines) {
  for (const std::string_view text : {"", "a", "\x7f", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
                                      "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "Gr\xc3\xbc\xc3\x9f"}) {
    EXPECT_TRUE(valid_utf8(text)) << text;
  }
}

TEST(Utf8, RefusesTheRest) {
  struct Case {
    const char* name;
    std::string_view text;
  };
  const Case cases[] = {{"a lone continuation", "\x80"},
                        {"an overlong slash", "\xc0\xaf"},
                        {"three bytes for two", "\xe0\x9f\xbf"},
                        {"four bytes for three", "\xf0\x8f\xbf\xbf"},
                        {"a surrogate", "\xed\xa0\x80"},
                        {"beyond Unicode", "\xf4\x90\x80\x80"},
                        {"cut short", "a\xe2\x82"},
                        {"a bad continuation", "\xc3(x"},
                        {"a byte that never occurs", "\xff"}};
  for (const auto& c : cases) EXPECT_FALSE(valid_utf8(c.text)) << c.name;
}

TEST(Utf8, RepairsByteByByte) {
  struct Case {
    std::string_view bytes;
    std::string_view want;
  };
  const Case cases[] = {{"", ""},
                        {"Gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", "Gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"},
                        {"\xff:\x80", "\xef\xbf\xbd:\xef\xbf\xbd"},
                        {"\xe2\x82x", "\xef\xbf\xbd\xef\xbf\xbdx"},
                        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
                        {"\xc3", "\xef\xbf\xbd"}};
  for (const auto& c : cases) EXPECT_EQ(repaired_utf8(c.bytes), c.want);
}

}  // namespace
}  // namespace gangway
