#include "agent/network/service_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/network/test_machine.h"

namespace gangway::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Service a_service(const std::string& name, const char* address, std::vector<ServicePort> ports) {
  Service service;
  service.name = {"team-a", name};
  service.cluster_ip = parse_v4(address);
  service.ports = std::move(ports);
  return service;
}

struct Cluster {
  NetworkLayout layout = a_layout();
  Services services;
  Slices slices;

  void add(Service service) { services[service.name] = service; }
  void add(const std::string& service, std::vector<const char*> addresses, std::uint16_t port) {
    EndpointSlice slice{{"team-a", service}, {{"http", Protocol::kTcp, port}}, {}};
    for (const auto* address : addresses) slice.endpoints.push_back({*parse_v4(address), true, false, ""});
    slices[{"team-a", service + "-slice"}] = slice;
  }
  std::string rules(std::optional<Backend> api_server = std::nullopt) const {
    return service_rules({layout, services, slices, api_server});
  }
};

TEST(ServiceRules, OneBackendIsAPlainTranslation) {
  Cluster cluster;
  cluster.add(a_service("web", "10.96.3.4", {{"http", Protocol::kTcp, 80, 0}}));
  cluster.add("web", {"10.244.4.7"}, 8080);
  auto rules = cluster.rules();
  EXPECT_THAT(rules, HasSubstr("table ip gw12345678_services\ndelete table ip gw12345678_services\n"));
  EXPECT_THAT(rules, HasSubstr("chain svc_team-a_web_tcp_80 {\n    meta l4proto tcp dnat to 10.244.4.7:8080\n"));
  EXPECT_THAT(rules, HasSubstr("elements = { 10.96.3.4 . tcp . 80 : goto svc_team-a_web_tcp_80 }"));
  EXPECT_THAT(rules, HasSubstr("elements = { 10.244.4.7 . 10.244.4.7 }"));
  EXPECT_THAT(rules, HasSubstr("elements = { 10.96.3.4 }"));
}

TEST(ServiceRules, SeveralBackendsShareByChance) {
  Cluster cluster;
  cluster.add(a_service("web", "10.96.3.4", {{"http", Protocol::kTcp, 80, 30080}}));
  cluster.add("web", {"10.244.4.8", "10.244.4.7"}, 8080);
  auto rules = cluster.rules();
  EXPECT_THAT(rules, HasSubstr("meta l4proto tcp dnat ip to numgen random mod 2 map { 0 : 10.244.4.7 . 8080, 1 : "
                               "10.244.4.8 . 8080 }"));
  EXPECT_THAT(rules, HasSubstr("elements = { tcp . 30080 : goto svc_team-a_web_tcp_80 }"));
}

TEST(ServiceRules, NobodyBehindItIsRefused) {
  Cluster cluster;
  cluster.add(a_service("web", "10.96.3.4", {{"http", Protocol::kTcp, 80, 30080}}));
  auto rules = cluster.rules();
  EXPECT_THAT(rules, HasSubstr("set cluster_ips {\n    type ipv4_addr\n    elements = { 10.96.3.4 }"));
  EXPECT_THAT(
      rules, HasSubstr("set refused_node_ports {\n    type inet_proto . inet_service\n    elements = { tcp . 30080 }"));
  EXPECT_THAT(rules, Not(HasSubstr("goto")));
}

TEST(ServiceRules, TheApiServerIsWhereThisMachineReachesIt) {
  Cluster cluster;
  auto kubernetes = a_service("kubernetes", "10.96.0.1", {{"https", Protocol::kTcp, 443, 0}});
  kubernetes.name.ns = "default";
  cluster.add(kubernetes);
  EXPECT_THAT(cluster.rules(Backend{*parse_v4("10.244.4.1"), 6443}), HasSubstr("dnat to 10.244.4.1:6443"));
}

