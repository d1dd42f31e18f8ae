#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kOne = R"({"spec": {"containers": [{"name": "main", "image": "i"}]}})";
constexpr const char* kHook = R"({"spec": {"containers": [{"name": "main", "image": "i",
    "lifecycle": {"preStop": {"exec": {"command": ["sync"]}}}}]}})";

TEST(Stopping, GivesAPodItsTimeAndThenNoMore) {
  MachineBench bench(kOne);
  bench.run();
  bench.take_done();
  bench.take_told();
  bench.spec.deletion = Deletion{kStart + 30s, 30s};
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 15"));
  EXPECT_THAT(bench.take_told(), ElementsAre("Normal Killing: Stopping container main"));
  EXPECT_EQ(bench.step.look_again_at, kStart + 30s);
  bench.now += 29s;
  bench.run();
  EXPECT_THAT(bench.take_done(), IsEmpty());
  bench.now += 1s;
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 9"));
  bench.succeed(bench.open.back());
  bench.exit("main", 137);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove main/0", "remove-sandbox"));
  EXPECT_TRUE(bench.step.delete_object);
  EXPECT_EQ(bench.phase(), "Failed");
}

TEST(Stopping, WaitsForASlowSignalWithoutTurning) {
  MachineBench bench(kOne);
  bench.run();
  bench.take_done();
  bench.spec.deletion = Deletion{kStart + 30s, 30s};
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 15"));
  // It is still on its way when the pod's time is up.
  bench.now += 40s;
  bench.look();
  EXPECT_THAT(bench.take_done(), IsEmpty());
  EXPECT_FALSE(bench.step.look_again_at && *bench.step.look_again_at <= bench.now);
  bench.succeed(bench.open.back());
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 9"));
}

TEST(Stopping, ALaterDeletionMayOnlyShortenTheTime) {
  MachineBench bench(kOne);
  bench.run();
  bench.spec.deletion = Deletion{kStart + 30s, 30s};
  bench.run();
  bench.now += 5s;
  bench.spec.deletion = Deletion{kStart + 7s, 2s};
  bench.run();
  EXPECT_EQ(bench.step.look_again_at, kStart + 7s);
  bench.spec.deletion = Deletion{kStart + 605s, 600s};
  bench.run();
  EXPECT_EQ(bench.step.look_again_at, kStart + 7s);
}

TEST(Stopping, APodWhoseObjectIsGoneEndsAndIsForgotten) {
  MachineBench bench(kOne);
  bench.run();
  bench.take_done();
  bench.gone = true;
  bench.spec.deletion = Deletion{kStart, 0s};
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 15"));
  EXPECT_EQ(bench.step.look_again_at, kStart + 1s) << "even then it gets a second";
  EXPECT_FALSE(bench.step.forget);
  EXPECT_FALSE(bench.step.status.has_value());
  bench.exit("main", 143);
  bench.run();
  EXPECT_TRUE(bench.step.forget);
}

TEST(Stopping, APodThatWasDeletedBeforeItBeganIsOver) {
  MachineBench bench(kOne);
  bench.spec.deletion = Deletion{kStart + 30s, 30s};
  bench.run();
  EXPECT_THAT(bench.done, IsEmpty());
  EXPECT_TRUE(bench.step.delete_object);
  EXPECT_EQ(bench.phase(), "Failed");
}

TEST(Stopping, AVolumeThatIsBeingBroughtUpToDateIsNotTakenAwayMeanwhile) {
  MachineBench bench(R"({"spec": {"containers": [{"name": "main", "image": "i"}],
      "volumes": [{"name": "settings", "configMap": {"name": "c"}}]}})");
  bench.references.config_maps["c"] = {{"a", "1"}};
  bench.run();
  bench.take_done();
  bench.references.config_maps["c"] = {{"a", "2"}};
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("volume settings"));
  const PlannedCommand update = std::exchange(bench.open, {}).back();
  bench.spec.deletion = Deletion{kStart + 30s, 30s};
  bench.exit("main", 0);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove main/0"));
  bench.succeed(update);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove-sandbox"));
}

TEST(Stopping, WhatCannotBeTakenAwayIsToldAndTriedAgain) {
  MachineBench bench(kOne);
  bench.run();
  bench.spec.deletion = Deletion{kStart + 30s, 30s};
  bench.exit("main", 0);
  bench.look();
  bench.succeed(std::exchange(bench.open, {}).back());
  bench.take_done();
  bench.take_told();
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove-sandbox"));
  bench.open.clear();
  bench.settle(SandboxRemoved{internal_error("the cgroup is busy")});
  EXPECT_THAT(bench.take_told(), ElementsAre("Warning FailedKillPod: error killing pod: the cgroup is busy"));
  bench.look();
  EXPECT_THAT(bench.take_done(), IsEmpty());
  ASSERT_TRUE(bench.step.look_again_at);
  bench.now = *bench.step.look_again_at;
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove-sandbox"));
  EXPECT_TRUE(bench.step.delete_object);
}

