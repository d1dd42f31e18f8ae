#include "agent/agent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pod/test_machine.h"
#include "agent/simulated/adoption.h"
#include "client/resource.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

using client::resources::kEvents;
using client::resources::kPods;
using ::testing::ElementsAre;

class SilentFetch final : public sys::Fetch {
 public:
  void fetch(sys::FetchRequest, sys::Completion<sys::FetchAnswer>) override {}
  void connect(std::string, std::uint16_t, Duration, sys::Completion<void>) override {}
};

// An agent of two simulated nodes on a fake API; restart() is a death of its process.
struct AgentTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};
  TestReferences references;
  SilentFetch fetch;
  NoRecords records;
  std::unique_ptr<SimulatedRuntime> runtime;
  std::unique_ptr<Checks> checks;
  std::unique_ptr<client::Informer> pods;
  std::unique_ptr<Agent> agent;

  void SetUp() override {
    api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"});
    restart();
  }

  void restart() {
    agent.reset();
    pods.reset();
    checks.reset();
    runtime = std::make_unique<SimulatedRuntime>(loop);
    checks = std::make_unique<Checks>(loop, *runtime, fetch);
    client::InformerOptions options;
    options.what.resource = kPods;
    pods = std::make_unique<client::Informer>(api, loop, options);
    std::vector<AgentNode> nodes;
    for (const char* name : {"n0", "n1"}) {
      AgentNode node;
      node.facts.name = name;
      node.facts.address = "192.168.0.1";
      node.facts.allocatable = {{"cpu", 4000}, {"memory", 1 << 30}, {"pods", 10}, {"nvidia.com/gpu", 4}};
      node.facts.gpus = 4;
      node.facts.simulated = true;
      node.facts.runtime_scheme = "simulated";
      node.client = &api;
      node.pods = pods.get();
      nodes.push_back(std::move(node));
    }
    agent = std::make_unique<Agent>(
        AgentParts{.loop = loop,
                   .runtime = *runtime,
                   .records = records,
                   .references = references,
                   .checks = *checks,
                   .node_header = nullptr,
                   .adopt = [this](const PodSpec& spec,
                                   const PodRecord& record) { adopt_from_record(*runtime, spec, record); }},
        std::move(nodes), AgentOptions{.routine_events = false, .status = {}});
    pods->start();
    ASSERT_TRUE(agent->start().has_value());
    settle();
  }

  // Long enough for statuses that wait for more to come.
  void settle() { loop.advance(100ms); }

  void create(const std::string& name, std::string_view json_text) {
    api.create(kPods, testing::a_pod("ns", name)
                          .with(R"({"spec": {"nodeName": "n0", "terminationGracePeriodSeconds": 30,
                                    "containers": [{"name": "main", "image": "i"}]}, "status": {"phase": "Pending"}})")
                          .with(json_text));
    settle();
  }
  json::Value pod(const std::string& name) { return api.tree(kPods, {"ns", name}); }
  bool exists(const std::string& name) { return bool(api.get(kPods, {"ns", name})); }
  std::string phase(const std::string& name) { return std::string(json::string_at(pod(name), {"status", "phase"})); }
  json::Value main_status(const std::string& name) {
    const json::Value tree = pod(name);
    const json::Value* list = json::find(tree, {"status", "containerStatuses"});
    return list != nullptr && list->is_array() ? list->as_array().at(0) : json::Value();
  }
  json::Value condition(const std::string& name, std::string_view type) {
    const json::Value tree = pod(name);
    const json::Value* list = json::find(tree, {"status", "conditions"});
    if (list == nullptr || !list->is_array()) return {};
    for (const json::Value& each : list->as_array())
      if (json::string_at(each, {"type"}) == type) return each;
    return {};
  }
  std::size_t status_writes() const {
    return static_cast<std::size_t>(std::count_if(api.writes().begin(), api.writes().end(),
                                                  [](const auto& request) { return request.subresource == "status"; }));
  }
};

