#include "agent/oci/host_root.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "agent/oci/test_folder.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

namespace fs = std::filesystem;

TEST(HostRoot, HidesTheDataDirectoryUnlessItIsHiddenAlready) {
  const auto has = [](const std::string& data_dir, const std::string& path) {
    const auto paths = hidden_paths(data_dir);
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  };
  EXPECT_TRUE(has("/srv/gangway", "/srv/gangway"));
  EXPECT_FALSE(has("/root/.local/share/gangway", "/root/.local/share/gangway"));
  for (const auto* path : {"/root", "/home", "/etc/shadow", "/etc/ssh"}) EXPECT_TRUE(has("/srv/gangway", path)) << path;
}

TEST(HostRoot, ShowsTheSystemsOwnFileSystemsOnly) {
  EXPECT_EQ(system_mounts({{"/", "ext4", "rw"},
                           {"/usr", "xfs", "rw"},
                           {"/proc", "proc", "rw"},
                           {"/var/lib/docker/overlay2/x/merged", "overlay", "rw"},
                           {"/var/lib/lxcfs", "tmpfs", "rw"},
                           {"/home", "ext4", "rw"},
                           {"/opt/nvidia", "ext4", "rw"},
                           {"/optional", "ext4", "rw"}}),
            (std::vector<std::string>{"/usr", "/opt/nvidia"}));
}

TEST(HostRoot, IsTheMachineWithoutWhatIsHidden) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting needs root";
  TestFolder folder;
  const ContainerFolders folders{
      .root = folder.path() + "/root", .upper = folder.path() + "/upper", .work = folder.path() + "/work"};
  for (const auto& path : {folders.root, folders.upper, folders.work}) fs::create_directories(path);
  const auto mounted = mount_host_root(folders, folder.path());
  ASSERT_TRUE(mounted) << mounted.error().message;
  EXPECT_TRUE(fs::exists(folders.root + "/bin/sh"));
  for (const auto* hidden : {"/root", "/home", "/tmp", "/etc/ssh"}) {
    if (!fs::exists(hidden)) continue;
    EXPECT_TRUE(fs::is_empty(folders.root + hidden)) << hidden;
  }
  EXPECT_EQ(sys::read_file(folders.root + "/etc/shadow").value_or("none"), "");
  EXPECT_FALSE(fs::exists(folders.root + folder.path()));

  struct stat own{};
  struct stat machine{};
  ASSERT_EQ(::stat((folders.root + "/tmp").c_str(), &own), 0);
  ASSERT_EQ(::stat("/tmp", &machine), 0);
  EXPECT_EQ(own.st_mode, machine.st_mode);

  std::ofstream(folders.root + "/tmp/own") << "x";
  std::ofstream(folders.root + "/etc/gangway-test") << "x";
  EXPECT_FALSE(fs::exists("/tmp/own"));
  EXPECT_FALSE(fs::exists("/etc/gangway-test"));
}

}  // namespace
}  // namespace gangway::agent::oci
