#include "apiserver/status.h"

#include <gtest/gtest.h>

#include "json/value.h"

namespace gangway::apiserver {
namespace {

// Names and messages may hold bytes that came percent-encoded in a URL; an answer is text all the same.
TEST(Status, IsTextWhateverItTellsOf) {
  Error error;
  error.reason = Reason::kInvalid;
  error.message = "Pod \"\xff\" is invalid";
  error.subject = {"g\xff", "Pod\xff", "\xff", "u\xff"};
  error.causes = {{"FieldValueInvalid\xff", "not \xff", "metadata[\xff]"}};
  const auto text = json::serialize(status_of(error));
  const auto status = json::parse(text);
  ASSERT_TRUE(status) << text;
  EXPECT_EQ(json::string_at(*status, {"message"}), "Pod \"\xef\xbf\xbd\" is invalid");
  EXPECT_EQ(json::string_at(*status, {"details", "name"}), "\xef\xbf\xbd");
  EXPECT_EQ(status->at("details").at("causes").at(0).at("field"), "metadata[\xef\xbf\xbd]");
}

}  // namespace
}  // namespace gangway::apiserver
