#include "agent/oci/volumes.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "agent/oci/mounts.h"
#include "agent/oci/test_folder.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

class VolumesTest : public ::testing::Test {
 protected:
  std::string volume(const std::string& name) const { return layout_.volume("uid", name); }
  Result<void> prepare(const std::string& name, VolumeContent content) {
    return prepare_volume(layout_, {.pod_uid = "uid", .name = name, .content = std::move(content)});
  }
  std::string text(const std::string& path) const { return sys::read_file(path).value_or("(nothing)"); }
  static mode_t mode(const std::string& path) {
    struct stat facts{};
    return ::stat(path.c_str(), &facts) == 0 ? facts.st_mode & 07777 : 0;
  }

  TestFolder folder_;
  Layout layout_{folder_.path() + "/data"};
};

TEST_F(VolumesTest, FilesHaveTheirContentModeAndFolders) {
  ASSERT_TRUE(prepare("config", FilesVolume{.files = {{"a", "one", 0640}, {"dir/b", "two", 0600}}}));
  EXPECT_EQ(text(volume("config") + "/a"), "one");
  EXPECT_EQ(text(volume("config") + "/dir/b"), "two");
  EXPECT_EQ(mode(volume("config") + "/a"), 0640U);
  EXPECT_EQ(fs::read_symlink(volume("config") + "/a"), "..data/a");
}

TEST_F(VolumesTest, FilesAreReplacedAllAtOnce) {
  ASSERT_TRUE(prepare("config", FilesVolume{.files = {{"a", "0"}, {"b", "0"}, {"old", "x"}}}));
  // One look at ..data is one version: both files read through the same folder are equal at all times.
  std::atomic<bool> stop = false;
  std::atomic<int> mixed = 0;
  std::thread reader([&] {
    while (!stop) {
      const auto version = fs::read_symlink(volume("config") + "/..data").string();
      const auto a = sys::read_file(volume("config") + "/" + version + "/a");
      const auto b = sys::read_file(volume("config") + "/" + version + "/b");
      if (a && b && *a != *b) ++mixed;
    }
  });
  for (int i = 1; i <= 200; ++i) {
    const auto value = std::to_string(i);
    ASSERT_TRUE(prepare("config", FilesVolume{.files = {{"a", value}, {"b", value}}}));
  }
  stop = true;
  reader.join();
  EXPECT_EQ(mixed, 0);
  EXPECT_EQ(text(volume("config") + "/a"), "200");
  EXPECT_FALSE(fs::is_symlink(volume("config") + "/old"));
  // The two links, ..data and the one folder it shows.
  EXPECT_EQ(std::distance(fs::directory_iterator(volume("config")), fs::directory_iterator()), 4);
}

TEST_F(VolumesTest, FilesCannotBePutElsewhere) {
  for (const auto* path : {"../x", "a/../../x", "/x", "", "a//b", "..x"}) {
    EXPECT_FALSE(prepare("config", FilesVolume{.files = {{path, "x"}}})) << path;
  }
  EXPECT_FALSE(prepare("../config", FilesVolume{}));
  EXPECT_FALSE(prepare_volume(layout_, {.pod_uid = "..", .name = "v", .content = EmptyVolume{}}));
}

TEST_F(VolumesTest, SecretsStayInMemoryAndBelongToTheGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  ASSERT_TRUE(prepare("secret", FilesVolume{.files = {{"key", "s3cret", 0400}}, .in_memory = true, .group = 2000}));
  EXPECT_TRUE(is_mount_point(volume("secret")));
  EXPECT_EQ(text(volume("secret") + "/key"), "s3cret");
  struct stat facts{};
  ASSERT_EQ(::stat((volume("secret") + "/key").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_gid, 2000U);
  EXPECT_EQ(facts.st_mode & 0777U, 0440U);
  ASSERT_TRUE(prepare("secret", FilesVolume{.files = {{"key", "new"}}, .in_memory = true}));
  EXPECT_EQ(text(volume("secret") + "/key"), "new");
  ASSERT_TRUE(remove_volumes(layout_, "uid"));
  EXPECT_FALSE(fs::exists(volume("secret")));
}

TEST_F(VolumesTest, AnEmptyFolderKeepsWhatIsInItWhenItIsPreparedAgain) {
  ASSERT_TRUE(prepare("scratch", EmptyVolume{}));
  EXPECT_EQ(mode(volume("scratch")), 0777U);
  std::ofstream(volume("scratch") + "/file") << "kept";
  ASSERT_TRUE(prepare("scratch", EmptyVolume{}));
  EXPECT_EQ(text(volume("scratch") + "/file"), "kept");
}

TEST_F(VolumesTest, AFolderInMemoryHasItsSize) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  ASSERT_TRUE(prepare("shm", EmptyVolume{.in_memory = true, .size_limit_bytes = 1 << 20, .group = 2000}));
  ASSERT_TRUE(prepare("shm", EmptyVolume{.in_memory = true, .size_limit_bytes = 1 << 20, .group = 2000}));
  EXPECT_EQ(fs::space(volume("shm")).capacity, std::uintmax_t{1} << 20);
  EXPECT_EQ(mode(volume("shm")), 02777U);
}