TEST(Stopping, PreStopComesFirstAndUsesTheSameTime) {
  MachineBench bench(kHook);
  bench.run();
  bench.take_done();
  bench.spec.deletion = Deletion{kStart + 10s, 10s};
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("preStop main/0"));
  bench.now += 4s;
  bench.run();
  bench.settle(HookDone{{"u", "main", 0}, true, {}});
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 15"));
  EXPECT_EQ(bench.step.look_again_at, kStart + 10s);
}

TEST(Stopping, AHookThatTakesAllTheTimeLeavesTwoSeconds) {
  MachineBench bench(kHook);
  bench.run();
  bench.take_done();
  bench.spec.deletion = Deletion{kStart + 10s, 10s};
  bench.look();
  bench.now += 10s;
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("preStop main/0", "signal main/0 15"));
  bench.settle(SignalSent{{"u", "main", 0}, 15, {}});
  bench.look();
  EXPECT_EQ(bench.step.look_again_at, kStart + 12s);
  bench.now += 2s;
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 9"));
}

TEST(Stopping, AContainerThatIsAboutToStartIsStoppedOnceItHas) {
  MachineBench bench(kOne);
  while (bench.done.empty() || bench.done.back() != "start main/0") {
    bench.look();
    if (!bench.open.empty() && bench.done.back() != "start main/0") {
      bench.succeed(bench.open.back());
      bench.open.clear();
    }
  }
  bench.take_done();
  bench.spec.deletion = Deletion{kStart + 30s, 30s};
  bench.look();
  EXPECT_THAT(bench.take_done(), IsEmpty());
  bench.settle(ContainerStarted{{"u", "main", 0}, Started{1, kStart}});
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 15"));
}

TEST(Stopping, AHaltedPodStopsAndRunsAgainWhenTheHaltEnds) {
  MachineBench bench(kOne);
  bench.run();
  bench.take_done();
  bench.halt = Halt::kFenced;
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 15"));
  bench.exit("main", 143);
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove main/0", "remove-sandbox"));
  EXPECT_FALSE(bench.record.released);
  bench.halt = Halt::kNone;
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("sandbox", "image main", "start main/1"));
}

TEST(Stopping, AFencedPodGetsAMinuteAtMost) {
  MachineBench bench(
      R"({"spec": {"terminationGracePeriodSeconds": 3600, "containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  bench.halt = Halt::kFenced;
  bench.run();
  EXPECT_EQ(bench.step.look_again_at, kStart + 60s);
}

TEST(Stopping, APodMayChooseToGoOnWithoutContact) {
  MachineBench bench(R"({"metadata": {"annotations": {"gangway.dev/on-lost-contact": "Continue"}},
                         "spec": {"containers": [{"name": "main", "image": "i"}]}})");
  bench.run();
  bench.take_done();
  bench.halt = Halt::kFenced;
  bench.run();
  EXPECT_THAT(bench.take_done(), IsEmpty());
  bench.halt = Halt::kShutdown;
  bench.run();
  EXPECT_THAT(bench.take_done(), ElementsAre("signal main/0 15"));
}

// An agent that starts without contact has records, but no specifications.
TEST(Stopping, WithoutItsSpecificationAPodIsFencedAsItsRecordSays) {
  for (const bool continues : {false, true}) {
    const std::string choice = continues ? "Continue" : "Stop";
    MachineBench bench(R"({"metadata": {"annotations": {"gangway.dev/on-lost-contact": ")" + choice + R"("}},
                           "spec": {"containers": [{"name": "main", "image": "i"}]}})");
    bench.run();
    bench.take_done();
    const auto record = read_record(write_record(bench.record));
    ASSERT_TRUE(record);
    const PodStep step = decide({.spec = nullptr,
                                 .record = *record,
                                 .facts = bench.facts,
                                 .node = bench.node,
                                 .room = bench.room,
                                 .references = bench.references,
                                 .halt = Halt::kFenced,
                                 .now = kStart});
    EXPECT_EQ(step.commands.empty(), continues) << choice;
  }
}

TEST(Stopping, WhatFailsToBeRemovedIsNotTriedInATightCircle) {
  MachineBench bench(kOne);
  bench.run();
  bench.exit("main", 1);
  bench.take_done();
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove main/0"));
  bench.settle(ContainerRemoved{{"u", "main", 0}, internal_error("busy")});
  bench.look();
  EXPECT_THAT(bench.take_done(), IsEmpty());
  EXPECT_EQ(bench.step.look_again_at, kStart + 1s);
  bench.now += 1s;
  bench.look();
  EXPECT_THAT(bench.take_done(), ElementsAre("remove main/0"));
}

}  // namespace
}  // namespace gangway::agent