TEST(ServiceRules, WhatTwoServicesClaimIsTheFirstOnes) {
  Cluster cluster;
  for (const char* name : {"alpha", "beta"}) {
    auto service = a_service(name, name == std::string("alpha") ? "10.96.0.5" : "10.96.0.6",
                             {{"http", Protocol::kTcp, 80, 30080}});
    service.external_ips = {*parse_v4("198.51.100.7")};
    cluster.add(service);
    cluster.add(name, {"10.244.4.7"}, 8080);
  }
  auto rules = cluster.rules();
  EXPECT_THAT(rules, HasSubstr("198.51.100.7 . tcp . 80 : goto svc_team-a_alpha_tcp_80"));
  EXPECT_THAT(rules, Not(HasSubstr("198.51.100.7 . tcp . 80 : goto svc_team-a_beta_tcp_80")));
  EXPECT_THAT(rules, HasSubstr("{ tcp . 30080 : goto svc_team-a_alpha_tcp_80 }"));
}

TEST(ServiceRules, SameInputSameText) {
  Cluster cluster;
  auto service = a_service("web", "10.96.3.4", {{"http", Protocol::kTcp, 80, 0}});
  service.sticky = true;
  cluster.add(service);
  cluster.add("web", {"10.244.4.8", "10.244.4.7"}, 8080);
  EXPECT_EQ(cluster.rules(), cluster.rules());
  EXPECT_THAT(cluster.rules(), HasSubstr("jhash ip saddr mod 128 seed 0x6777 map { 0 : 10.244.4."));
}

TEST(StickySlots, SpreadOverAllAndMoveOnlyWhatMust) {
  std::vector<Backend> three{{1, 80}, {2, 80}, {3, 80}};
  std::vector<Backend> two{{1, 80}, {3, 80}};
  auto before = sticky_slots(three, 128);
  auto after = sticky_slots(two, 128);
  std::map<std::uint32_t, int> counts;
  for (std::size_t i = 0; i < before.size(); ++i) {
    auto was = three[before[i]].address;
    ++counts[was];
    if (was == 2) continue;
    EXPECT_EQ(two[after[i]].address, was) << "slot " << i;
  }
  // 128 slots over three: 43 each on average; a fair draw is outside of 20…66 less than once in a million times.
  ASSERT_EQ(counts.size(), 3U);
  for (const auto& [address, count] : counts) {
    EXPECT_GT(count, 20) << address;
    EXPECT_LT(count, 66) << address;
  }
}

// nft itself accepts every form of rule that we write. Nothing is changed: -c only checks.
TEST(ServiceRules, AreGoodSyntax) {
  TestMachine machine;
  if (auto missing = machine.missing()) GTEST_SKIP() << *missing;
  Cluster cluster;
  for (bool sticky : {false, true}) {
    auto name = sticky ? std::string("sticky") : std::string("0-odd");
    auto service = a_service(name, sticky ? "10.96.0.5" : "10.96.0.6",
                             {{"http", Protocol::kTcp, 80, static_cast<std::uint16_t>(sticky ? 30080 : 0)}});
    service.sticky = sticky;
    service.external_ips = {*parse_v4("198.51.100.7")};
    cluster.add(service);
    cluster.add(name, {"10.244.4.7", "10.244.4.8"}, 8080);
  }
  cluster.add(a_service("udp", "10.96.0.7", {{"http", Protocol::kUdp, 53, 30053}}));
  cluster.slices[{"team-a", "u"}] = {
      {"team-a", "udp"}, {{"http", Protocol::kUdp, 5353}}, {{*parse_v4("10.244.4.9"), true, false, ""}}};
  cluster.add(a_service("sctp", "10.96.0.8", {{"http", Protocol::kSctp, 53, 0}}));
  cluster.slices[{"team-a", "s"}] = {
      {"team-a", "sctp"}, {{"http", Protocol::kSctp, 5353}}, {{9, true, false, ""}, {10, true, false, ""}}};
  cluster.add(a_service("empty", "10.96.0.9", {{"http", Protocol::kTcp, 80, 30081}}));
  auto checked = machine.run({"nft", "-c", "-f", "-"}, cluster.rules());
  EXPECT_EQ(checked.code, 0) << checked.err;
  auto none = machine.run({"nft", "-c", "-f", "-"}, Cluster().rules());
  EXPECT_EQ(none.code, 0) << none.err;
}

}  // namespace
}  // namespace gangway::agent
