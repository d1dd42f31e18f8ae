// What becomes of real containers when their agent dies, at every point of their lives.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include "agent/logs/log_pieces.h"
#include "agent/logs/log_reader.h"
#include "agent/oci/container_build.h"
#include "agent/oci/file_times.h"
#include "agent/oci/processes.h"
#include "agent/oci/test_node.h"
#include "sys/spawn.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

const ContainerId kMain{.pod_uid = "p1", .container = "main", .attempt = 0};

class OciRecoveryTest : public NodeTest {
 protected:
  void remove(const ContainerId& id) {
    ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().remove(id, done); }));
  }
  static const FoundContainer* in(const Found& found, const ContainerId& id) {
    const auto at =
        std::find_if(found.containers.begin(), found.containers.end(), [&](const auto& c) { return c.id == id; });
    return at == found.containers.end() ? nullptr : &*at;
  }
};

TEST_F(OciRecoveryTest, FindsARunningContainerAgain) {
  const auto made = node_.make_sandbox(TestNode::sandbox_spec("p1"));
  ASSERT_TRUE(made) << made.error().message;
  const auto started = node_.run(TestNode::shell("p1", "trap 'exit 9' TERM; echo up; while :; do sleep 0.02; done"));
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_TRUE(node_.prints(kMain, "up"));
  const auto found = node_.start();
  EXPECT_EQ(found.sandboxes.at("p1").addresses, made->addresses);
  const auto* container = in(found, kMain);
  ASSERT_NE(container, nullptr);
  ASSERT_TRUE(container->running);
  EXPECT_EQ(container->running->pid, started->pid);
  EXPECT_EQ(container->running->at, started->at);
  // To start it again is to find that it runs.
  const auto again = node_.run(TestNode::shell("p1", "exit 1"));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->pid, started->pid);
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().signal(kMain, SIGTERM, done); }));
  EXPECT_EQ(node_.exit_of(kMain).code, 9);
  remove(kMain);
}

TEST_F(OciRecoveryTest, LearnsHowAContainerEndedMeanwhile) {
  node_.sandbox("p1");
  auto spec = TestNode::shell("p1", "echo up; sleep 0.3; echo last words; echo why > /why; exit 4");
  spec.termination_message_path = "/why";
  node_.begin(spec);
  node_.stop();
  const auto file = node_.layout().exits() + "/" + node_.layout().runtime_id(kMain);
  ASSERT_TRUE(node_.loop().wait_for([&] { return fs::exists(file); }));
  const auto found = node_.start();
  const auto* container = in(found, kMain);
  ASSERT_NE(container, nullptr);
  ASSERT_TRUE(container->exited);
  EXPECT_EQ(container->exited->code, 4);
  EXPECT_EQ(container->exited->message, "why\n");
  EXPECT_FALSE(container->exited->lost);
  EXPECT_EQ(node_.output(kMain), "up\nlast words\n");
  node_.loop().run_until_idle();
  EXPECT_FALSE(node_.has_exit(kMain)) << "what was listed is not told again";
}

TEST_F(OciRecoveryTest, TakesAwayWhatWasBuiltAndNotStarted) {
  node_.sandbox("p1");
  const auto support = probe(node_.data_dir());
  const auto sandbox = decode_sandbox(sys::read_file(node_.layout().pod("p1") + "/sandbox.json").value_or(""));
  ASSERT_TRUE(sandbox);
  const BuildInput input{.spec = TestNode::shell("p1", "touch /ran"), .sandbox = *sandbox, .image = std::nullopt};
  ASSERT_TRUE(build_container(node_.layout(), support->cgroups, input));
  const auto found = node_.start();
  EXPECT_EQ(in(found, kMain), nullptr);
  EXPECT_FALSE(fs::exists(node_.layout().container(kMain)));
  EXPECT_EQ(node_.run_to_end(TestNode::shell("p1", "exit 3")).code, 3);
}

TEST_F(OciRecoveryTest, TakesAwayWhatWasCreatedAndNotStarted) {
  node_.sandbox("p1");
  const auto layout = node_.layout();
  const auto support = probe(node_.data_dir());
  const auto sandbox = decode_sandbox(sys::read_file(layout.pod("p1") + "/sandbox.json").value_or(""));
  const BuildInput input{.spec = TestNode::shell("p1", "touch /ran"), .sandbox = *sandbox, .image = std::nullopt};
  const auto record = build_container(layout, support->cgroups, input);
  ASSERT_TRUE(record);
  // conmon creates the container and waits; nobody ever starts it. Twice: with and without the note before the start.
  for (const bool noted : {false, true}) {
    ASSERT_TRUE(!noted || build_container(layout, support->cgroups, input));
    node_.stop();
    auto spawned = sys::run_and_wait({.argv = shim_command(layout, *support, *record, {})});
    ASSERT_TRUE(spawned && spawned->ok());
    const auto fifo = layout.runtime_root() + "/" + layout.runtime_id(kMain) + "/exec.fifo";
    ASSERT_TRUE(
        node_.loop().wait_for([&] { return fs::exists(fifo) && fs::exists(layout.container(kMain) + "/pid"); }));
    const auto pid = std::stoi(*sys::read_file(layout.container(kMain) + "/pid"));
    if (noted) {
      ASSERT_TRUE(
          replace_file(layout.container(kMain) + "/started.json",
                       encode(StartedRecord{.pid = pid, .ticks = start_ticks_of(pid), .boot = boot_id(), .at = {}})));
    }
    const auto found = node_.start();
    EXPECT_EQ(in(found, kMain), nullptr);
    EXPECT_EQ(start_ticks_of(pid), 0U) << "its process is gone";
    EXPECT_TRUE(processes_with(layout.runtime_id(kMain)).empty()) << "its shim is gone";
    EXPECT_FALSE(fs::exists(layout.container(kMain)));
    EXPECT_TRUE(fs::is_empty(layout.exits()));
  }
  EXPECT_EQ(node_.run_to_end(TestNode::shell("p1", "test -e /ran")).code, 1);
}

