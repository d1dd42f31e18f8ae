#include <gtest/gtest.h>

#include <set>
#include <string>

#include "controllers/conditions.h"
#include "controllers/node_lease.h"
#include "controllers/node_registrar.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kLeases;
using client::resources::kNodes;

Quantity amount(std::string_view text) {
  auto quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity.has_value()) << text;
  return quantity.value_or(Quantity());
}

NodeSpec a_node() {
  NodeSpec node;
  node.name = "n0";
  node.address = "192.168.0.23";
  node.roles = {"master"};
  node.capacity = {{"cpu", amount("32")}, {"memory", amount("128Gi")}, {"nvidia.com/gpu", amount("4")}};
  node.reserved = {{"cpu", amount("200m")}};
  node.labels = {{"zone", "a"}};
  node.taints = {{"k", "v", "NoSchedule"}};
  return node;
}

NodeSystem a_system() {
  NodeSystem system;
  system.gangway_version = "0.1.0";
  return system;
}

struct NodeRegistrarTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  std::unique_ptr<NodeRegistrar> registrar;

  void run(std::vector<NodeSpec> nodes) {
    bench.controller.reset();
    registrar = std::make_unique<NodeRegistrar>(std::move(nodes), a_system());
    bench.start(*registrar);
    for (const auto& key : registrar->keys()) bench.controller->enqueue(key);
    bench.loop.run_until_idle();
  }
  json::Value tree() { return api.tree(kNodes, {"", "n0"}); }
  std::string text(std::initializer_list<std::string_view> path) { return std::string(json::string_at(tree(), path)); }
  std::string label(std::string_view key) { return std::string(api.get(kNodes, {"", "n0"}).header->label(key)); }
  // "key=value:effect", joined by spaces.
  std::string taints() {
    std::string all;
    const json::Value node = tree();
    const json::Value* list = json::find(node, {"spec", "taints"});
    if (list == nullptr) return all;
    for (const json::Value& taint : list->as_array()) {
      all += (all.empty() ? "" : " ") + std::string(json::string_at(taint, {"key"})) + "=" +
             std::string(json::string_at(taint, {"value"})) + ":" + std::string(json::string_at(taint, {"effect"}));
    }
    return all;
  }
  void patch(std::string_view json_text) { api.patch(kNodes, {"", "n0"}, testing::parsed(json_text)); }
};

