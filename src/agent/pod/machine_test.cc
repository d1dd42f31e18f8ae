#include "agent/pod/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kOne = R"({"spec": {"containers": [{"name": "main", "image": "i"}]}})";

TEST(Machine, BringsAPodUpInOrder) {
  MachineBench bench(kOne);
  bench.run();
  EXPECT_THAT(bench.done, ElementsAre("sandbox", "image main", "start main/0"));
  EXPECT_THAT(bench.told,
              ElementsAre("Normal Pulling: Pulling image \"i\"", "Normal Pulled: pulled",
                          "Normal Created: Created container: main", "Normal Started: Started container main"));
  EXPECT_EQ(bench.phase(), "Running");
}

TEST(Machine, BeginsNothingTwice) {
  MachineBench bench(kOne);
  bench.look();
  bench.look();
  EXPECT_THAT(bench.done, ElementsAre("sandbox"));
  bench.succeed(bench.open.front());
  bench.look();
  bench.look();
  EXPECT_THAT(bench.done, ElementsAre("sandbox", "image main"));
}

TEST(Machine, WritesTheStartDownInTheStepThatBeginsIt) {
  MachineBench bench(kOne);
  bench.look();
  bench.succeed(bench.open.back());
  bench.look();
  bench.succeed(bench.open.back());
  bench.look();
  ASSERT_EQ(bench.done.back(), "start main/0");
  EXPECT_EQ(bench.record.find("main")->stage, ContainerRecord::Stage::kStarting);
}

constexpr const char* kInit = R"({"spec": {
    "initContainers": [{"name": "first", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"},
                       {"name": "second", "image": "i"}],
    "containers": [{"name": "main", "image": "i"}]}})";

TEST(Machine, RunsInitContainersOneAfterTheOtherAndSidecarsBesides) {
  MachineBench bench(kInit);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("sandbox", "image first", "start first/0"));
  EXPECT_EQ(bench.phase(), "Pending");
  EXPECT_EQ(bench.waiting("main"), "PodInitializing");
  bench.exit("first", 0);
  bench.run();
  EXPECT_THAT(bench.take_done(),
              ElementsAre("remove first/0", "image side", "start side/0", "image second", "start second/0"));
  bench.exit("second", 0);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove second/0", "image main", "start main/0"));
  EXPECT_EQ(bench.phase(), "Running");
}

TEST(Machine, AFailedInitContainerIsRunAgainAfterAWhile) {
  MachineBench bench(kInit);
  bench.run();
  bench.take_done();
  bench.exit("first", 2);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove first/0", "image first", "start first/1"));
  bench.exit("first", 2);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove first/1"));
  EXPECT_EQ(bench.waiting("first"), "CrashLoopBackOff");
  bench.now += 10s;
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("image first", "start first/2"));
}

