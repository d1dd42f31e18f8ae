#include "agent/oci/recovery.h"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/oci/mounts.h"
#include "agent/oci/test_folder.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

TEST(Recovery, JudgesEveryPointOfAContainersLife) {
  struct Case {
    const char* when;
    ContainerFacts facts;
    Verdict want;
  };
  const Case cases[] = {
      {"the folder is there, nothing is written", {}, Verdict::kNeverStarted},
      {"intended", {.intended = true}, Verdict::kNeverStarted},
      {"the shim creates it", {.intended = true, .shim_alive = true}, Verdict::kNeverStarted},
      {"created", {.intended = true, .waits = true, .process_alive = true, .shim_alive = true}, Verdict::kNeverStarted},
      {"created and noted",
       {.intended = true, .waits = true, .started = true, .process_alive = true, .shim_alive = true},
       Verdict::kNeverStarted},
      {"created, noted, and killed before it was started",
       {.intended = true, .waits = true, .started = true, .exit_told = true},
       Verdict::kNeverStarted},
      {"failed to be created", {.intended = true, .exit_told = true}, Verdict::kNeverStarted},
      {"running", {.intended = true, .started = true, .process_alive = true, .shim_alive = true}, Verdict::kRunning},
      {"running, its shim was killed", {.intended = true, .started = true, .process_alive = true}, Verdict::kRunning},
      {"ended, not told yet", {.intended = true, .started = true, .shim_alive = true}, Verdict::kRunning},
      {"ended", {.intended = true, .started = true, .exit_told = true}, Verdict::kExited},
      {"ended, the shim is about to go",
       {.intended = true, .started = true, .shim_alive = true, .exit_told = true},
       Verdict::kExited},
      {"the machine was restarted", {.intended = true, .started = true}, Verdict::kLost},
  };
  for (const auto& one : cases) EXPECT_EQ(judge(one.facts), one.want) << one.when;
}

// The disk as it may be found, without any process: no cgroups are needed for that.
class RecoveryTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& text = "") {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  void put_container(const ContainerId& id, bool started) {
    const ContainerRecord record{.id = id, .pod = {.uid = id.pod_uid}};
    put(layout_.container(id) + "/intent.json", encode(record));
    if (started)
      put(layout_.container(id) + "/started.json",
          encode(StartedRecord{.pid = 1, .ticks = 1, .boot = "earlier", .at = {}}));
  }
  TestFolder folder_;
  Layout layout_{folder_.path()};
  Cgroups none_{{}, ""};
};

TEST_F(RecoveryTest, SortsWhatIsThereAndTakesAwayWhatWasNeverStarted) {
  const ContainerId exited{.pod_uid = "a", .container = "main", .attempt = 0};
  const ContainerId lost{.pod_uid = "a", .container = "main", .attempt = 1};
  const ContainerId intended{.pod_uid = "a", .container = "side", .attempt = 0};
  const ContainerId waiting{.pod_uid = "b", .container = "main", .attempt = 0};
  put_container(exited, true);
  put_container(lost, true);
  put_container(intended, false);
  put_container(waiting, true);
  put(layout_.exits() + "/" + layout_.runtime_id(exited), "3");
  put(layout_.runtime_root() + "/" + layout_.runtime_id(waiting) + "/exec.fifo");
  put(layout_.container(exited) + "/message", "said");
  put(layout_.pod("c") + "/containers/main/0/config.json");
  put(layout_.pod("a") + "/containers/main/7.removing/upper/x");
  put(layout_.pods() + "/gone.removing/volumes/x");
  put(layout_.exits() + "/stray", "0");

  const auto left = find_left(layout_, none_);
  ASSERT_TRUE(left) << left.error().message;
  ASSERT_EQ(left->containers.size(), 2U);
  EXPECT_EQ(left->containers[0].record.id, exited);
  EXPECT_EQ(left->containers[0].verdict, Verdict::kExited);
  EXPECT_EQ(left->containers[1].record.id, lost);
  EXPECT_EQ(left->containers[1].verdict, Verdict::kLost);
  EXPECT_EQ(left->pods, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_TRUE(left->sandboxes.empty());
  for (const auto& gone :
       {layout_.container(intended), layout_.container(waiting), layout_.pod("c") + "/containers/main/0",
        layout_.pod("a") + "/containers/main/7.removing", layout_.pods() + "/gone.removing", layout_.exits() + "/stray",
        layout_.runtime_root() + "/" + layout_.runtime_id(waiting)}) {
    EXPECT_FALSE(fs::exists(gone)) << gone;
  }

  const auto exit = read_exit(layout_, none_, left->containers[0].record, left->containers[0].started);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->code, 3);
  EXPECT_EQ(exit->message, "said");
  EXPECT_FALSE(exit->out_of_memory);
}

TEST_F(RecoveryTest, KeepsTheEndOfALongMessage) {
  const ContainerId id{.pod_uid = "a", .container = "main", .attempt = 0};
  put(layout_.container(id) + "/message", std::string(5000, 'a') + "end");
  const auto message = read_message(layout_, {.id = id, .pod = {}}, 0);
  EXPECT_EQ(message.size(), 4096U);
  EXPECT_TRUE(message.ends_with("aend"));
}

TEST_F(RecoveryTest, RemovesAPodAndAllThatIsLeftOfIt) {
  put_container({.pod_uid = "a", .container = "main", .attempt = 4}, true);
  put(layout_.volume("a", "scratch") + "/deep/file");
  ASSERT_TRUE(remove_pod(layout_, none_, "a"));
  EXPECT_FALSE(fs::exists(layout_.pod("a")));
  EXPECT_TRUE(remove_pod(layout_, none_, "a"));
  EXPECT_FALSE(remove_pod(layout_, none_, ".."));
}

TEST_F(RecoveryTest, FinishesARemovalThatWasInterrupted) {
  const ContainerId id{.pod_uid = "a", .container = "main", .attempt = 4};
  put(layout_.container(id) + ".removing/root/file");
  put(layout_.pod("a") + ".removing/volumes/scratch/file");
  put_container(id, true);
  ASSERT_TRUE(remove_pod(layout_, none_, "a"));
  EXPECT_TRUE(fs::is_empty(layout_.pods()));
}

TEST_F(RecoveryTest, NothingThatIsMountedKeepsAPodForEver) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  const std::string left = layout_.pod("a") + ".removing/volumes/token";
  fs::create_directories(left);
  ASSERT_TRUE(mount_tmpfs(left, 1 << 20, 0755));
  EXPECT_TRUE(remove_pod(layout_, none_, "a"));
  EXPECT_TRUE(fs::is_empty(layout_.pods()));
  ::umount2(left.c_str(), MNT_DETACH);
}

TEST_F(RecoveryTest, TearsDownWhatIsNotThere) {
  EXPECT_TRUE(teardown(folder_.path()));
  EXPECT_TRUE(teardown(folder_.path() + "/no/such"));
}

}  // namespace
}  // namespace gangway::agent::oci
