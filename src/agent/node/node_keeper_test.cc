#include "agent/node/node_keeper.h"

#include <gtest/gtest.h>

#include <string>

#include "agent/node/test_node_spec.h"
#include "api/conditions.h"
#include "client/resource.h"
#include "testing/builders.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

using namespace std::chrono_literals;
using client::resources::kLeases;
using client::resources::kNodes;

struct NodeKeeperTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  NodeCondition condition;
  std::unique_ptr<client::Informer> nodes;
  std::unique_ptr<NodeKeeper> keeper;

  void run(const std::vector<NodeSpec>& specs) {
    keeper.reset();
    client::InformerOptions options;
    options.what.resource = kNodes;
    nodes = std::make_unique<client::Informer>(api, loop, options);
    std::vector<KeptNode> kept;
    for (const NodeSpec& spec : specs) kept.push_back({spec, &api, nodes.get()});
    keeper = std::make_unique<NodeKeeper>(loop, std::move(kept), NodeKeeperOptions{a_system(), true},
                                          [this](const std::string&) { return condition; });
    nodes->start();
    keeper->start();
    loop.advance(100ms);
  }
  json::Value tree(const std::string& name = "n0") { return api.tree(kNodes, {"", name}); }
  std::string text(std::initializer_list<std::string_view> path) { return std::string(json::string_at(tree(), path)); }
  std::string label(std::string_view key) { return std::string(api.get(kNodes, {"", "n0"}).header->label(key)); }
  std::string ready(const char* field) {
    const json::Value node = tree();
    const json::Object* found = api::find_condition(node, "Ready");
    return found == nullptr ? std::string() : std::string(found->at(field).as_string());
  }
  api::Version lease(const std::string& name = "n0") { return api.get(kLeases, {"kube-node-lease", name}); }
};

TEST_F(NodeKeeperTest, MakesANodeAsAKubeletWould) {
  condition.port = 10250;
  condition.images = {{{"small"}, 1}, {{"large"}, 2}};
  run({a_node()});
  EXPECT_EQ(label("kubernetes.io/hostname"), "n0");
  EXPECT_EQ(label("kubernetes.io/arch"), "amd64");
  EXPECT_EQ(label("beta.kubernetes.io/os"), "linux");
  EXPECT_EQ(label("zone"), "a");
  EXPECT_EQ(text({"status", "capacity", "cpu"}), "32");
  EXPECT_EQ(text({"status", "allocatable", "cpu"}), "31800m");
  EXPECT_EQ(text({"status", "allocatable", "memory"}), "128Gi");
  EXPECT_EQ(text({"status", "capacity", "pods"}), "110");
  EXPECT_EQ(text({"status", "nodeInfo", "kubeletVersion"}), "v1.33.13-gangway.0.1.0");
  EXPECT_EQ(ready("status"), "True");
  EXPECT_EQ(*json::find(tree(), {"status", "addresses"}),
            testing::parsed(R"([{"type":"InternalIP","address":"192.168.0.23"},{"type":"Hostname","address":"n0"}])"));
  EXPECT_EQ(*json::find(tree(), {"status", "daemonEndpoints"}),
            testing::parsed(R"({"kubeletEndpoint":{"Port":10250}})"));
  EXPECT_EQ(*json::find(tree(), {"status", "images"}),
            testing::parsed(R"([{"names":["large"],"sizeBytes":2},{"names":["small"],"sizeBytes":1}])"));
  std::size_t creates = 0;
  for (const auto& write : api.writes()) creates += write.resource == kNodes ? 1 : 0;
  EXPECT_EQ(creates, 1u) << "one write makes a node and tells its status";
}

TEST_F(NodeKeeperTest, ReservingMoreThanThereIsLeavesNothing) {
  NodeSpec node = a_node();
  node.reserved = {{"cpu", amount("40")}};
  run({node});
  EXPECT_EQ(text({"status", "allocatable", "cpu"}), "0");
}

TEST_F(NodeKeeperTest, ACapacityThatChangedIsToldWithoutWhatIsGone) {
  run({a_node()});
  NodeSpec changed = a_node();
  changed.capacity.erase("nvidia.com/gpu");
  run({changed});
  EXPECT_EQ(json::find(tree(), {"status", "capacity", "nvidia.com/gpu"}), nullptr);
  EXPECT_EQ(text({"status", "capacity", "cpu"}), "32");
}