TEST(Machine, AFailedInitContainerEndsAPodThatIsNeverRestarted) {
  MachineBench bench(R"({"spec": {"restartPolicy": "Never", "initContainers": [{"name": "first", "image": "i"}],
                                  "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  bench.exit("first", 2);
  bench.run();
  EXPECT_EQ(bench.phase(), "Failed");
  EXPECT_EQ(bench.waiting("main"), "PodInitializing");
  EXPECT_TRUE(bench.record.released);
}

TEST(Machine, ASidecarIsRestartedWhateverThePolicyAndEndsLast) {
  MachineBench bench(R"({"spec": {"restartPolicy": "Never",
      "initContainers": [{"name": "a", "image": "i", "restartPolicy": "Always"},
                         {"name": "b", "image": "i", "restartPolicy": "Always"}],
      "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  bench.exit("a", 0);
  bench.take_done();
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove a/0", "image a", "start a/1"));
  bench.exit("main", 0);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove main/0", "signal b/0 15"));
  bench.exit("b", 143);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove b/0", "signal a/1 15"));
  EXPECT_EQ(bench.phase(), "Running");
  bench.exit("a", 143);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove a/1", "remove-sandbox"));
  EXPECT_EQ(bench.phase(), "Succeeded");
}

struct RestartCase {
  const char* policy;
  int code;
  bool restarts;
  const char* phase;
};

TEST(Machine, RestartsByPolicy) {
  for (const RestartCase& each :
       {RestartCase{"Always", 0, true, "Running"}, RestartCase{"Always", 1, true, "Running"},
        RestartCase{"OnFailure", 0, false, "Succeeded"}, RestartCase{"OnFailure", 1, true, "Running"},
        RestartCase{"Never", 0, false, "Succeeded"}, RestartCase{"Never", 1, false, "Failed"}}) {
    MachineBench bench(fmt::format(
        R"({{"spec": {{"restartPolicy": "{}", "containers": [{{"name": "main", "image": "i"}}]}}}})", each.policy));
    bench.run();
    bench.exit("main", each.code);
    bench.run();
    EXPECT_EQ(bench.record.find("main")->attempt, each.restarts ? 1U : 0U) << each.policy << each.code;
    EXPECT_EQ(bench.phase(), each.phase) << each.policy << each.code;
  }
}

TEST(Machine, WaitsLongerWithEachCrash) {
  MachineBench bench(kOne);
  bench.run();
  // The first restart is at once; the waits after that are worked out by hand.
  for (const auto wait : {0s, 10s, 20s, 40s, 80s, 160s, 300s, 300s}) {
    bench.exit("main", 1);
    const unsigned attempt = bench.record.find("main")->attempt;
    if (wait > 0s) {
      bench.now += wait - 1s;
      bench.run();
      EXPECT_EQ(bench.record.find("main")->attempt, attempt) << wait.count();
      EXPECT_EQ(bench.waiting("main"), "CrashLoopBackOff");
      EXPECT_EQ(bench.step.look_again_at, bench.now + 1s);
      bench.now += 1s;
    }
    bench.run();
    EXPECT_EQ(bench.record.find("main")->attempt, attempt + 1) << wait.count();
  }
  bench.now += 10min + 1s;
  bench.exit("main", 1);
  bench.run();
  EXPECT_EQ(bench.record.find("main")->attempt, 9U) << "a long run is a new beginning";
}

TEST(Machine, TellsOfBackOffOnceACrash) {
  MachineBench bench(kOne);
  bench.run();
  bench.exit("main", 1);
  bench.run();
  bench.take_told();
  bench.exit("main", 1);
  bench.run();
  bench.run();
  EXPECT_THAT(bench.take_told(),
              ElementsAre("Warning BackOff: Back-off restarting failed container main in pod p_ns(u)"));
}

TEST(Machine, ADeadlineEndsAPod) {
  MachineBench bench(
      R"({"spec": {"activeDeadlineSeconds": 60, "terminationGracePeriodSeconds": 5,
                   "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  EXPECT_EQ(bench.step.look_again_at, kStart + 60s);
  bench.take_done();
  bench.now += 60s;
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 15"));
  bench.now += 5s;
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 9"));
  bench.exit("main", 137);
  bench.run();
  EXPECT_EQ(bench.phase(), "Failed");
  EXPECT_EQ(bench.step.status->at("reason"), "DeadlineExceeded");
}

TEST(Machine, APodPastTheNodesRoomFails) {
  MachineBench bench(
      R"({"spec": {"containers": [{"name": "main", "image": "i", "resources": {"requests": {"cpu": "5"}}}]}})");
  bench.run();
  EXPECT_THAT(bench.done, IsEmpty());
  EXPECT_EQ(bench.phase(), "Failed");
  EXPECT_EQ(bench.step.status->at("reason"), "OutOfcpu");
  EXPECT_EQ(bench.step.status->at("message"),
            "Pod was rejected: Node didn't have enough resource: cpu, requested: 5000, used: 0, capacity: 4000");
  EXPECT_TRUE(bench.record.released);
}

TEST(Machine, APodThatEndedBeforeItWasKnownIsLeftAlone) {
  MachineBench bench(R"({"status": {"phase": "Failed"}, "spec": {"containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  EXPECT_THAT(bench.done, IsEmpty());
  EXPECT_FALSE(bench.step.status.has_value());
}

TEST(Machine, AMissingConfigMapHoldsAContainerAndIsToldOnce) {
  MachineBench bench(R"({"spec": {"containers": [{"name": "main", "image": "i", "env": [
      {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}]}]}})");
  bench.run();
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("sandbox", "image main"));
  EXPECT_EQ(bench.waiting("main"), "CreateContainerConfigError");
  EXPECT_EQ(json::string_at(bench.status_of_container("main"), {"state", "waiting", "message"}),
            "configmap \"settings\" not found");
  EXPECT_EQ(std::count(bench.told.begin(), bench.told.end(), "Warning Failed: Error: configmap \"settings\" not found"),
            1);
  bench.references.config_maps["settings"] = {{"a", "1"}};
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("start main/0"));
}

TEST(Machine, VolumesComeBeforeContainersAndFollowTheirSources) {
  MachineBench bench(R"({"spec": {"volumes": [{"name": "v", "configMap": {"name": "settings"}}],
                                  "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("sandbox"));
  EXPECT_THAT(
      bench.take_told(),
      ElementsAre("Warning FailedMount: MountVolume.SetUp failed for volume \"v\" : configmap \"settings\" not found"));
  bench.references.config_maps["settings"] = {{"a", "1"}};
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("volume v", "image main", "start main/0"));
  bench.references.config_maps["settings"] = {{"a", "2"}};
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("volume v"));
  bench.references.config_maps.clear();
  bench.run();
  EXPECT_THAT(bench.take_done(), IsEmpty()) << "what was there stays";
}

TEST(Machine, AnUnknownVolumeIsRefusedByName) {
  MachineBench bench(R"({"spec": {"volumes": [{"name": "v", "nfs": {"server": "s", "path": "/"}}],
                                  "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  EXPECT_THAT(bench.take_told(), ElementsAre("Warning FailedMount: volume \"v\": source nfs is not run here"));
}

