// Containers for real: what they are started with, how they end, what they see.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "agent/oci/test_node.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

class OciContainerTest : public NodeTest {};

const ContainerId kMain{.pod_uid = "p1", .container = "main", .attempt = 0};

TEST_F(OciContainerTest, RunsAProgramAndTellsHowItEnded) {
  node_.sandbox("p1");
  const auto exit = node_.run_to_end(TestNode::shell("p1", "echo hello; echo oops >&2; exit 7"));
  EXPECT_EQ(exit.code, 7);
  EXPECT_FALSE(exit.out_of_memory);
  EXPECT_FALSE(exit.lost);
  EXPECT_EQ(node_.output(kMain), "hello\noops\n");
}

TEST_F(OciContainerTest, StartsTheProgramAsItIsTold) {
  node_.sandbox("p1");
  auto spec = TestNode::shell(
      "p1", "id -u; id -g; id -G; pwd; hostname; echo $A; echo $HOSTNAME; echo $HOME; cat /proc/1/comm; umask");
  spec.environment = {{"A", "one two"}};
  spec.working_directory = "/usr/made/here";
  spec.security.user = 1234;
  spec.security.group = 99;
  spec.security.supplemental_groups = {55};
  EXPECT_EQ(node_.run_to_end(spec).code, 0);
  EXPECT_EQ(node_.output(kMain), "1234\n99\n99 55\n/usr/made/here\nhost-p1\none two\nhost-p1\n/\ngangway-init\n0022\n");
  EXPECT_FALSE(fs::exists("/usr/made"));
}

TEST_F(OciContainerTest, ForwardsSignalsAndReportsThem) {
  node_.sandbox("p1");
  node_.begin(TestNode::shell(
      "p1", "exec 2>/dev/null; trap 'echo term; exit 3' TERM; echo ready; while :; do sleep 0.02; done"));
  ASSERT_TRUE(node_.prints(kMain, "ready"));
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().signal(kMain, SIGTERM, done); }));
  EXPECT_EQ(node_.exit_of(kMain).code, 3);
  EXPECT_EQ(node_.output(kMain), "ready\nterm\n");

  const auto other = TestNode::shell("p1", "sleep 1000", "other");
  node_.begin(other);
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().signal(other.id, SIGKILL, done); }));
  EXPECT_EQ(node_.exit_of(other.id).code, 137);
  EXPECT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().signal(other.id, SIGTERM, done); })) << "it is gone";
}

TEST_F(OciContainerTest, TheEndOfTheLogStandsInForAMessage) {
  node_.sandbox("p1");
  const auto message_of = [&](const std::string& script, unsigned attempt) {
    auto spec = TestNode::shell("p1", script, "main", attempt);
    spec.termination_message_path = "/why";
    spec.message_from_log = true;
    return node_.run_to_end(spec).message;
  };
  EXPECT_EQ(message_of("echo one; echo two; exit 1", 0), "one\ntwo\n");
  EXPECT_EQ(message_of("echo out; echo said > /why; exit 1", 1), "said\n");
  EXPECT_EQ(message_of("echo out", 2), "") << "it did not fail";
  std::string last;
  for (int line = 21; line <= 100; ++line) last += std::to_string(line) + "\n";
  EXPECT_EQ(message_of("seq 100; exit 1", 3), last) << "80 lines";
  EXPECT_EQ(message_of("seq -f %0999g 4; exit 1", 4).size(), 2048U);
}

TEST_F(OciContainerTest, SaysThatAProgramIsMissingBeforeItIsStarted) {
  node_.sandbox("p1");
  auto spec = TestNode::shell("p1", "");
  spec.command = {"no-such-program"};
  const auto started = node_.run(spec);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().reason, Reason::kBadRequest);
  EXPECT_EQ(started.error().message,
            "unable to start container process: exec: \"no-such-program\": executable file not found in $PATH");
  EXPECT_FALSE(fs::exists(node_.layout().container(kMain)));
  // The same name may be used again: it never ran.
  EXPECT_EQ(node_.run_to_end(TestNode::shell("p1", "exit 0")).code, 0);
}

TEST_F(OciContainerTest, AScriptWithoutItsInterpreterEndsWith127) {
  node_.sandbox("p1");
  const auto exit = node_.run_to_end(TestNode::shell("p1", "printf '#!/no/such\\n' > /x; chmod +x /x; exec /x"));
  EXPECT_EQ(exit.code, 127);
}

