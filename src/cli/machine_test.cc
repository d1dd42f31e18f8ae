#include "cli/machine.h"

#include <gtest/gtest.h>

namespace gangway::cli {
namespace {

TEST(Machine, HasLoopbackAndNotWhatIsSetAsideForExamples) {
  EXPECT_TRUE(has_address("127.0.0.1"));
  EXPECT_FALSE(has_address("192.0.2.20"));
  EXPECT_FALSE(has_address("2001:db8::20"));
  EXPECT_FALSE(has_address("gpu-1"));
  EXPECT_FALSE(has_address(""));
}

}  // namespace
}  // namespace gangway::cli
