#include "sim/solitude.h"

#include <gtest/gtest.h>

namespace gangway::sim {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr MonoTime kBegan{minutes(100)};

TEST(SolitudeTest, IsTooLongOnceOthersMayHaveTheWork) {
  Solitude solitude;
  solitude.observe(true, kBegan);
  solitude.observe(true, kBegan + minutes(7));
  EXPECT_FALSE(solitude.is_too_long(kBegan + minutes(7)));
  EXPECT_TRUE(solitude.is_too_long(kBegan + minutes(7) + seconds(1)));
}

TEST(SolitudeTest, EndsWithAWordOrWithTheAgent) {
  Solitude solitude;
  EXPECT_FALSE(solitude.is_too_long(kBegan + minutes(60)));
  solitude.observe(true, kBegan);
  solitude.observe(false, kBegan + minutes(6));
  EXPECT_FALSE(solitude.is_too_long(kBegan + minutes(60)));
  solitude.observe(true, kBegan + minutes(8));
  EXPECT_FALSE(solitude.is_too_long(kBegan + minutes(15)));
  EXPECT_TRUE(solitude.is_too_long(kBegan + minutes(16)));
}

TEST(SolitudeTest, CountsFromTheTimeThatItCouldAct) {
  Solitude solitude;
  solitude.excuse(kBegan + minutes(1));  // of nothing
  solitude.observe(true, kBegan);
  solitude.excuse(kBegan + minutes(2));
  solitude.excuse(kBegan + minutes(1));
  solitude.observe(true, kBegan + minutes(3));
  EXPECT_FALSE(solitude.is_too_long(kBegan + minutes(9)));
  EXPECT_TRUE(solitude.is_too_long(kBegan + minutes(9) + seconds(1)));
}

}  // namespace
}  // namespace gangway::sim