TEST_F(AgentTest, RunsAPodInOneWrite) {
  api.forget_calls();
  create("p", "{}");
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_EQ(json::string_at(pod("p"), {"status", "podIP"}), "100.64.0.1");
  EXPECT_EQ(json::string_at(main_status("p"), {"state", "running", "startedAt"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(status_writes(), 1U);
}

TEST_F(AgentTest, LeavesPodsOfOthersAlone) {
  create("p", R"({"spec": {"nodeName": "elsewhere"}})");
  create("q", R"({"spec": {"nodeName": ""}})");
  EXPECT_EQ(phase("p"), "Pending");
  EXPECT_EQ(agent->pods(), 0U);
}

TEST_F(AgentTest, APodEndsWhenItsTimeHasCome) {
  create(
      "p",
      R"({"metadata": {"annotations": {"gangway.dev/simulated-duration": "10s"}}, "spec": {"restartPolicy": "Never"}})");
  loop.advance(9s);
  EXPECT_EQ(phase("p"), "Running");
  loop.advance(2s);
  EXPECT_EQ(phase("p"), "Succeeded");
  EXPECT_EQ(runtime->running(), 0U);
}

TEST_F(AgentTest, ADeletedPodEndsAndItsObjectGoes) {
  create("p", R"({"metadata": {"annotations": {"gangway.dev/simulated-termination": "5s"}}})");
  api.remove(kPods, {"ns", "p"});
  loop.advance(4s);
  EXPECT_TRUE(exists("p"));
  loop.advance(2s);
  EXPECT_FALSE(exists("p"));
  EXPECT_EQ(agent->pods(), 0U);
}

TEST_F(AgentTest, APodThatTakesTooLongIsKilled) {
  create("p", R"({"metadata": {"annotations": {"gangway.dev/simulated-termination": "1h"}}})");
  api.remove(kPods, {"ns", "p"});
  loop.advance(29s);
  EXPECT_TRUE(exists("p"));
  loop.advance(2s);
  EXPECT_FALSE(exists("p"));
}

TEST_F(AgentTest, AnObjectThatIsGoneAtOnceTakesItsPodWithIt) {
  create("p", "{}");
  ASSERT_EQ(runtime->running(), 1U);
  client::ApiRequest request;
  request.method = client::Method::kDelete;
  request.resource = kPods;
  request.object = {"ns", "p"};
  request.body = R"({"gracePeriodSeconds": 0})";
  ASSERT_TRUE(api.apply(request).has_value());
  settle();
  EXPECT_EQ(runtime->running(), 0U);
  EXPECT_EQ(agent->pods(), 0U);
}

TEST_F(AgentTest, RoomIsFreeAgainWhenAPodHasEnded) {
  const char* kThree = R"({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i",
      "resources": {"requests": {"nvidia.com/gpu": "3"}, "limits": {"nvidia.com/gpu": "3"}}}]}})";
  create("a", kThree);
  create("b", kThree);
  EXPECT_EQ(phase("a"), "Running");
  EXPECT_EQ(phase("b"), "Failed");
  EXPECT_EQ(json::string_at(pod("b"), {"status", "reason"}), "OutOfnvidia.com/gpu");
  api.remove(kPods, {"ns", "a"});
  loop.advance(1s);
  create("c", kThree);
  EXPECT_EQ(phase("c"), "Running");
}

TEST_F(AgentTest, ARestartOfTheAgentChangesNothing) {
  create("forever", "{}");
  create(
      "ten",
      R"({"metadata": {"annotations": {"gangway.dev/simulated-duration": "10s"}}, "spec": {"restartPolicy": "Never"}})");
  create("crash", R"({"metadata": {"annotations": {"gangway.dev/simulated-duration": "1s",
                      "gangway.dev/simulated-exit-code": "2"}}})");
  loop.advance(3s);
  const json::Value forever = pod("forever");
  const json::Value crash = pod("crash");
  ASSERT_EQ(json::string_at(main_status("crash"), {"state", "waiting", "reason"}), "CrashLoopBackOff");
  loop.advance(1s);
  restart();
  EXPECT_EQ(pod("forever"), forever);
  EXPECT_EQ(pod("crash"), crash);
  loop.advance(4s);
  EXPECT_EQ(phase("ten"), "Running");
  loop.advance(3s);
  EXPECT_EQ(phase("ten"), "Succeeded");
  EXPECT_EQ(json::string_at(main_status("ten"), {"state", "terminated", "finishedAt"}), "2026-01-01T00:00:10Z");
  EXPECT_EQ(json::string_at(main_status("forever"), {"containerID"}),
            json::string_at(json::find(forever, {"status", "containerStatuses"})->as_array().at(0), {"containerID"}));
}

TEST_F(AgentTest, GpusStayWithTheirPodsAfterARestart) {
  const char* kThree = R"({"spec": {"containers": [{"name": "main", "image": "i",
      "resources": {"requests": {"nvidia.com/gpu": "3"}, "limits": {"nvidia.com/gpu": "3"}}}]}})";
  create("a", kThree);
  restart();
  create("b", kThree);
  EXPECT_EQ(json::string_at(pod("b"), {"status", "reason"}), "OutOfnvidia.com/gpu");
}

TEST_F(AgentTest, ADeletionDuringAnAbsenceIsSeenAfterwards) {
  create("p", "{}");
  agent.reset();
  api.remove(kPods, {"ns", "p"});
  restart();
  loop.advance(1s);
  EXPECT_FALSE(exists("p"));
}

TEST_F(AgentTest, AStatusIsDeliveredWhenTheServerIsBack) {
  api.inject({.when = [](const client::ApiRequest& request) { return request.subresource == "status"; },
              .error = testing::an_error(Reason::kServiceUnavailable),
              .after_commit = false,
              .times = 5});
  create("p", "{}");
  EXPECT_EQ(phase("p"), "Pending");
  loop.advance(1min);
  EXPECT_EQ(phase("p"), "Running");
}

