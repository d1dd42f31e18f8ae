#include "controllers/int_or_percent.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace gangway::controllers {
namespace {

struct Case {
  const char* value;
  std::int64_t whole;
  std::int64_t up;
  std::int64_t down;
};

TEST(IntOrPercentTest, RoundsAsAsked) {
  const Case cases[] = {
      {"3", 10, 3, 3},      {"0", 10, 0, 0},        {R"("25%")", 10, 3, 2}, {R"("25%")", 4, 1, 1}, {R"("1%")", 1, 1, 0},
      {R"("0%")", 7, 0, 0}, {R"("100%")", 7, 7, 7}, {R"("150%")", 3, 5, 4}, {R"("33%")", 0, 0, 0},
  };
  for (const Case& c : cases) {
    const auto value = testing::parsed(c.value);
    EXPECT_EQ(scaled(value, c.whole, Rounding::kUp).value(), c.up) << c.value << " of " << c.whole;
    EXPECT_EQ(scaled(value, c.whole, Rounding::kDown).value(), c.down) << c.value << " of " << c.whole;
  }
}

TEST(IntOrPercentTest, RefusesTheRest) {
  for (const char* text : {R"("25")", R"("%")", R"("a%")", R"("25%%")", "true", "null", "1.5"})
    EXPECT_FALSE(scaled(testing::parsed(text), 10, Rounding::kUp)) << text;
}

}  // namespace
}  // namespace gangway::controllers
