#include "agent/simulated/simulated_runtime.h"

#include <gtest/gtest.h>

#include <csignal>

#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

using namespace std::chrono_literals;

struct Exits final : RuntimeSink {
  std::map<ContainerId, Exit> all;
  void on_exit(const ContainerId& container, const Exit& exit) override { all.emplace(container, exit); }
};

struct SimulatedTest : ::testing::Test {
  testing::ManualLoop loop;
  SimulatedRuntime runtime{loop};
  Exits exits;

  void SetUp() override {
    runtime.recover(exits, [](const Result<Found>&) {});
    loop.run_until_idle();
  }
  ContainerId start(const std::string& uid, std::map<std::string, std::string> annotations, std::string gang = {},
                    ContainerRole role = ContainerRole::kMain) {
    ContainerSpec spec;
    spec.id = {uid, "c", 0};
    spec.annotations = std::move(annotations);
    spec.gang = std::move(gang);
    spec.role = role;
    runtime.start(spec, [](const Result<Started>&) {});
    loop.run_until_idle();
    return spec.id;
  }
  int code(const ContainerId& id) { return exits.all.contains(id) ? exits.all.at(id).code : -1; }
};

TEST_F(SimulatedTest, RunsForAsLongAsItIsTold) {
  const auto id = start("a", {{"gangway.dev/simulated-duration", "1m30s"}, {"gangway.dev/simulated-exit-code", "7"}});
  loop.advance(89s);
  EXPECT_EQ(code(id), -1);
  loop.advance(1s);
  EXPECT_EQ(code(id), 7);
  EXPECT_EQ(exits.all.at(id).at - exits.all.at(id).started_at, 90s);
}

TEST_F(SimulatedTest, RunsForEverUnlessItIsTold) {
  const auto id = start("a", {});
  loop.advance(24h * 365);
  EXPECT_EQ(code(id), -1);
  EXPECT_EQ(runtime.running(), 1U);
}

TEST_F(SimulatedTest, NonsenseInAnAnnotationIsNoDurationAndAFailure) {
  const auto id = start("a", {{"gangway.dev/simulated-duration", "soon"}});
  loop.advance(1h);
  EXPECT_EQ(code(id), -1);
  EXPECT_EQ(code(start("b", {{"gangway.dev/simulated-duration", "0s"}, {"gangway.dev/simulated-exit-code", "x"}})), 1);
}

TEST_F(SimulatedTest, InitContainersEndAtOnceAndSidecarsStay) {
  const auto init = start("a", {{"gangway.dev/simulated-duration", "1h"}, {"gangway.dev/simulated-exit-code", "7"}}, "",
                          ContainerRole::kInit);
  const auto side = start("b", {{"gangway.dev/simulated-duration", "1s"}}, "", ContainerRole::kSidecar);
  loop.advance(1h);
  EXPECT_EQ(code(init), 0);
  EXPECT_EQ(code(side), -1);
}

TEST_F(SimulatedTest, TakesItsTimeToStopAndNoneToBeKilled) {
  const auto slow = start("a", {{"gangway.dev/simulated-termination", "5s"}});
  runtime.signal(slow, SIGTERM, [](const Result<void>&) {});
  loop.advance(4s);
  EXPECT_EQ(code(slow), -1);
  loop.advance(1s);
  EXPECT_EQ(code(slow), 143);
  const auto killed = start("b", {{"gangway.dev/simulated-termination", "5s"}});
  runtime.signal(killed, SIGTERM, [](const Result<void>&) {});
  runtime.signal(killed, SIGKILL, [](const Result<void>&) {});
  loop.run_until_idle();
  EXPECT_EQ(code(killed), 137);
}

const std::map<std::string, std::string> kFails = {{"gangway.dev/simulated-peer-loss", "fail"}};

TEST_F(SimulatedTest, PeersFailWithTheOneThatIsLost) {
  const auto lost = start("a", kFails, "gang");
  const auto peer = start("b", kFails, "gang");
  const auto stoic = start("c", {}, "gang");
  const auto stranger = start("d", kFails, "other");
  runtime.signal(lost, SIGTERM, [](const Result<void>&) {});
  loop.run_until_idle();
  EXPECT_EQ(code(peer), 1);
  EXPECT_EQ(code(stoic), -1);
  EXPECT_EQ(code(stranger), -1);
}

TEST_F(SimulatedTest, APeerThatIsDoneIsNotLost) {
  start("a", {{"gangway.dev/simulated-duration", "1s"}}, "gang");
  const auto peer = start("b", kFails, "gang");
  loop.advance(1min);
  EXPECT_EQ(code(peer), -1);
}

TEST_F(SimulatedTest, AGangThatIsPutTogetherAgainDoesNotFailForTheOldOne) {
  SimulatedRuntime next(loop);
  Exits seen;
  const WallTime now = loop.clock().wall();
  ContainerSpec old;
  old.id = {"a", "c", 0};
  old.gang = "gang";
  old.annotations = kFails;
  ContainerSpec fresh = old;
  fresh.id.pod_uid = "b";
  next.adopt_container(old, now - 1h);
  next.adopt_container(fresh, now - 1min);
  next.adopt_failure("gang", now - 30min);
  next.recover(seen, [](const Result<Found>&) {});
  loop.run_until_idle();
  EXPECT_TRUE(seen.all.contains(old.id));
  EXPECT_FALSE(seen.all.contains(fresh.id));
}

TEST_F(SimulatedTest, WhatIsOverWhenItIsAdoptedEndsAsOfThen) {
  SimulatedRuntime next(loop);
  Exits seen;
  const WallTime now = loop.clock().wall();
  ContainerSpec spec;
  spec.id = {"a", "c", 3};
  spec.annotations = {{"gangway.dev/simulated-duration", "10s"}};
  next.adopt_container(spec, now - 1min);
  next.recover(seen, [](const Result<Found>&) {});
  loop.run_until_idle();
  ASSERT_TRUE(seen.all.contains(spec.id));
  EXPECT_EQ(seen.all.at(spec.id).at, now - 50s);
}

TEST_F(SimulatedTest, EveryPodHasAnAddressOfItsOwn) {
  std::set<std::string> addresses;
  for (int i = 0; i < 600; ++i) {
    SandboxSpec spec;
    spec.pod.uid = std::to_string(i);
    runtime.make_sandbox(spec, [&](const Result<Sandbox>& made) { addresses.insert(made->addresses.front()); });
  }
  loop.run_until_idle();
  EXPECT_EQ(addresses.size(), 600U);
  EXPECT_TRUE(addresses.contains("100.64.0.1"));
  EXPECT_FALSE(addresses.contains("100.64.1.0"));
}

}  // namespace
}  // namespace gangway::agent