TEST_F(AgentTest, AStatusThatOthersChangeIsToldAgain) {
  create("p", "{}");
  const auto ready = [this] { return json::string_at(condition("p", "Ready"), {"status"}) == "True"; };
  ASSERT_TRUE(ready());
  const auto not_ready = testing::parsed(R"({"status": {"conditions": [{"type": "Ready", "status": "False"}]}})");
  api.patch(kPods, {"ns", "p"}, not_ready, "status");
  ASSERT_FALSE(ready());
  settle();
  EXPECT_TRUE(ready());
  // The same while an answer is on its way: the change is seen before it is known what it came after.
  api.set_answer_lag(1s);
  create("q", "{}");
  api.patch(kPods, {"ns", "q"}, not_ready, "status");
  loop.advance(10s);
  EXPECT_EQ(json::string_at(condition("q", "Ready"), {"status"}), "True");
}

TEST_F(AgentTest, ADeletionIsSeenThoughAWriteIsAnsweredWithItsRevision) {
  const auto is_status = [](const client::ApiRequest& request) { return request.subresource == "status"; };
  api.inject({.when = is_status, .error = testing::an_error(Reason::kTimeout), .after_commit = true, .times = 1});
  bool deleted = false;
  // The second write changes nothing any more, and arrives after the deletion.
  api.inject({.when =
                  [&](const client::ApiRequest& request) {
                    if (is_status(request) && phase("p") == "Running" && !std::exchange(deleted, true))
                      api.remove(kPods, {"ns", "p"});
                    return false;
                  },
              .error = {},
              .after_commit = false,
              .times = 1});
  api.set_watch_lag(500ms);
  create("p", "{}");
  loop.advance(1min);
  EXPECT_TRUE(deleted);
  EXPECT_FALSE(exists("p"));
}

constexpr const char* kTenSeconds =
    R"({"metadata": {"annotations": {"gangway.dev/simulated-duration": "10s"}}, "spec": {"restartPolicy": "Never"}})";

TEST_F(AgentTest, AWriteThatArrivesLateUndoesNothing) {
  create("p", kTenSeconds);
  ASSERT_EQ(phase("p"), "Running");
  const auto late = std::find_if(api.writes().begin(), api.writes().end(),
                                 [](const auto& request) { return request.subresource == "status"; });
  ASSERT_NE(late, api.writes().end());
  const client::ApiRequest again = *late;
  loop.advance(11s);
  ASSERT_EQ(phase("p"), "Succeeded");
  EXPECT_FALSE(api.apply(again).has_value());
  EXPECT_EQ(phase("p"), "Succeeded");
}

TEST_F(AgentTest, AStatusIsWrittenOverAChangeThatIsNotSeenYet) {
  create("p", kTenSeconds);
  api.set_watch_lag(1h);
  api.patch(kPods, {"ns", "p"}, testing::parsed(R"({"metadata": {"labels": {"a": "b"}}})"));
  loop.advance(11s);
  EXPECT_EQ(phase("p"), "Succeeded");
}

TEST_F(AgentTest, BadWeatherLosesNothing) {
  api.set_weather({.refused = 300, .lost = 200, .broken_watches = 50, .seed = 7});
  for (int i = 0; i < 8; ++i) {
    create(
        "p" + std::to_string(i),
        R"({"metadata": {"annotations": {"gangway.dev/simulated-duration": "20s"}}, "spec": {"restartPolicy": "Never"}})");
    if (i % 3 == 0) restart();
  }
  loop.advance(5min);
  for (int i = 0; i < 8; ++i) {
    const std::string name = "p" + std::to_string(i);
    EXPECT_EQ(phase(name), "Succeeded") << name;
    EXPECT_EQ(json::find(main_status(name), {"restartCount"})->as_int64(), 0) << name;
  }
}

TEST_F(AgentTest, AHaltStopsThePodsOfOneNode) {
  create("a", "{}");
  create("b", R"({"spec": {"nodeName": "n1"}})");
  agent->set_halt("n0", Halt::kShutdown);
  loop.advance(1s);
  EXPECT_EQ(runtime->running(), 1U);
  EXPECT_EQ(phase("a"), "Running") << "it may run again";
  agent->set_halt("n1", Halt::kShutdown);
  loop.advance(1s);
  EXPECT_TRUE(agent->is_quiet());
}

TEST_F(AgentTest, TellsWhatUsersShouldKnow) {
  create("p", R"({"spec": {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "5"}}}]}})");
  ASSERT_EQ(api.objects(kEvents).size(), 1U);
  const json::Value event = api.tree(kEvents, api.objects(kEvents).begin()->first);
  EXPECT_EQ(json::string_at(event, {"reason"}), "OutOfcpu");
  EXPECT_EQ(json::string_at(event, {"involvedObject", "name"}), "p");
}

}  // namespace
}  // namespace gangway::agent
