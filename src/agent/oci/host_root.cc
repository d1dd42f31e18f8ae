#include "agent/oci/host_root.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <set>

#include "sys/file_descriptor.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway::agent::oci {
namespace {

using sys::file_error;

// /tmp and /run are a system's present, not a part of it: an image would not have their content either.
constexpr std::string_view kHidden[] = {
    "/root",         "/home",           "/etc/ssh", "/etc/shadow", "/etc/shadow-", "/etc/gshadow",
    "/etc/gshadow-", "/etc/kubernetes", "/tmp",     "/var/tmp",    "/run",
};

constexpr std::string_view kSystemFolders[] = {"/usr", "/opt",  "/etc", "/var",  "/srv",
                                               "/bin", "/sbin", "/lib", "/lib64"};

// The folder of the overlay's upper layer stands for the machine's, so it must look like it.
Result<void> copy_folder(const std::string& upper, const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return file_error("look at", path);
  const std::string copy = upper + path;
  if (::mkdir(copy.c_str(), 0700) != 0 && errno != EEXIST) return file_error("make the folder", copy);
  if (::chown(copy.c_str(), facts.st_uid, facts.st_gid) != 0) return file_error("give away", copy);
  if (::chmod(copy.c_str(), facts.st_mode & 07777) != 0) return file_error("set the mode of", copy);
  return {};
}

Result<void> copy_parents(const std::string& upper, const std::string& path) {
  for (auto end = path.find('/', 1); end != std::string::npos; end = path.find('/', end + 1)) {
    GW_CHECKED(copy_folder(upper, path.substr(0, end)));
  }
  return {};
}

Result<void> hide(const std::string& upper, const std::string& wanted) {
  // A link to a folder elsewhere (/home on another disk) is hidden where it leads.
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(wanted.c_str(), nullptr), &std::free);
  if (!real) return {};  // nothing there to hide
  const std::string path = real.get();
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0) return {};
  GW_CHECKED(copy_parents(upper, path));
  if (S_ISDIR(facts.st_mode)) {
    GW_CHECKED(copy_folder(upper, path));
    // The kernel then shows nothing of the layers below. Unlike a mount, no privilege inside takes this away.
    if (::setxattr((upper + path).c_str(), "trusted.overlay.opaque", "y", 1, 0) == 0) return {};
    return file_error("hide", path);
  }
  const sys::FileDescriptor blank(::open((upper + path).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!blank) return file_error("hide", path);
  return {};
}

// Its changes go where those of the root go; where the kernel refuses that, it can be read.
Result<void> add_system_mount(const ContainerFolders& folders, const std::string& path, std::size_t index) {
  const std::string own = folders.upper + "-" + std::to_string(index);
  const OverlayFolders layers{.lower = path, .upper = own + "/upper", .work = own + "/work"};
  GW_CHECKED(make_folders(layers.upper));
  GW_CHECKED(make_folders(layers.work));
  const std::string target = folders.root + path;
  if (mount_overlay(layers, target)) return {};
  GW_CHECKED(mount_bind(path, target));
  if (::mount(nullptr, target.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0) return {};
  return file_error("protect", target);
}

}  // namespace

std::vector<std::string> hidden_paths(const std::string& data_dir) {
  std::set<std::string> wanted(std::begin(kHidden), std::end(kHidden));
  wanted.insert(data_dir);
  std::vector<std::string> result;
  for (const auto& path : wanted) {
    const bool inside = std::any_of(wanted.begin(), wanted.end(),
                                    [&](const auto& other) { return other != path && is_below(path, other); });
    if (!inside) result.push_back(path);
  }
  return result;
}

std::vector<std::string> system_mounts(const std::vector<MountPoint>& mounts) {
  static const std::set<std::string, std::less<>> kNotFiles{
      "proc",    "sysfs", "cgroup",  "cgroup2",     "devtmpfs",   "devpts",   "tmpfs",   "mqueue",
      "debugfs", "bpf",   "tracefs", "pstore",      "securityfs", "configfs", "fusectl", "hugetlbfs",
      "autofs",  "nsfs",  "ramfs",   "binfmt_misc", "rpc_pipefs", "efivarfs"};
  std::vector<std::string> result;
  for (const auto& mount : mounts) {
    const bool system = std::any_of(std::begin(kSystemFolders), std::end(kSystemFolders),
                                    [&](auto folder) { return is_below(mount.path, folder); });
    // Overlays are what containers and their like have mounted, not the system.
    if (!system || kNotFiles.contains(mount.type) || mount.type == "overlay") continue;
    if (std::find(result.begin(), result.end(), mount.path) == result.end()) result.push_back(mount.path);
  }
  return result;
}

Result<void> mount_host_root(const ContainerFolders& folders, const std::string& data_dir) {
  for (const auto& path : hidden_paths(data_dir)) GW_CHECKED(hide(folders.upper, path));
  GW_CHECKED(mount_overlay({.lower = "/", .upper = folders.upper, .work = folders.work}, folders.root));
  GW_TRY(const auto mounts, mounts_of_this_process());
  std::size_t index = 0;
  for (const auto& path : system_mounts(mounts)) {
    if (is_below(path, data_dir)) continue;
    struct stat facts{};
    if (::stat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) continue;
    auto added = add_system_mount(folders, path, index++);
    if (!added)
      sys::log_warning("a file system of the node is missing in a container",
                       {{"path", path}, {"error", added.error().message}});
  }
  return {};
}

}  // namespace gangway::agent::oci