TEST_F(NodeKeeperTest, PutsTheMachinesFactsRight) {
  run({a_node()});
  api.patch(kNodes, {"", "n0"}, testing::parsed(R"({"metadata":{"labels":{"kubernetes.io/hostname":"liar"}}})"));
  loop.advance(2s);
  EXPECT_EQ(label("kubernetes.io/hostname"), "n0");
}

TEST_F(NodeKeeperTest, MakesADeletedNodeAndItsLeaseAgain) {
  run({a_node()});
  api.remove(kLeases, {"kube-node-lease", "n0"});
  api.remove(kNodes, {"", "n0"});
  loop.advance(2s);
  EXPECT_TRUE(api.get(kNodes, {"", "n0"}));
  ASSERT_TRUE(lease());
  EXPECT_EQ(lease().header->owners.at(0).uid, api.get(kNodes, {"", "n0"}).header->uid);
}

TEST_F(NodeKeeperTest, MakesALeaseAgainThatSomebodyDeleted) {
  run({a_node()});
  api.remove(kLeases, {"kube-node-lease", "n0"});
  loop.advance(11s);
  EXPECT_TRUE(lease());
}

TEST_F(NodeKeeperTest, RenewsEveryTenSecondsAndOwnsTheLease) {
  run({a_node()});
  EXPECT_EQ(lease().header->owners.at(0).uid, api.get(kNodes, {"", "n0"}).header->uid);
  loop.advance(1min);
  const auto renewed =
      parse_rfc3339(json::string_at(api.tree(kLeases, {"kube-node-lease", "n0"}), {"spec", "renewTime"}));
  ASSERT_TRUE(renewed.has_value());
  EXPECT_GE(*renewed, loop.clock().wall() - 10s);
  api.forget_calls();
  loop.advance(100s);
  EXPECT_EQ(api.writes().size(), 10u);
}

TEST_F(NodeKeeperTest, KnowsWhenARenewalLastSucceeded) {
  run({a_node()});
  loop.advance(30s);
  const MonoTime before = keeper->renewed_at("n0");
  EXPECT_GE(before, loop.clock().mono() - 10s);
  api.inject({.when = [](const client::ApiRequest& request) { return request.resource == kLeases; },
              .error = testing::an_error(Reason::kServiceUnavailable),
              .after_commit = false,
              .times = 1000});
  loop.advance(1min);
  EXPECT_LE(keeper->renewed_at("n0"), before + 10s);
}

TEST_F(NodeKeeperTest, ReportsConditionsAndPutsThemRightAtOnce) {
  run({a_node()});
  const std::string since = ready("lastTransitionTime");
  const std::string heartbeat = ready("lastHeartbeatTime");
  loop.advance(11min);
  EXPECT_EQ(ready("lastTransitionTime"), since);
  EXPECT_GT(ready("lastHeartbeatTime"), heartbeat);
  api.patch(kNodes, {"", "n0"}, testing::parsed(R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})"),
            "status");
  loop.advance(1s);
  EXPECT_EQ(ready("status"), "True");
}

TEST_F(NodeKeeperTest, ANodeWhoseRuntimeDoesNotWorkIsNotReady) {
  run({a_node()});
  condition.problem = "runc is not there";
  keeper->condition_changed();
  loop.advance(1s);
  EXPECT_EQ(ready("status"), "False");
  EXPECT_EQ(ready("reason"), "KubeletNotReady");
  EXPECT_EQ(ready("message"), "runc is not there");
  condition.problem.clear();
  keeper->condition_changed();
  loop.advance(2s);
  EXPECT_EQ(ready("status"), "True");
}

// 1,000 nodes: each is renewed once in ten seconds, and no second gets more than twice its share.
TEST_F(NodeKeeperTest, SpreadsRenewalsOverTime) {
  std::vector<NodeSpec> specs;
  for (int i = 0; i < 1000; ++i) {
    specs.push_back(a_node());
    specs.back().name = "node-" + std::to_string(i);
  }
  run(specs);
  loop.advance(15s);
  std::size_t total = 0;
  for (int second = 0; second < 10; ++second) {
    api.forget_calls();
    loop.advance(1s);
    std::size_t renewals = 0;
    for (const auto& write : api.writes()) renewals += write.resource == kLeases ? 1 : 0;
    EXPECT_LE(renewals, 200u) << "second " << second;
    total += renewals;
  }
  EXPECT_EQ(total, 1000u);
}

}  // namespace
}  // namespace gangway::agent
