#include "agent/node/node_registrar.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/node/node_status.h"
#include "agent/node/test_node_spec.h"
#include "client/resource.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::agent {
namespace {

using client::resources::kNodes;

struct NodeRegistrarTest : ::testing::Test {
  testing::ControllerBench bench;
  testing::FakeApi& api = bench.api;
  std::unique_ptr<NodeRegistrar> registrar;

  // An agent has made the node as it was described then.
  void SetUp() override { api.create(kNodes, new_node(a_node(), a_system(), {}, true, bench.loop.clock().wall())); }

  void run(std::vector<NodeSpec> nodes) {
    bench.controller.reset();
    registrar = std::make_unique<NodeRegistrar>(std::move(nodes));
    bench.start(*registrar);
  }
  json::Value tree() { return api.tree(kNodes, {"", "n0"}); }
  std::string label(std::string_view key) { return std::string(api.get(kNodes, {"", "n0"}).header->label(key)); }
  // "key=value:effect", joined by spaces.
  std::string taints() {
    std::string all;
    for (const api::Taint& taint : api::read_taints(tree()))
      all += (all.empty() ? "" : " ") + taint.key + "=" + taint.value + ":" + taint.effect;
    return all;
  }
  void patch(std::string_view json_text) { api.patch(kNodes, {"", "n0"}, testing::parsed(json_text)); }
};

TEST_F(NodeRegistrarTest, ANodeAsDescribedNeedsNothing) {
  run({a_node()});
  EXPECT_EQ(label("zone"), "a");
  EXPECT_EQ(taints(), "k=v:NoSchedule node-role.kubernetes.io/master=:NoSchedule");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
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
  bench.loop.run_until_idle();
  NodeSpec changed = a_node();
  changed.labels = {{"rack", "7"}};
  changed.taints = {{"k", "w", "NoSchedule"}};
  changed.roles = {};
  run({changed});
  EXPECT_EQ(label("zone"), "");
  EXPECT_EQ(label("rack"), "7");
  EXPECT_EQ(label("mine"), "1");
  EXPECT_EQ(taints(), "k=w:NoSchedule");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(NodeRegistrarTest, RemovesItsOwnNodesThatAreDeclaredNoMoreAndNoOthers) {
  api.create(kNodes, testing::an_object("v1", "Node", "", "foreign"));
  NodeSpec joined = a_node();
  joined.name = "joined";
  api.create(kNodes, new_node(joined, a_system(), {}, false, bench.loop.clock().wall()));
  run({});
  EXPECT_FALSE(api.get(kNodes, {"", "n0"}));
  EXPECT_TRUE(api.get(kNodes, {"", "foreign"}));
  EXPECT_TRUE(api.get(kNodes, {"", "joined"}));
}

}  // namespace
}  // namespace gangway::agent