TEST_F(OciContainerTest, HidesWhatIsNobodysBusiness) {
  node_.sandbox("p1");
  const auto exit = node_.run_to_end(TestNode::shell(
      "p1", "ls -A /root /home /etc/ssh 2>&1 | grep -v : | grep .; wc -c < /etc/shadow; ls " + node_.data_dir() +
                " >/dev/null 2>&1 && echo seen; touch /root/own && echo writes; mount | grep -c cgroup; cat "
                "/etc/resolv.conf /etc/hosts /etc/hostname"));
  EXPECT_EQ(exit.code, 0);
  EXPECT_EQ(node_.output(kMain), "0\nwrites\n0\nnameserver 127.0.0.53\n127.0.0.1 localhost pod-p1\nhost-p1\n");
  EXPECT_FALSE(fs::exists("/root/own"));
}

TEST_F(OciContainerTest, HasItsVolumes) {
  node_.sandbox("p1");
  const auto prepare = [&](const std::string& name, VolumeContent content) {
    const auto made = node_.wait<void>(
        [&](auto done) { node_.runtime().prepare_volume({.pod_uid = "p1", .name = name, .content = content}, done); });
    ASSERT_TRUE(made) << made.error().message;
  };
  prepare("config", FilesVolume{.files = {{"a", "one"}}});
  prepare("scratch", EmptyVolume{});
  prepare("fast", EmptyVolume{.in_memory = true, .size_limit_bytes = 1 << 20});
  auto spec =
      TestNode::shell("p1",
                      "cat /config/a; echo; touch /config/b 2>/dev/null || echo read-only; echo x > /scratch/deep/f; "
                      "df -k --output=size /fast | tail -1 | tr -d ' '; echo done > /fast/x; cat /only/a; echo");
  spec.mounts = {{.volume = "scratch", .sub_path = "sub/dir", .target = "/scratch/deep"},
                 {.volume = "config", .target = "/config", .read_only = true},
                 {.volume = "scratch", .target = "/scratch/"},
                 {.volume = "fast", .target = "/fast"},
                 {.volume = "config", .sub_path = "a", .target = "/only/a"}};
  EXPECT_EQ(node_.run_to_end(spec).code, 0);
  EXPECT_EQ(node_.output(kMain), "one\nread-only\n1024\none\n");
  EXPECT_EQ(sys::read_file(node_.layout().volume("p1", "scratch") + "/sub/dir/f").value_or(""), "x\n");

  prepare("config", FilesVolume{.files = {{"a", "two"}}});
  EXPECT_EQ(sys::read_file(node_.layout().volume("p1", "config") + "/a").value_or(""), "two");
}

TEST_F(OciContainerTest, ContainersOfAPodShareWhatIsThePods) {
  node_.sandbox("p1");
  node_.begin(TestNode::shell(
      "p1",
      "readlink /proc/self/ns/net /proc/self/ns/ipc /proc/self/ns/uts; echo x > /dev/shm/f; echo up; sleep 1000"));
  ASSERT_TRUE(node_.prints(kMain, "up"));
  const auto second = TestNode::shell(
      "p1", "readlink /proc/self/ns/net /proc/self/ns/ipc /proc/self/ns/uts; cat /dev/shm/f; ps -e | wc -l", "second");
  EXPECT_EQ(node_.run_to_end(second).code, 0);
  const auto first = node_.output(kMain);
  const auto lines = first.substr(0, first.find("up"));
  // init, sh, ps, wc and the heading: it does not see the first container's.
  EXPECT_EQ(node_.output(second.id), lines + "x\n5\n");
  node_.sandbox("p2");
  const auto other = TestNode::shell("p2", "readlink /proc/self/ns/net; ls /dev/shm", "main");
  EXPECT_EQ(node_.run_to_end(other).code, 0);
  EXPECT_EQ(lines.find(node_.output(other.id)), std::string::npos);
}

TEST_F(OciContainerTest, SharesProcessesWhereThePodSaysSo) {
  auto sandbox = TestNode::sandbox_spec("p1");
  sandbox.share_processes = true;
  const auto made = node_.make_sandbox(sandbox);
  ASSERT_TRUE(made) << made.error().message;
  node_.begin(TestNode::shell("p1", "setsid sleep 1234 & echo up; sleep 1000"));
  ASSERT_TRUE(node_.prints(kMain, "up"));
  const auto second = TestNode::shell("p1", "ps -eo args | grep -c '^sleep 1234'; cat /proc/1/comm", "second");
  EXPECT_EQ(node_.run_to_end(second).code, 0);
  EXPECT_EQ(node_.output(second.id), "1\ngangway-init\n");
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().signal(kMain, SIGKILL, done); }));
  EXPECT_EQ(node_.exit_of(kMain).code, 137);
  const auto third = TestNode::shell("p1", "ps -eo args | grep -c '^sleep 1234'", "third");
  node_.run_to_end(third);
  EXPECT_EQ(node_.output(third.id), "0\n") << "what a killed container leaves is killed too";
}