TEST_F(OciRecoveryTest, AKilledShimLosesTheExitButNotTheContainer) {
  node_.sandbox("p1");
  node_.begin(TestNode::shell("p1", "exec sleep 1000"));
  const auto shim = std::stoi(*sys::read_file(node_.layout().container(kMain) + "/conmon.pid"));
  ::kill(shim, SIGKILL);
  const auto found = node_.start();
  ASSERT_NE(in(found, kMain), nullptr);
  EXPECT_TRUE(in(found, kMain)->running);
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().signal(kMain, SIGKILL, done); }));
  // Nobody will write it down; after a while that is what we say.
  ASSERT_TRUE(node_.loop().wait_for([&] {
    node_.loop().advance(std::chrono::seconds(1));
    return node_.has_exit(kMain);
  }));
  EXPECT_TRUE(node_.exit_of(kMain).lost);
  EXPECT_EQ(node_.exit_of(kMain).code, 137);
}

TEST_F(OciRecoveryTest, ASlowShimIsWaitedFor) {
  node_.sandbox("p1");
  node_.begin(TestNode::shell(
      "p1", "exec 2>/dev/null; trap 'echo last words; exit 6' TERM; echo up; while :; do sleep 0.02; done"));
  ASSERT_TRUE(node_.prints(kMain, "up"));
  const auto shim = std::stoi(*sys::read_file(node_.layout().container(kMain) + "/conmon.pid"));
  const auto pid = std::stoi(*sys::read_file(node_.layout().container(kMain) + "/pid"));
  ::kill(shim, SIGSTOP);
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().signal(kMain, SIGTERM, done); }));
  ASSERT_TRUE(node_.loop().wait_for([&] { return start_ticks_of(pid) == 0; }));
  for (int minute = 0; minute < 5; ++minute) {
    ASSERT_TRUE(node_.loop().wait_for([] { return true; }));
    node_.loop().advance(std::chrono::minutes(1));
  }
  EXPECT_FALSE(node_.has_exit(kMain));
  ::kill(shim, SIGCONT);
  EXPECT_EQ(node_.exit_of(kMain).code, 6);
  EXPECT_FALSE(node_.exit_of(kMain).lost);
  EXPECT_EQ(node_.output(kMain), "up\nlast words\n");
}

TEST_F(OciRecoveryTest, TeardownEndsEverythingAndTheNextStartKnowsHow) {
  node_.sandbox("p1");
  node_.sandbox("p2");
  ASSERT_TRUE(node_.wait<void>([&](auto done) {
    node_.runtime().prepare_volume({.pod_uid = "p1", .name = "disk", .content = EmptyVolume{}}, done);
  }));
  auto spec = TestNode::shell("p1", "echo kept > /disk/file; echo up; setsid sleep 1000 & sleep 1000");
  spec.mounts = {{.volume = "disk", .target = "/disk"}};
  node_.begin(spec);
  ASSERT_TRUE(node_.prints(kMain, "up"));
  node_.begin(TestNode::shell("p2", "sleep 1000"));
  node_.stop();
  ASSERT_TRUE(teardown(node_.data_dir()));
  ASSERT_TRUE(teardown(node_.data_dir()));
  EXPECT_TRUE(processes_with(node_.layout().runtime_root()).empty());
  EXPECT_TRUE(Cgroups::of_this_machine()->processes("/" + node_.layout().short_id()).empty());
  const auto mounts = mounts_of_this_process();
  EXPECT_TRUE(std::none_of(mounts->begin(), mounts->end(),
                           [&](const auto& m) { return is_below(m.path, node_.layout().root()); }));
  EXPECT_FALSE(fs::exists("/sys/fs/cgroup/memory/" + node_.layout().short_id()));

  const auto found = node_.start();
  EXPECT_TRUE(found.sandboxes.empty());
  const auto* container = in(found, kMain);
  ASSERT_NE(container, nullptr);
  ASSERT_TRUE(container->exited);
  EXPECT_EQ(container->exited->code, 137);
  EXPECT_FALSE(container->exited->lost) << "its shim had time to write it down";
  remove(kMain);
  node_.sandbox("p1");
  auto next = TestNode::shell("p1", "cat /disk/file", "main", 1);
  next.mounts = spec.mounts;
  EXPECT_EQ(node_.run_to_end(next).code, 0);
  EXPECT_EQ(node_.output(next.id), "kept\n");
}

