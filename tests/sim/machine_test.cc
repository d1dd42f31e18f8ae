#include "sim/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace gangway::sim {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct DeafSink final : agent::RuntimeSink {
  void on_exit(const agent::ContainerId&, const agent::Exit&) override {}
};

// A machine in fair weather, and an agent that does as it is told.
struct MachineTest : ::testing::Test {
  testing::Simulation simulation{1};
  testing::Faults faults{simulation};
  RunningPods pods;
  Machine machine{simulation, faults, pods, "node-0"};
  DeafSink sink;
  std::unique_ptr<testing::SimProcess> process;
  testing::SimLoop* loop = nullptr;
  std::unique_ptr<agent::Runtime> runtime;

  MachineTest() {
    faults.stop();
    start_agent();
  }
  void start_agent() {
    runtime.reset();
    process = std::make_unique<testing::SimProcess>(simulation, "agent");
    loop = &process->add_loop("agent");
    runtime = machine.runtime(*process, *loop);
  }
  // Runs what is on its way to its end.
  void settle() { simulation.run_for(seconds(1)); }

  static agent::ContainerSpec main_of(const std::string& uid) {
    agent::ContainerSpec spec;
    spec.id = {uid, "main", 0};
    spec.pod = {.uid = uid, .ns = "ns", .name = "pod-" + uid, .node = "node-0"};
    return spec;
  }
  void make_sandbox(const std::string& uid) {
    agent::SandboxSpec spec;
    spec.pod = main_of(uid).pod;
    runtime->make_sandbox(spec, [](const auto&) {});
    settle();
  }
  void begin(const agent::ContainerSpec& spec) {
    runtime->start(spec, [](const auto&) {});
  }
  void start(const agent::ContainerSpec& spec) {
    begin(spec);
    settle();
  }
  void kill(const std::string& uid) {
    runtime->signal({uid, "main", 0}, SIGKILL, [](const auto&) {});
    settle();
  }
  void remove_sandbox(const std::string& uid) {
    runtime->remove_sandbox(uid, [](const auto&) {});
    settle();
  }
  const std::vector<std::string>& verdicts() const { return machine.verdicts().all(); }
};

TEST_F(MachineTest, ALifeBreaksNoLaw) {
  make_sandbox("u1");
  start(main_of("u1"));
  EXPECT_EQ(machine.running(), 1U);
  kill("u1");
  remove_sandbox("u1");
  EXPECT_EQ(machine.running(), 0U);
  EXPECT_THAT(verdicts(), IsEmpty());
}

TEST_F(MachineTest, NothingStartsWithoutASandbox) {
  start(main_of("u1"));
  EXPECT_THAT(verdicts(), ElementsAre("u1/main/0 was started without a sandbox"));
}

TEST_F(MachineTest, ASandboxGoesLast) {
  make_sandbox("u1");
  start(main_of("u1"));
  remove_sandbox("u1");
  EXPECT_THAT(verdicts(), ElementsAre("u1/main/0 still ran when its sandbox was removed"));
}

TEST_F(MachineTest, NothingStartsOfAPodThatIsOver) {
  make_sandbox("u1");
  pods.end("u1");
  start(main_of("u1"));
  EXPECT_THAT(verdicts(), ElementsAre("u1/main/0 was started after the end of its pod"));
}

TEST_F(MachineTest, NothingStartsUnderANameThatRuns) {
  make_sandbox("u1");
  make_sandbox("u2");
  start(main_of("u1"));
  auto spec = main_of("u2");
  spec.pod.name = main_of("u1").pod.name;
  start(spec);
  EXPECT_THAT(verdicts(), ElementsAre("ns/pod-u1 was started as u2 on node-0 while u1 still runs"));
}

TEST_F(MachineTest, NoGpuIsGivenTwice) {
  make_sandbox("u1");
  make_sandbox("u2");
  for (const auto* uid : {"u1", "u2"}) {
    auto spec = main_of(uid);
    spec.gpus = {3};
    start(spec);
  }
  EXPECT_THAT(verdicts(), ElementsAre("GPU 3 of node-0 was given to u2/main/0 while u1/main/0 has it"));
}

TEST_F(MachineTest, AnAttemptStartsOnce) {
  make_sandbox("u1");
  start(main_of("u1"));
  kill("u1");
  start(main_of("u1"));
  EXPECT_THAT(verdicts(), ElementsAre("u1/main/0 was started twice"));
}

TEST_F(MachineTest, AnEndIsWrittenDownAsItWas) {
  make_sandbox("u1");
  start(main_of("u1"));
  kill("u1");
  agent::PodRecord record;
  record.pod = main_of("u1").pod;
  auto& container = record.containers.emplace_back();
  container.name = "main";
  container.end = agent::RunEnd{};
  container.end->exit.code = 137;
  EXPECT_TRUE(machine.records(*process).save(record).has_value());
  EXPECT_THAT(verdicts(), IsEmpty());
  container.end->exit.code = 0;
  EXPECT_TRUE(machine.records(*process).save(record).has_value());
  EXPECT_THAT(verdicts(), ElementsAre("u1/main/0 ended with 137, and is written down with 0"));
}

// As a runtime that waits for the commands of the last agent, or ends them, before it says what is there.
TEST_F(MachineTest, WhatADeadAgentAskedForDoesNotHappenAfterTheNextWasTold) {
  make_sandbox("u1");
  for (int i = 0; i < 40; ++i) {
    auto spec = main_of("u1");
    spec.id.container = std::to_string(i);
    begin(spec);
  }
  process->kill();
  start_agent();
  std::optional<agent::Found> found;
  runtime->recover(sink, [&](Result<agent::Found> answer) { found = *answer; });
  settle();
  ASSERT_TRUE(found);
  EXPECT_GT(found->containers.size(), 0U);
  EXPECT_LT(found->containers.size(), 40U) << "some were still on their way";
  EXPECT_EQ(machine.running(), found->containers.size());
}

}  // namespace
}  // namespace gangway::sim