TEST_F(VolumesTest, HostPathsAreCheckedAndMade) {
  const std::string host = folder_.path() + "/host";
  fs::create_directories(host);
  std::ofstream(host + "/file") << "x";
  EXPECT_TRUE(prepare("v", HostVolume{host, HostPathType::kDirectory}));
  EXPECT_TRUE(prepare("v", HostVolume{host + "/file", HostPathType::kFile}));
  EXPECT_TRUE(prepare("v", HostVolume{host + "/made/here", HostPathType::kDirectoryOrCreate}));
  EXPECT_TRUE(fs::is_directory(host + "/made/here"));
  EXPECT_TRUE(prepare("v", HostVolume{host + "/new", HostPathType::kFileOrCreate}));
  EXPECT_TRUE(fs::is_regular_file(host + "/new"));
  EXPECT_TRUE(prepare("v", HostVolume{host + "/any", HostPathType::kAny}));
  EXPECT_TRUE(fs::is_directory(host + "/any"));
  EXPECT_TRUE(prepare("v", HostVolume{"/dev/null", HostPathType::kCharDevice}));
  for (const auto& [bad, noun] : {std::pair(HostVolume{host + "/file", HostPathType::kDirectory}, "directory"),
                                  std::pair(HostVolume{host, HostPathType::kFileOrCreate}, "file"),
                                  std::pair(HostVolume{host + "/none", HostPathType::kDirectory}, "directory"),
                                  std::pair(HostVolume{host + "/file", HostPathType::kSocket}, "socket file")}) {
    const auto made = prepare("v", bad);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().message, "hostPath type check failed: " + bad.path + " is not a " + noun);
  }
  EXPECT_FALSE(prepare("v", HostVolume{"relative", HostPathType::kAny}));
}

TEST_F(VolumesTest, RemovingVolumesLeavesTheMachineAlone) {
  const std::string host = folder_.path() + "/host";
  fs::create_directories(host + "/inner");
  std::ofstream(host + "/inner/precious") << "x";
  ASSERT_TRUE(prepare("host", HostVolume{host, HostPathType::kDirectory}));
  ASSERT_TRUE(prepare("scratch", EmptyVolume{}));
  fs::create_directory_symlink(host, volume("scratch") + "/link");
  ASSERT_TRUE(remove_volumes(layout_, "uid"));
  EXPECT_FALSE(fs::exists(volume("scratch")));
  EXPECT_TRUE(fs::exists(host + "/inner/precious"));
  EXPECT_TRUE(remove_volumes(layout_, "uid")) << "what is gone is gone";
}

TEST_F(VolumesTest, MountsShowTheVolumeOrAPartOfIt) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  const std::string host = folder_.path() + "/host";
  fs::create_directories(host);
  ASSERT_TRUE(prepare("host", HostVolume{host, HostPathType::kDirectory}));
  ASSERT_TRUE(prepare("scratch", EmptyVolume{}));
  ASSERT_TRUE(prepare("config", FilesVolume{.files = {{"a", "one"}}}));
  const std::string stage = folder_.path() + "/stage";
  fs::create_directories(stage);
  const auto source = [&](const std::string& name, const std::string& sub, const std::string& at) {
    return mount_source(layout_, "uid", {.volume = name, .sub_path = sub, .target = "/t"}, stage + "/" + at);
  };
  EXPECT_EQ(source("host", "", "0").value_or(""), host);
  EXPECT_EQ(source("scratch", "", "1").value_or(""), volume("scratch"));
  ASSERT_TRUE(source("scratch", "sub/dir", "2"));
  std::ofstream(stage + "/2/file") << "x";
  EXPECT_EQ(text(volume("scratch") + "/sub/dir/file"), "x");
  ASSERT_TRUE(source("config", "a", "3"));
  EXPECT_EQ(text(stage + "/3"), "one");

  fs::create_directory_symlink("/etc", volume("scratch") + "/escape");
  const auto escaped = source("scratch", "escape", "4");
  ASSERT_FALSE(escaped);
  EXPECT_EQ(escaped.error().message, "subPath \"escape\" leads out of its volume");
  EXPECT_FALSE(source("unknown", "", "5"));
}

}  // namespace
}  // namespace gangway::agent::oci