TEST_F(NodeRegistrarTest, MakesANodeAsAKubeletWould) {
  run({a_node()});
  EXPECT_EQ(label("kubernetes.io/hostname"), "n0");
  EXPECT_EQ(label("kubernetes.io/arch"), "amd64");
  EXPECT_EQ(label("beta.kubernetes.io/os"), "linux");
  EXPECT_EQ(label("zone"), "a");
  const auto& labels = api.get(kNodes, {"", "n0"}).header->labels;
  EXPECT_TRUE(std::any_of(labels.begin(), labels.end(),
                          [](const auto& pair) { return pair.first == "node-role.kubernetes.io/master"; }));
  EXPECT_EQ(taints(), "k=v:NoSchedule node-role.kubernetes.io/master=:NoSchedule");
  EXPECT_EQ(text({"status", "capacity", "cpu"}), "32");
  EXPECT_EQ(text({"status", "allocatable", "cpu"}), "31800m");
  EXPECT_EQ(text({"status", "allocatable", "memory"}), "128Gi");
  EXPECT_EQ(text({"status", "capacity", "nvidia.com/gpu"}), "4");
  EXPECT_EQ(text({"status", "capacity", "pods"}), "110");
  EXPECT_EQ(text({"status", "nodeInfo", "kubeletVersion"}), "v1.33.13-gangway.0.1.0");
  EXPECT_EQ(find_condition(tree(), "Ready")->at("status"), json::Value("True"));
  EXPECT_EQ(find_condition(tree(), "DiskPressure")->at("status"), json::Value("False"));
  EXPECT_EQ(*json::find(tree(), {"status", "addresses"}),
            testing::parsed(R"([{"type":"InternalIP","address":"192.168.0.23"},{"type":"Hostname","address":"n0"}])"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(NodeRegistrarTest, ReservingMoreThanThereIsLeavesNothing) {
  NodeSpec node = a_node();
  node.reserved = {{"cpu", amount("40")}};
  run({node});
  EXPECT_EQ(text({"status", "allocatable", "cpu"}), "0");
}

TEST_F(NodeRegistrarTest, WhatUsersSetStaysAlsoAfterARestart) {
  run({a_node()});
  patch(R"({"metadata":{"labels":{"mine":"1","zone":"b"}},
            "spec":{"unschedulable":true,"taints":[{"key":"k","value":"v","effect":"NoSchedule"},
                                                   {"key":"user","effect":"NoExecute"}]}})");
  bench.loop.run_until_idle();
  run({a_node()});
  EXPECT_EQ(label("mine"), "1");
  EXPECT_EQ(label("zone"), "b");
  EXPECT_EQ(taints(), "k=v:NoSchedule user=:NoExecute");
  EXPECT_EQ(*json::find(tree(), {"spec", "unschedulable"}), json::Value(true));
}

TEST_F(NodeRegistrarTest, AChangedDescriptionIsApplied) {
  run({a_node()});
  patch(R"({"metadata":{"labels":{"mine":"1"}}})");
  NodeSpec changed = a_node();
  changed.labels = {{"rack", "7"}};
  changed.taints = {{"k", "w", "NoSchedule"}};
  changed.roles = {};
  changed.capacity.erase("nvidia.com/gpu");
  run({changed});
  EXPECT_EQ(label("zone"), "");
  EXPECT_EQ(label("rack"), "7");
  EXPECT_EQ(label("mine"), "1");
  EXPECT_EQ(taints(), "k=w:NoSchedule");
  EXPECT_EQ(json::find(tree(), {"status", "capacity", "nvidia.com/gpu"}), nullptr);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(NodeRegistrarTest, PutsTheMachinesFactsRight) {
  run({a_node()});
  patch(R"({"metadata":{"labels":{"kubernetes.io/hostname":"liar"}}})");
  bench.loop.run_until_idle();
  EXPECT_EQ(label("kubernetes.io/hostname"), "n0");
}

TEST_F(NodeRegistrarTest, RemovesItsOwnNodesThatAreDeclaredNoMoreAndNoOthers) {
  api.create(kNodes, testing::an_object("v1", "Node", "", "foreign"));
  run({a_node()});
  run({});
  EXPECT_FALSE(api.get(kNodes, {"", "n0"}));
  EXPECT_TRUE(api.get(kNodes, {"", "foreign"}));
}

TEST_F(NodeRegistrarTest, MakesADeletedNodeAgain) {
  run({a_node()});
  api.remove(kNodes, {"", "n0"});
  bench.loop.run_until_idle();
  EXPECT_TRUE(api.get(kNodes, {"", "n0"}));
}

WallTime renewed(const testing::FakeApi& api, const std::string& name) {
  const auto time = parse_rfc3339(json::string_at(api.tree(kLeases, {"kube-node-lease", name}), {"spec", "renewTime"}));
  EXPECT_TRUE(time.has_value());
  return time.value_or(WallTime());
}

TEST(NodeLeaseTest, RenewsEveryTenSecondsAndOwnsTheLease) {
  Bench bench;
  NodeLease reconciler({"n0"});
  const auto node = bench.api.create(kNodes, testing::an_object("v1", "Node", "", "n0"));
  bench.api.create(kNodes, testing::an_object("v1", "Node", "", "foreign"));
  bench.start(reconciler);
  const auto lease = bench.api.get(kLeases, {"kube-node-lease", "n0"});
  ASSERT_TRUE(lease);
  EXPECT_EQ(lease.header->owners.at(0).uid, node.header->uid);
  EXPECT_FALSE(bench.api.get(kLeases, {"kube-node-lease", "foreign"}));
  bench.loop.advance(1min);
  EXPECT_GE(renewed(bench.api, "n0"), bench.loop.clock().wall() - 10s);
  bench.api.forget_calls();
  bench.loop.advance(100s);
  EXPECT_EQ(bench.api.writes().size(), 10u);
}

TEST(NodeLeaseTest, MakesADeletedLeaseAgain) {
  Bench bench;
  NodeLease reconciler({"n0"});
  bench.api.create(kNodes, testing::an_object("v1", "Node", "", "n0"));
  bench.start(reconciler);
  bench.api.remove(kLeases, {"kube-node-lease", "n0"});
  bench.loop.run_until_idle();
  EXPECT_TRUE(bench.api.get(kLeases, {"kube-node-lease", "n0"}));
}

TEST(NodeLeaseTest, ReportsConditionsAndPutsThemRightAtOnce) {
  Bench bench;
  NodeLease reconciler({"n0"});
  bench.api.create(kNodes, testing::an_object("v1", "Node", "", "n0"));
  bench.start(reconciler);
  const auto ready = [&](const char* field) {
    const json::Value tree = bench.api.tree(kNodes, {"", "n0"});
    const json::Object* condition = find_condition(tree, "Ready");
    return condition == nullptr ? std::string() : std::string(condition->at(field).as_string());
  };
  EXPECT_EQ(ready("status"), "True");
  const std::string since = ready("lastTransitionTime");
  const std::string heartbeat = ready("lastHeartbeatTime");
  bench.loop.advance(6min);
  EXPECT_EQ(ready("lastTransitionTime"), since);
  EXPECT_GT(ready("lastHeartbeatTime"), heartbeat);
  bench.api.patch(kNodes, {"", "n0"},
                  testing::parsed(R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})"), "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(ready("status"), "True");
}

// 1,000 nodes: each is renewed once in ten seconds, and no second gets more than twice its share.
TEST(NodeLeaseTest, SpreadsRenewalsOverTime) {
  Bench bench;
  std::set<std::string> names;
  for (int i = 0; i < 1000; ++i) names.insert("node-" + std::to_string(i));
  for (const auto& name : names) bench.api.create(kNodes, testing::an_object("v1", "Node", "", name));
  NodeLease reconciler(names);
  bench.start(reconciler);
  bench.loop.advance(15s);
  std::size_t total = 0;
  for (int second = 0; second < 10; ++second) {
    bench.api.forget_calls();
    bench.loop.advance(1s);
    std::size_t renewals = 0;
    for (const auto& write : bench.api.writes()) renewals += write.resource == kLeases ? 1 : 0;
    EXPECT_LE(renewals, 200u) << "second " << second;
    total += renewals;
  }
  EXPECT_EQ(total, 1000u);
}

}  // namespace
}  // namespace gangway::controllers
