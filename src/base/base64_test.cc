#include "base/base64.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace gangway {
namespace {

TEST(Base64, KnownValues) {
  // RFC 4648, section 10.
  for (const auto& [bytes, text] : {std::pair{"", ""},
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(base64_encode(bytes), text);
    EXPECT_EQ(base64_decode(text).value(), bytes);
  }
  EXPECT_EQ(base64url_encode("\xfb\xff"), "-_8");
  EXPECT_EQ(base64url_decode("-_8").value(), "\xfb\xff");
  EXPECT_EQ(base64_encode("\xfb\xff"), "+/8=");
}

TEST(Base64, RefusesWhatIsNot) {
  for (const char* text : {"Zg", "Zg=", "Z===", "=Zg=", "Zm 9", "Zm9v\n", "-_8=", "Zh==", "Zm9="})
    EXPECT_FALSE(base64_decode(text)) << text;
  for (const char* text : {"Z", "Zg==", "+/8", "Zh", "Zm9v."}) EXPECT_FALSE(base64url_decode(text)) << text;
}

TEST(Base64, RoundTrips) {
  EXPECT_TRUE(rc::check("decode(encode(x)) == x", [](const std::string& bytes) {
    RC_ASSERT(base64_decode(base64_encode(bytes)).value() == bytes);
    RC_ASSERT(base64url_decode(base64url_encode(bytes)).value() == bytes);
  }));
}

}  // namespace
}  // namespace gangway
