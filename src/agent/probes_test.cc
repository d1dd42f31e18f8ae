#include "agent/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pod/test_machine.h"
#include "agent/simulated/simulated_runtime.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

using ::testing::ElementsAre;

// Answers as the test says, and counts.
class ScriptedFetch final : public sys::Fetch {
 public:
  explicit ScriptedFetch(sys::EventLoop& loop) : loop_(loop) {}
  void fetch(sys::FetchRequest request, sys::Completion<sys::FetchAnswer> done) override {
    asked.push_back(fmt::format("{}:{}{}", request.host, request.port, request.path));
    loop_.post([done = std::move(done), answer = status] {
      if (answer == 0) return done(internal_error("connection refused"));
      done(sys::FetchAnswer{answer, "", "body"});
    });
  }
  void connect(std::string host, std::uint16_t port, Duration, sys::Completion<void> done) override {
    asked.push_back(fmt::format("{}:{}", host, port));
    loop_.post([done = std::move(done), answer = status] {
      done(answer == 0 ? Result<void>(internal_error("refused")) : Result<void>());
    });
  }
  std::vector<std::string> asked;
  int status = 200;

 private:
  sys::EventLoop& loop_;
};

struct ProbesTest : ::testing::Test {
  testing::ManualLoop loop;
  SimulatedRuntime runtime{loop};
  ScriptedFetch fetch{loop};
  Checks checks{loop, runtime, fetch};
  std::vector<std::string> facts;
  std::vector<std::string> failures;
  Probes probes{loop, checks,
                [this](const ContainerId& id, const ProbeFacts& each) {
                  facts.push_back(fmt::format("{}{}{} {}", id.container, each.started ? " started" : "",
                                              each.ready ? " ready" : "", each.failed));
                },
                [this](const ContainerId&, ProbeKind kind, const std::string& message) {
                  failures.push_back(fmt::format("{}: {}", to_string(kind), message));
                }};
  PodSpec spec;
  PodRecord record;

  void run(std::string_view probes_text) {
    spec = pod_of(fmt::format(
        R"({{"spec": {{"containers": [{{"name": "c", "ports": [{{"name": "web", "containerPort": 8080}}], {}}}]}}}})",
        probes_text));
    record.pod = spec.pod;
    record.addresses = {"10.0.0.7"};
    record.containers.resize(1);
    record.containers[0].name = "c";
    record.containers[0].stage = ContainerRecord::Stage::kRunning;
    record.containers[0].started_at = loop.clock().wall();
    probes.tend(spec, record);
    loop.run_until_idle();
  }
};

TEST_F(ProbesTest, AsksAfterTheDelayAndThenEveryPeriod) {
  run(R"("readinessProbe": {"httpGet": {"port": "web", "path": "/ok"}, "initialDelaySeconds": 5, "periodSeconds": 10})");
  EXPECT_THAT(facts, ElementsAre("c started "));
  loop.advance(4s);
  EXPECT_TRUE(fetch.asked.empty());
  loop.advance(1s);
  EXPECT_THAT(fetch.asked, ElementsAre("10.0.0.7:8080/ok"));
  EXPECT_EQ(facts.back(), "c started ready ");
  loop.advance(20s);
  EXPECT_EQ(fetch.asked.size(), 3U);
  EXPECT_EQ(facts.size(), 2U) << "only what is news is told";
}

TEST_F(ProbesTest, ThreeFailuresEndAContainer) {
  fetch.status = 500;
  run(R"("livenessProbe": {"httpGet": {"port": 8080}, "periodSeconds": 10})");
  loop.advance(20s);
  EXPECT_THAT(failures, ElementsAre("Liveness: HTTP probe failed with statuscode: 500",
                                    "Liveness: HTTP probe failed with statuscode: 500",
                                    "Liveness: HTTP probe failed with statuscode: 500"));
  EXPECT_EQ(facts.back(), "c started ready failed liveness probe");
  loop.advance(1min);
  EXPECT_EQ(fetch.asked.size(), 3U) << "the rest is the agent's";
}

TEST_F(ProbesTest, OthersBeginWhenTheStartupProbeIsDone) {
  fetch.status = 0;
  run(R"("startupProbe": {"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 30},
         "readinessProbe": {"httpGet": {"port": 8080}, "periodSeconds": 10})");
  loop.advance(5s);
  EXPECT_EQ(facts.back(), "c ");
  fetch.status = 200;
  loop.advance(1s);
  EXPECT_EQ(facts.back(), "c started ready ");
}

TEST_F(ProbesTest, ARunThatIsOverIsAskedNoMore) {
  run(R"("readinessProbe": {"httpGet": {"port": 8080}, "periodSeconds": 1})");
  loop.advance(2s);
  record.containers[0].attempt = 1;
  record.containers[0].stage = ContainerRecord::Stage::kStarting;
  probes.tend(spec, record);
  fetch.asked.clear();
  loop.advance(10s);
  EXPECT_TRUE(fetch.asked.empty());
  EXPECT_EQ(probes.size(), 0U);
}

TEST_F(ProbesTest, AnExecThatCannotBeIsAFailure) {
  run(R"("readinessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 1})");
  loop.advance(1s);
  EXPECT_EQ(failures.at(0), "Readiness: the pods of this node are simulated: nothing runs in them");
}

TEST_F(ProbesTest, GrpcIsRefusedByName) {
  run(R"("readinessProbe": {"grpc": {"port": 8080}, "periodSeconds": 1})");
  loop.advance(1s);
  EXPECT_EQ(failures.at(0), "Readiness: checks by grpc are not run here; use exec, httpGet or tcpSocket");
}

}  // namespace
}  // namespace gangway::agent
