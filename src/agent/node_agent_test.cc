#include "agent/node_agent.h"

#include <gtest/gtest.h>

#include "agent/node/test_node_spec.h"
#include "agent/simulated/adoption.h"
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
using client::resources::kPods;

class SilentFetch final : public sys::Fetch {
 public:
  void fetch(sys::FetchRequest, sys::Completion<sys::FetchAnswer>) override {}
  void connect(std::string, std::uint16_t, Duration, sys::Completion<void>) override {}
};

struct NodeAgentTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  SimulatedRuntime runtime{loop};
  NoRecords records;
  SilentFetch fetch;
  LocalServer server = LocalServer::kNone;
  std::unique_ptr<NodeAgent> nodes;

  void SetUp() override {
    api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"});
    NodeSpec spec = a_node();
    spec.roles.clear();
    spec.taints.clear();
    nodes = std::make_unique<NodeAgent>(NodeAgentParts{
        .loop = loop,
        .runtime = runtime,
        .records = records,
        .fetch = fetch,
        .nodes = {{spec, &api}},
        .keeper = {a_system(), true, {}},
        .local_server = [this] { return server; },
        .adopt = [this](const PodSpec& pod, const PodRecord& record) { adopt_from_record(runtime, pod, record); }});
    ASSERT_TRUE(nodes->start().has_value());
    loop.advance(2s);
  }

  void create(const std::string& name) {
    api.create(kPods,
               testing::a_pod("ns", name).with(R"({"spec": {"nodeName": "n0", "terminationGracePeriodSeconds": 30,
                                    "containers": [{"name": "main", "image": "i"}]}, "status": {"phase": "Pending"}})"));
    loop.advance(1s);
  }
  std::string ready(const char* field) {
    const json::Value node = api.tree(kNodes, {"", "n0"});
    const json::Object* found = api::find_condition(node, "Ready");
    return found == nullptr ? std::string() : std::string(found->at(field).as_string());
  }
  void cut_off() {
    api.inject({.when = nullptr,
                .error = testing::an_error(Reason::kServiceUnavailable),
                .after_commit = false,
                .times = 1'000'000});
  }
};

TEST_F(NodeAgentTest, ANodeIsReadyAndRunsPods) {
  EXPECT_EQ(ready("status"), "True");
  EXPECT_TRUE(api.get(kLeases, {"kube-node-lease", "n0"}));
  create("p");
  EXPECT_EQ(json::string_at(api.tree(kPods, {"ns", "p"}), {"status", "phase"}), "Running");
  nodes->set_port("n0", 10250);
  loop.advance(2s);
  EXPECT_EQ(
      json::find(api.tree(kNodes, {"", "n0"}), {"status", "daemonEndpoints", "kubeletEndpoint", "Port"})->as_int64(),
      10250);
}

TEST_F(NodeAgentTest, WithoutContactPodsAreStoppedInTime) {
  create("p");
  cut_off();
  loop.advance(4min);
  EXPECT_EQ(runtime.running(), 1U);
  loop.advance(1min + 30s);
  EXPECT_EQ(runtime.running(), 0U);
}

TEST_F(NodeAgentTest, WhileNoServerRunsHereThereIsNothingToFear) {
  create("p");
  cut_off();
  server = LocalServer::kStopped;
  loop.advance(2h);
  EXPECT_EQ(runtime.running(), 1U);
  server = LocalServer::kRunning;
  loop.advance(4min);
  EXPECT_EQ(runtime.running(), 1U);
  loop.advance(90s);
  EXPECT_EQ(runtime.running(), 0U);
}

TEST_F(NodeAgentTest, StoppingWaitsForThePods) {
  create("p");
  bool done = false;
  nodes->stop_pods(1min, [&] { done = true; });
  EXPECT_FALSE(done);
  loop.advance(2s);
  EXPECT_TRUE(done);
  EXPECT_EQ(runtime.running(), 0U);
  EXPECT_EQ(ready("status"), "False");
  EXPECT_EQ(ready("message"), "the node is being shut down");
}

}  // namespace
}  // namespace gangway::agent
