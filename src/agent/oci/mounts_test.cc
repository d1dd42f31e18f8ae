#include "agent/oci/mounts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "agent/oci/test_folder.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

TEST(Mounts, ReadsWhatTheKernelWrites) {
  const auto mounts = parse_mountinfo(
      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
      "29 27 8:1 /sub /data\\040dir rw,noatime shared:1 master:2 - ext4 /dev/sda1 rw,discard\n"
      "broken line\n");
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].path, "/proc");
  EXPECT_EQ(mounts[0].type, "proc");
  EXPECT_EQ(mounts[1].path, "/data dir");
  EXPECT_EQ(mounts[1].type, "ext4");
  EXPECT_EQ(mounts[1].options, "rw,discard");
}

TEST(Mounts, BelowIsByFoldersNotByLetters) {
  EXPECT_TRUE(is_below("/a/b", "/a"));
  EXPECT_TRUE(is_below("/a", "/a"));
  EXPECT_FALSE(is_below("/ab", "/a"));
  EXPECT_TRUE(is_below("/a", "/"));
}

class FilesTest : public ::testing::Test {
 protected:
  void put(const std::string& path, const std::string& content = "x") {
    fs::create_directories(fs::path(at(path)).parent_path());
    std::ofstream(at(path)) << content;
  }
  std::string at(const std::string& path) const { return folder_.path() + "/" + path; }
  TestFolder folder_;
};

TEST_F(FilesTest, RemovesATreeButNotWhatItsLinksShow) {
  put("keep/file");
  put("tree/a/b/file");
  fs::create_directory_symlink(at("keep"), at("tree/a/link"));
  fs::create_symlink(at("keep/file"), at("tree/file-link"));
  ASSERT_TRUE(remove_tree(at("tree")));
  EXPECT_FALSE(fs::exists(at("tree")));
  EXPECT_TRUE(fs::exists(at("keep/file")));
  EXPECT_TRUE(remove_tree(at("tree"))) << "what is gone is gone";
  EXPECT_TRUE(remove_tree(at("no/such/parent")));
}

TEST_F(FilesTest, RemovesALinkGivenAsTheTree) {
  put("keep/file");
  fs::create_directory_symlink(at("keep"), at("link"));
  ASSERT_TRUE(remove_tree(at("link")));
  EXPECT_FALSE(fs::is_symlink(at("link")));
  EXPECT_TRUE(fs::exists(at("keep/file")));
}

TEST_F(FilesTest, NeverDeletesThroughAMount) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  put("host/precious");
  put("tree/a/own");
  fs::create_directories(at("tree/a/mounted"));
  ASSERT_TRUE(mount_bind(at("host"), at("tree/a/mounted")));
  const auto removed = remove_tree(at("tree"));
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().message, "something is still mounted at " + at("tree/a/mounted"));
  EXPECT_TRUE(fs::exists(at("host/precious")));
  ASSERT_TRUE(unmount_below(at("tree")));
  EXPECT_FALSE(is_mount_point(at("tree/a/mounted")));
  ASSERT_TRUE(remove_tree(at("tree")));
  EXPECT_TRUE(fs::exists(at("host/precious")));
}

TEST_F(FilesTest, SubPathsAreMadeAndStayInTheirVolume) {
  fs::create_directories(at("volume/inner"));
  fs::create_directories(at("outside"));
  fs::create_directory_symlink(at("outside"), at("volume/escape"));
  fs::create_directory_symlink("inner", at("volume/alias"));

  const auto made = open_beneath(at("volume"), "a/b/c");
  ASSERT_TRUE(made);
  EXPECT_EQ(path_of(*made).value_or(""), at("volume/a/b/c"));
  const auto through = open_beneath(at("volume"), "alias/deep");
  ASSERT_TRUE(through) << "a link that stays inside is fine";
  EXPECT_EQ(path_of(*through).value_or(""), at("volume/inner/deep"));

  for (const auto* bad : {"../outside", "a/../../outside", "escape", "escape/x", "/etc"}) {
    EXPECT_FALSE(open_beneath(at("volume"), bad)) << bad;
  }
  EXPECT_FALSE(fs::exists(at("outside/x")));
}

TEST_F(FilesTest, ARootIsAllThereIsForWhatIsInIt) {
  put("root/etc/passwd");
  fs::create_symlink("/etc/passwd", at("root/absolute"));
  fs::create_symlink("../../../../etc/passwd", at("root/upwards"));
  for (const auto* path : {"/etc/passwd", "absolute", "upwards", "../../etc/passwd"}) {
    const auto found = open_in_root(at("root"), path);
    ASSERT_TRUE(found) << path;
    EXPECT_EQ(path_of(*found).value_or(""), at("root/etc/passwd")) << path;
  }
  const auto missing = open_in_root(at("root"), "/etc/hosts");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().reason, Reason::kNotFound);
}

TEST_F(FilesTest, ReplacesAFileAsAWhole) {
  ASSERT_TRUE(replace_file(at("f"), "one", 0600));
  ASSERT_TRUE(replace_file(at("f"), "two", 0640));
  EXPECT_EQ(sys::read_file(at("f")).value_or(""), "two");
  EXPECT_EQ(fs::status(at("f")).permissions(), fs::perms(0640));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace gangway::agent::oci
