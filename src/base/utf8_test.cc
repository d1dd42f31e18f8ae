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

}  // namespace
}  // namespace gangway
