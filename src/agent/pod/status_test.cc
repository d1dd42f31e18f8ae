#include "agent/pod/status.h"

#include <gtest/gtest.h>

#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

constexpr const char* kOne = R"({"spec": {"containers": [{"name": "main", "image": "i"}]}})";

TEST(GoDuration, AsGoWritesIt) {
  const std::pair<Duration, const char*> cases[] = {{10s, "10s"}, {80s, "1m20s"}, {300s, "5m0s"}, {3661s, "1h1m1s"}};
  for (const auto& [duration, want] : cases) EXPECT_EQ(go_duration(duration), want);
}

TEST(PodStatus, ConditionsFollowTheContainers) {
  MachineBench bench(R"({"spec": {"containers": [
      {"name": "a", "image": "i", "readinessProbe": {"tcpSocket": {"port": 80}}}, {"name": "b", "image": "i"}]}})");
  bench.run();
  EXPECT_EQ(json::string_at(bench.condition("Initialized"), {"status"}), "True");
  EXPECT_EQ(json::string_at(bench.condition("Ready"), {"status"}), "False");
  EXPECT_EQ(json::string_at(bench.condition("Ready"), {"reason"}), "ContainersNotReady");
  EXPECT_EQ(json::string_at(bench.condition("Ready"), {"message"}), "containers with unready status: [a]");
  bench.now += 5s;
  bench.facts.containers["a"].probes = {0, true, true, "", std::nullopt};
  bench.run();
  EXPECT_EQ(json::string_at(bench.condition("Ready"), {"status"}), "True");
  EXPECT_EQ(json::string_at(bench.condition("Ready"), {"lastTransitionTime"}), "2026-01-01T00:00:05Z");
  EXPECT_EQ(json::string_at(bench.condition("Initialized"), {"lastTransitionTime"}), "2026-01-01T00:00:00Z");
  EXPECT_TRUE(json::find(bench.condition("Ready"), {"reason"})->is_null()) << "the patch takes it away";
}

TEST(PodStatus, InitialisationIsNamed) {
  MachineBench bench(R"({"spec": {"initContainers": [{"name": "first", "image": "i"}, {"name": "second", "image": "i"}],
                                  "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  bench.exit("first", 0);
  bench.run();
  EXPECT_EQ(json::string_at(bench.condition("Initialized"), {"message"}),
            "containers with incomplete status: [second]");
}

TEST(PodStatus, ReadinessGatesHoldAPodBack) {
  MachineBench bench(R"({"spec": {"readinessGates": [{"conditionType": "x/y"}],
                                  "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  EXPECT_EQ(json::string_at(bench.condition("ContainersReady"), {"status"}), "True");
  EXPECT_EQ(json::string_at(bench.condition("Ready"), {"reason"}), "ReadinessGatesNotReady");
  EXPECT_EQ(json::string_at(bench.condition("Ready"), {"message"}),
            "corresponding condition of pod readiness gate \"x/y\" does not exist.");
  bench.spec.gate_conditions["x/y"] = "True";
  bench.run();
  EXPECT_EQ(json::string_at(bench.condition("Ready"), {"status"}), "True");
}

TEST(PodStatus, AnEndedPodIsNotReadyAndSaysWhy) {
  MachineBench bench(R"({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  bench.exit("main", 0);
  bench.run();
  EXPECT_EQ(json::string_at(bench.condition("Ready"), {"reason"}), "PodCompleted");
  EXPECT_EQ(json::string_at(bench.condition("Initialized"), {"reason"}), "PodCompleted");
  EXPECT_EQ(json::string_at(bench.condition("PodReadyToStartContainers"), {"status"}), "False");
}

struct ExitCase {
  Exit exit;
  const char* reason;
};

TEST(PodStatus, AnExitHasAReason) {
  Exit done;
  Exit failed;
  failed.code = 1;
  Exit killed;
  killed.code = 137;
  killed.out_of_memory = true;
  Exit lost;
  lost.code = 137;
  lost.lost = true;
  for (const auto& [exit, reason] : {ExitCase{done, "Completed"}, ExitCase{failed, "Error"},
                                     ExitCase{killed, "OOMKilled"}, ExitCase{lost, "ContainerStatusUnknown"}}) {
    MachineBench bench(R"({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}})");
    bench.run();
    bench.settle(ContainerExited{{"u", "main", 0}, exit});
    bench.run();
    EXPECT_EQ(json::string_at(bench.status_of_container("main"), {"state", "terminated", "reason"}), reason);
  }
}

TEST(PodStatus, AddressesAreReplacedAsAWhole) {
  MachineBench bench(kOne);
  bench.run();
  EXPECT_EQ(bench.step.status->at("podIP"), "10.0.0.7");
  EXPECT_EQ(bench.step.status->at("podIPs"), testing::parsed(R"([{"$patch": "replace"}, {"ip": "10.0.0.7"}])"));
  EXPECT_EQ(bench.step.status->at("hostIP"), "192.168.0.1");
}

TEST(HasStatus, KnowsWhatTheObjectSays) {
  const json::Object wanted = testing::parsed(R"({"phase": "Running",
      "conditions": [{"type": "Ready", "status": "True", "reason": null}],
      "podIPs": [{"$patch": "replace"}, {"ip": "10.0.0.7"}],
      "containerStatuses": [{"name": "a", "lastState": {}, "state": {"running": {}}}]})")
                                  .as_object();
  const char* same = R"({"status": {"phase": "Running", "qosClass": "Burstable",
      "conditions": [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "True", "lastProbeTime": null}],
      "podIPs": [{"ip": "10.0.0.7"}],
      "containerStatuses": [{"name": "a", "state": {"running": {}}}]}})";
  EXPECT_TRUE(has_status(testing::parsed(same), wanted));
  const std::pair<const char*, const char*> changes[] = {
      {R"("phase": "Running")", R"("phase": "Pending")"},
      {R"("type": "Ready", "status": "True")", R"("type": "Ready", "status": "False")"},
      {R"("type": "Ready", "status": "True")", R"("type": "Ready", "status": "True", "reason": "x")"},
      {R"({"ip": "10.0.0.7"})", R"({"ip": "10.0.0.7"}, {"ip": "10.0.0.8"})"},
      {R"({"running": {}})", R"({"waiting": {}})"},
      {R"({"name": "a", "state")", R"({"name": "a", "lastState": {"terminated": {}}, "state")"},
  };
  for (const auto& [from, to] : changes) {
    std::string text = same;
    text.replace(text.find(from), std::string_view(from).size(), to);
    EXPECT_FALSE(has_status(testing::parsed(text), wanted)) << to;
  }
}

}  // namespace
}  // namespace gangway::agent