TEST(Machine, AnImageThatCannotBeHadIsTriedAgainLaterAndLater) {
  MachineBench bench(kOne);
  bench.look();
  bench.succeed(bench.open.back());
  const auto fail = [&] {
    bench.look();
    ASSERT_EQ(bench.take_done().back(), "image main");
    bench.settle(ImagePrepared{"main", "i", PullPolicy::kIfNotPresent, internal_error("no such host")});
    bench.look();
  };
  fail();
  EXPECT_EQ(bench.waiting("main"), "ErrImagePull");
  bench.now += 5s;
  bench.look();
  EXPECT_EQ(bench.waiting("main"), "ImagePullBackOff");
  bench.now += 4s;
  bench.look();
  EXPECT_THAT(bench.take_done(), IsEmpty());
  bench.now += 1s;
  fail();
  bench.now += 19s;
  bench.look();
  EXPECT_THAT(bench.take_done(), IsEmpty());
  bench.now += 1s;
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("image main"));
}

TEST(Machine, WhatCannotRunAsItIsCountsAsAnEnd) {
  MachineBench bench(R"({"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "i"}]}})");
  bench.look();
  bench.succeed(bench.open.back());
  bench.look();
  bench.succeed(bench.open.back());
  bench.look();
  bench.open.clear();
  bench.settle(ContainerStarted{{"u", "main", 0}, bad_request("no such command: nonsense")});
  bench.run();
  EXPECT_EQ(bench.phase(), "Failed");
  const json::Value status = bench.status_of_container("main");
  EXPECT_EQ(json::string_at(status, {"state", "terminated", "reason"}), "StartError");
  EXPECT_EQ(json::find(status, {"state", "terminated", "exitCode"})->as_int64(), 128);
}

TEST(Machine, WhatTheMachineOrItsOwnRulesPreventIsTriedUnderTheNextNumber) {
  Error forbidden = internal_error("container has runAsNonRoot and image will run as root");
  forbidden.reason = Reason::kForbidden;
  const std::pair<Error, const char*> cases[] = {{internal_error("no memory"), "RunContainerError"},
                                                 {forbidden, "CreateContainerConfigError"}};
  for (const auto& [error, reason] : cases) {
    MachineBench bench(kOne);
    bench.look();
    bench.succeed(bench.open.back());
    bench.look();
    bench.succeed(bench.open.back());
    bench.look();
    bench.open.clear();
    bench.settle(ContainerStarted{{"u", "main", 0}, error});
    bench.take_done();
    bench.look();
    EXPECT_EQ(bench.waiting("main"), reason);
    bench.now += 1s;
    bench.run();
    EXPECT_EQ(bench.done.back(), "start main/1");
    EXPECT_EQ(json::find(bench.status_of_container("main"), {"restartCount"})->as_int64(), 0);
  }
}

TEST(Machine, WhatCannotBeStartedIsTriedLessAndLessOften) {
  Error forbidden = internal_error("container has runAsNonRoot and image will run as root");
  forbidden.reason = Reason::kForbidden;
  MachineBench bench(kOne);
  bench.refuses_to_start = forbidden;
  const auto starts_within = [&](std::chrono::milliseconds time) {
    bench.take_done();
    for (auto passed = 0ms; passed < time; passed += 100ms) {
      bench.run();
      bench.now += 100ms;
    }
    return std::count_if(bench.done.begin(), bench.done.end(),
                         [](const auto& text) { return text.starts_with("start"); });
  };
  EXPECT_EQ(starts_within(10s), 4) << "after 0, 1, 3 and 7 s";
  EXPECT_EQ(bench.waiting("main"), "CreateContainerConfigError");
}

TEST(Machine, AFailedLivenessProbeRestartsTheContainer) {
  MachineBench bench(R"({"spec": {"terminationGracePeriodSeconds": 7, "containers": [{"name": "main", "image": "i",
      "livenessProbe": {"tcpSocket": {"port": 80}}}]}})");
  bench.run();
  bench.take_done();
  bench.take_told();
  bench.facts.containers["main"].probes = {0, true, true, "failed liveness probe", std::nullopt};
  bench.run();
  EXPECT_THAT(bench.take_told(),
              ElementsAre("Normal Killing: Container main failed liveness probe, will be restarted"));
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 15"));
  EXPECT_EQ(bench.step.look_again_at, kStart + 7s);
  bench.exit("main", 143);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove main/0", "image main", "start main/1"));
}

TEST(Machine, AContainerHasStartedOnceItsHookIsDone) {
  MachineBench bench(R"({"spec": {"containers": [{"name": "main", "image": "i",
      "lifecycle": {"postStart": {"exec": {"command": ["true"]}}}}]}})");
  bench.look();
  while (bench.done.back() != "postStart main/0") {
    bench.succeed(bench.open.back());
    bench.look();
  }
  EXPECT_EQ(json::find(bench.status_of_container("main"), {"ready"})->as_bool(), false);
  bench.succeed(bench.open.back());
  bench.look();
  EXPECT_EQ(json::find(bench.status_of_container("main"), {"ready"})->as_bool(), true);
}

}  // namespace
}  // namespace gangway::agent