TEST_F(OciRecoveryTest, WhatAKilledProbeLeftIsTakenAway) {
  const auto layout = node_.layout();
  const auto cgroups = *Cgroups::of_this_machine();
  const auto leave = [&] {
    ASSERT_TRUE(make_folders(layout.probes() + "/killed/root"));
    ASSERT_TRUE(mount_tmpfs(layout.probes() + "/killed/root", 4096, 0700));
    ASSERT_TRUE(cgroups.make(layout.probe_cgroup(), {}));
  };
  leave();
  node_.start();
  EXPECT_FALSE(fs::exists(layout.probes()));
  leave();
  node_.stop();
  ASSERT_TRUE(teardown(node_.data_dir()));
  EXPECT_FALSE(fs::exists(layout.probes()));
  for (const auto* controller : {"memory", "unified", ""})
    EXPECT_FALSE(fs::exists(std::string("/sys/fs/cgroup/") + controller + layout.probe_cgroup()));
}

TEST_F(OciRecoveryTest, ClustersOnOneMachineDoNotMeet) {
  TestNode other;
  other.start();
  const auto spec = TestNode::shell("p1", "trap 'exit 9' TERM; echo up; while :; do sleep 0.02; done");
  for (auto* node : {&node_, &other}) {
    node->sandbox("p1");
    node->begin(spec);
    ASSERT_TRUE(node->prints(kMain, "up"));
  }
  EXPECT_NE(node_.layout().runtime_id(kMain), other.layout().runtime_id(kMain));
  node_.stop();
  ASSERT_TRUE(teardown(node_.data_dir()));
  const auto found = other.start();
  ASSERT_NE(in(found, kMain), nullptr);
  EXPECT_TRUE(in(found, kMain)->running);
  ASSERT_TRUE(other.wait<void>([&](auto done) { other.runtime().signal(kMain, SIGTERM, done); }));
  EXPECT_EQ(other.exit_of(kMain).code, 9);
}

TEST_F(OciRecoveryTest, LogsStayWhenThePodIsGone) {
  auto sandbox = TestNode::sandbox_spec("p1");
  sandbox.owner = {.kind = "Job", .name = "train"};
  ASSERT_TRUE(node_.make_sandbox(sandbox));
  EXPECT_EQ(node_.run_to_end(TestNode::shell("p1", "echo first", "main", 0)).code, 0);
  EXPECT_EQ(node_.run_to_end(TestNode::shell("p1", "echo second", "main", 1)).code, 0);
  const auto log = node_.log_of(kMain);
  const auto folder = fs::path(log).parent_path().parent_path().string();
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().remove_sandbox("p1", done); }));
  EXPECT_EQ(written_at(folder + "/pod.json"), node_.loop().clock().wall());
  EXPECT_EQ(node_.log_of(kMain), log);
  node_.start();
  node_.loop().advance(std::chrono::hours(2));  // what is tidied away is not this
  ASSERT_TRUE(node_.loop().wait_for([] { return true; }));
  EXPECT_NE(sys::read_file(folder + "/main/0.log")->find("F first\n"), std::string::npos);
  EXPECT_NE(sys::read_file(folder + "/main/1.log")->find("F second\n"), std::string::npos);
  EXPECT_NE(sys::read_file(folder + "/pod.json")->find(R"("owner":{"kind":"Job","name":"train"})"), std::string::npos);
}

// The agent's clock runs a thousand times as fast as the container: it must wait for the shim, however long that takes.
TEST_F(OciRecoveryTest, RotatesLogsWithoutLosingALine) {
  OciOptions options;
  options.logs.max_bytes = 20'000;
  options.logs.max_files = 1000;
  node_.start(options);
  node_.sandbox("p1");
  node_.begin(TestNode::shell(
      "p1", "trap 'stop=1' TERM; i=0; while [ -z \"$stop\" ]; do echo line $i; i=$((i+1)); done; echo last"));
  const auto log = node_.log_of(kMain);
  const auto rotate_until = [&](const std::function<bool()>& done) {
    return node_.loop().wait_for([&] {
      node_.loop().advance(std::chrono::seconds(11));
      return done();
    });
  };
  ASSERT_TRUE(rotate_until([&] { return find_log_pieces(log).size() >= 5; }));
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().signal(kMain, SIGTERM, done); }));
  ASSERT_TRUE(rotate_until([&] { return node_.has_exit(kMain); }));
  EXPECT_FALSE(node_.exit_of(kMain).lost);
  LogReader reader(log, {});
  std::string printed;
  while (reader.read(printed) == LogReader::Progress::kMore) {
  }
  std::string wanted;
  for (int i = 0; wanted.size() + 5 < printed.size(); ++i) wanted += "line " + std::to_string(i) + "\n";
  EXPECT_TRUE(printed == wanted + "last\n") << printed.size() << " bytes";
}

}  // namespace
}  // namespace gangway::agent::oci
