#include "agent/network/subnet.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "sys/files.h"

namespace gangway::agent {
namespace {

namespace fs = std::filesystem;

Network net(const char* text) {
  return *parse_network(text);
}

TEST(ChooseSubnet, TakesTheFirstThatNobodyUses) {
  EXPECT_EQ(choose_subnet({}, 0)->text(), "10.244.0.0/22");
  EXPECT_EQ(choose_subnet({}, 3)->text(), "10.244.12.0/22");
  EXPECT_EQ(choose_subnet({net("10.244.0.7/32")}, 0)->text(), "10.244.4.0/22");
  // From the last of the first /16 it goes on at its beginning, not in the next /16.
  EXPECT_EQ(choose_subnet({net("10.244.252.0/24")}, 63)->text(), "10.244.0.0/22");
  EXPECT_EQ(choose_subnet({net("10.244.0.0/16")}, 5)->text(), "10.245.0.0/22");
  EXPECT_FALSE(choose_subnet({net("10.0.0.0/8")}, 0));
}

TEST(ChooseSubnet, ReadsTheKernelsRoutes) {
  auto routes = parse_routes(
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
      "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
      "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
      "gw12345678\t0004F40A\t00000000\t0001\t0\t0\t0\t00FCFFFF\t0\t0\t0\n"
      "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n",
      "gw12345678");
  EXPECT_EQ(routes, (std::vector<Network>{net("192.0.2.0/24"), net("172.17.0.0/16")}));
}

class ClaimSubnet : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("gangway-subnet-" + std::to_string(::getpid()));
    for (const char* name : {"a", "b"}) fs::create_directories(root_ / name);
  }
  void TearDown() override { fs::remove_all(root_); }
  SubnetPlace place(const char* name) const { return {(root_ / name).string(), (root_ / "run").string()}; }

  fs::path root_;
};

TEST_F(ClaimSubnet, IsTheSameForWhoeverAsks) {
  EXPECT_FALSE(claimed_subnet(place("a")));
  auto first = claim_subnet(place("a"));
  ASSERT_TRUE(first) << first.error().message;
  auto second = claim_subnet(place("a"));
  ASSERT_TRUE(second);
  EXPECT_EQ(first->subnet, second->subnet);
  EXPECT_EQ(first->id.size(), 10U);
  EXPECT_EQ(first->gateway(), first->subnet.first + 1);
  EXPECT_EQ(claimed_subnet(place("a"))->subnet, first->subnet);
}

TEST_F(ClaimSubnet, OtherClustersGetOthers) {
  auto a = claim_subnet(place("a"));
  ASSERT_TRUE(a);
  // The other remembers the very subnet that is taken now.
  ASSERT_TRUE(sys::atomic_write(place("b").data_dir + "/network.json", R"({"subnet": ")" + a->subnet.text() + "\"}"));
  auto b = claim_subnet(place("b"));
  ASSERT_TRUE(b);
  EXPECT_FALSE(a->subnet.overlaps(b->subnet));
}

TEST_F(ClaimSubnet, IsRememberedAfterItWasGivenBack) {
  ASSERT_TRUE(sys::atomic_write(place("a").data_dir + "/network.json", R"({"subnet": "10.247.252.0/22"})"));
  auto layout = claim_subnet(place("a"));
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->subnet.text(), "10.247.252.0/22");
}

TEST_F(ClaimSubnet, BadMemoryIsNoObstacle) {
  for (const char* text : {"", "{", R"({"subnet": "none"})", R"({"subnet": "10.0.0.0/8"})"}) {
    fs::remove_all(root_ / "run");
    ASSERT_TRUE(sys::atomic_write(place("a").data_dir + "/network.json", text));
    auto layout = claim_subnet(place("a"));
    ASSERT_TRUE(layout) << text;
    EXPECT_EQ(layout->subnet.prefix, 22U);
  }
}

}  // namespace
}  // namespace gangway::agent
