#include "agent/network/pod_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/network/test_machine.h"

namespace gangway::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const Backend kPod{10U << 24 | 244U << 16 | 4U << 8 | 7U, 8080};

TEST(PodRules, MasqueradeWhatLeavesAndKeepClustersApart) {
  auto rules = pod_rules(a_layout(), {});
  EXPECT_THAT(rules, HasSubstr("table ip gw12345678\ndelete table ip gw12345678\ntable ip gw12345678 {\n"));
  EXPECT_THAT(rules, HasSubstr("ip saddr 10.244.4.0/22 oifname != { \"gw12345678\", \"lo\" } masquerade"));
  // 0x6777 is 26487.
  EXPECT_THAT(rules, HasSubstr("iifname \"gw12345678\" meta oifgroup 26487 drop"));
  EXPECT_THAT(rules, HasSubstr("ip daddr 10.244.4.1 iifname != { \"gw12345678\", \"lo\" } drop"));
  EXPECT_THAT(rules, Not(HasSubstr("dnat ip to"))) << "no ports of the machine were asked for";
}

TEST(PodRules, LeadPortsOfTheMachineToPods) {
  auto rules = pod_rules(a_layout(), {{Protocol::kTcp, 0, 80, kPod},
                                      {Protocol::kTcp, 192U << 24 | 2U << 8 | 2U, 443, {kPod.address, 8443}},
                                      {Protocol::kUdp, 0, 53, {kPod.address, 5353}}});
  EXPECT_THAT(rules, HasSubstr("map tcp_ports {\n    type inet_service : ipv4_addr . inet_service\n"
                               "    elements = { 80 : 10.244.4.7 . 8080 }"));
  EXPECT_THAT(rules, HasSubstr("elements = { 192.0.2.2 . 443 : 10.244.4.7 . 8443 }"));
  EXPECT_THAT(rules, HasSubstr("elements = { 53 : 10.244.4.7 . 5353 }"));
  EXPECT_THAT(rules, HasSubstr("elements = { 10.244.4.7 . 10.244.4.7 }"));
}

TEST(PodRules, APortHasOnePod) {
  auto rules =
      pod_rules(a_layout(), {{Protocol::kTcp, 0, 80, kPod}, {Protocol::kTcp, 0, 80, {kPod.address + 1, 9090}}});
  EXPECT_THAT(rules, HasSubstr("elements = { 80 : 10.244.4.7 . 8080 }"));
}

TEST(PodRules, AreGoodSyntax) {
  TestMachine machine;
  if (auto missing = machine.missing()) GTEST_SKIP() << *missing;
  std::vector<HostPort> ports;
  for (auto protocol : {Protocol::kTcp, Protocol::kUdp, Protocol::kSctp}) {
    ports.push_back({protocol, 0, 80, kPod});
    ports.push_back({protocol, 192U << 24 | 2U << 8 | 2U, 443, kPod});
  }
  for (const auto& given : {std::vector<HostPort>(), ports}) {
    auto checked = machine.run({"nft", "-c", "-f", "-"}, pod_rules(a_layout(), given));
    EXPECT_EQ(checked.code, 0) << checked.err;
  }
}

}  // namespace
}  // namespace gangway::agent