TEST_F(OciContainerTest, KeepsTheTerminationMessage) {
  node_.sandbox("p1");
  auto spec = TestNode::shell("p1", "echo because > /dev/termination-log; exit 1");
  spec.termination_message_path = "/dev/termination-log";
  spec.security.user = 1000;
  const auto exit = node_.run_to_end(spec);
  EXPECT_EQ(exit.code, 1);
  EXPECT_EQ(exit.message, "because\n");
}

TEST_F(OciContainerTest, IsHeldToItsLimits) {
  node_.sandbox("p1");
  auto spec = TestNode::shell("p1", "head -c 200000000 /dev/zero | tail");
  spec.limits = {.cpu_shares = 100, .cpu_quota_micros = 50'000, .memory_bytes = 32 << 20, .pids = 50};
  const auto exit = node_.run_to_end(spec);
  EXPECT_EQ(exit.code, 137);
  EXPECT_TRUE(exit.out_of_memory);

  auto forks = TestNode::shell("p1", "for i in 1 2 3 4 5 6 7 8; do sleep 5 & done; wait", "forks");
  forks.limits.pids = 4;
  EXPECT_NE(node_.run_to_end(forks).code, 0);
  EXPECT_NE(node_.output(forks.id).find("Cannot fork"), std::string::npos);
}

TEST_F(OciContainerTest, TellsItsUsage) {
  node_.sandbox("p1");
  node_.begin(TestNode::shell("p1", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo counted; sleep 1000"));
  ASSERT_TRUE(node_.prints(kMain, "counted"));
  const auto usage = node_.runtime().usage(kMain);
  ASSERT_TRUE(usage) << usage.error().message;
  EXPECT_GT(usage->cpu_nanoseconds, 1'000'000);
  EXPECT_GT(usage->memory_bytes, 50'000);
  EXPECT_FALSE(node_.runtime().usage({.pod_uid = "p1", .container = "none"}));
}

TEST_F(OciContainerTest, SecurityIsWhatThePodSays) {
  node_.sandbox("p1");
  auto plain = TestNode::shell(
      "p1",
      "grep -E 'NoNewPrivs|CapEff' /proc/self/status | tr -d '\\t'; touch /x && echo writes; ls /dev/kmsg 2>/dev/null");
  plain.security.no_new_privileges = true;
  plain.security.dropped_capabilities = {"ALL"};
  plain.security.added_capabilities = {"CHOWN"};
  EXPECT_NE(node_.run_to_end(plain).code, 0);
  EXPECT_EQ(node_.output(kMain), "CapEff:0000000000000001\nNoNewPrivs:1\nwrites\n");
  auto guarded = TestNode::shell(
      "p1", "touch /x 2>/dev/null || echo read-only; touch /etc/hosts 2>/dev/null || echo read-only", "guarded");
  guarded.security.read_only_root = true;
  EXPECT_EQ(node_.run_to_end(guarded).code, 0);
  EXPECT_EQ(node_.output(guarded.id), "read-only\nread-only\n");
  auto root = TestNode::shell("p1", "exit 0", "root");
  root.security.must_not_be_root = true;
  const auto refused = node_.run(root);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "container has runAsNonRoot and image will run as root");
  auto privileged = TestNode::shell("p1", "ls /dev/kmsg; mount -t tmpfs none /mnt && echo mounts", "privileged");
  privileged.security.privileged = true;
  EXPECT_EQ(node_.run_to_end(privileged).code, 0);
  EXPECT_EQ(node_.output(privileged.id), "/dev/kmsg\nmounts\n");
}

TEST_F(OciContainerTest, LeavesNothingButItsLog) {
  node_.sandbox("p1");
  EXPECT_EQ(node_.run_to_end(TestNode::shell("p1", "echo kept")).code, 0);
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().remove(kMain, done); }));
  EXPECT_FALSE(fs::exists(node_.layout().container(kMain)));
  node_.begin(TestNode::shell("p1", "sleep 1000", "second"));
  ASSERT_TRUE(node_.wait<void>([&](auto done) { node_.runtime().remove_sandbox("p1", done); }));
  EXPECT_FALSE(fs::exists(node_.layout().pod("p1")));
  EXPECT_TRUE(fs::exists(node_.log_of(kMain))) << "and it is found";
  const auto mounts = mounts_of_this_process();
  EXPECT_TRUE(std::none_of(mounts->begin(), mounts->end(),
                           [&](const auto& m) { return is_below(m.path, node_.layout().root()); }));
  EXPECT_TRUE(fs::is_empty(node_.layout().runtime_root()));
  EXPECT_TRUE(fs::is_empty(node_.layout().exits()));
  EXPECT_TRUE(Cgroups::of_this_machine()->processes("/" + node_.layout().short_id()).empty());
}

}  // namespace
}  // namespace gangway::agent::oci
