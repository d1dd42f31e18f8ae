#include "agent/network/forward_policy.h"

#include <gtest/gtest.h>

namespace gangway::agent {
namespace {

using Commands = std::vector<Arguments>;

const Arguments kIn{"iptables", "-w", "10", "-I", "FORWARD", "-i", "gw12345678", "-j", "ACCEPT"};
const Arguments kOut{"iptables", "-w", "10", "-I", "FORWARD", "-o", "gw12345678", "-j", "ACCEPT"};

TEST(ForwardPolicy, AcceptsWhereOthersWouldDrop) {
  EXPECT_EQ(missing_accepts("-P FORWARD DROP\n-A FORWARD -j DOCKER-USER\n", "gw12345678"), (Commands{kIn, kOut}));
  EXPECT_EQ(missing_accepts("-P FORWARD DROP\n-A FORWARD -i gw12345678 -j ACCEPT\n", "gw12345678"), Commands{kOut});
  EXPECT_EQ(missing_accepts("-P FORWARD DROP\n-A FORWARD -i gw1234567 -j ACCEPT\n", "gw12345678"),
            (Commands{kIn, kOut}));
}

TEST(ForwardPolicy, NeedsNothingWhereNobodyDrops) {
  EXPECT_EQ(missing_accepts("-P FORWARD ACCEPT\n-A FORWARD -j DOCKER-USER\n", "gw12345678"), Commands());
  EXPECT_EQ(missing_accepts("", "gw12345678"), Commands());
}

TEST(ForwardPolicy, TakesBackItsOwnOnly) {
  auto out = kOut;
  out[3] = "-D";
  EXPECT_EQ(removals("-P FORWARD ACCEPT\n-A FORWARD -o gw12345678 -j ACCEPT\n-A FORWARD -o docker0 -j ACCEPT\n",
                     "gw12345678"),
            Commands{out});
  EXPECT_EQ(removals("-P FORWARD DROP\n", "gw12345678"), Commands());
}

}  // namespace
}  // namespace gangway::agent
