#include "base/address.h"

#include <gtest/gtest.h>

namespace gangway {
namespace {

constexpr std::uint32_t v4(unsigned a, unsigned b, unsigned c, unsigned d) {
  return a << 24 | b << 16 | c << 8 | d;
}

TEST(Address, NumbersCountAsPeopleDo) {
  EXPECT_EQ(parse_v4("10.0.0.1"), v4(10, 0, 0, 1));
  EXPECT_EQ(*parse_v4("10.0.1.0") - *parse_v4("10.0.0.255"), 1U);
  EXPECT_EQ(v4_text(v4(192, 0, 2, 7)), "192.0.2.7");
  for (const char* bad : {"", "10.0.0", "10.0.0.256", "::1", "10.0.0.1 ", "a.b.c.d"})
    EXPECT_FALSE(parse_v4(bad)) << bad;
}

TEST(Address, NetworkIsTheOneThatTheAddressIsIn) {
  auto network = parse_network("10.244.5.7/22");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->text(), "10.244.4.0/22");
  EXPECT_TRUE(network->contains(v4(10, 244, 7, 255)));
  EXPECT_FALSE(network->contains(v4(10, 244, 8, 0)));
  EXPECT_FALSE(network->contains(v4(10, 244, 3, 255)));
  EXPECT_EQ(parse_network("0.0.0.0/0")->mask(), 0U);
  for (const char* bad : {"10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/8x", "x/8", "10.0.0.0/-1"})
    EXPECT_FALSE(parse_network(bad)) << bad;
}

TEST(Address, NetworksOverlapWhenOneHoldsTheOther) {
  auto wide = *parse_network("10.244.0.0/16");
  auto narrow = *parse_network("10.244.12.0/22");
  auto beside = *parse_network("10.244.16.0/22");
  EXPECT_TRUE(wide.overlaps(narrow));
  EXPECT_TRUE(narrow.overlaps(wide));
  EXPECT_FALSE(narrow.overlaps(beside));
  EXPECT_TRUE(narrow.overlaps(*parse_network("0.0.0.0/0")));
}

}  // namespace
}  // namespace gangway
