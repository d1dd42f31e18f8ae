#include "agent/network/netns.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "sys/descriptor.h"

namespace gangway::agent {

namespace fs = std::filesystem;

Result<void> make_namespace_file(const std::string& path) {
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  sys::Descriptor file(::open(path.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
  if (!file) return internal_error(fmt::format("cannot make {}: {}", path, std::strerror(errno)));
  return {};
}

sys::Command make_namespace_command(const std::string& path) {
  return {.argv = {"unshare", "--net=" + path, "ip", "link", "set", "lo", "up"}};
}

sys::Command in_namespace(const std::string& path, std::vector<std::string> argv, std::string input) {
  argv.insert(argv.begin(), {"nsenter", "--net=" + path});
  return {.argv = std::move(argv), .input = std::move(input)};
}

bool is_namespace(const std::string& path) {
  struct statfs about{};
  return ::statfs(path.c_str(), &about) == 0 && about.f_type == NSFS_MAGIC;
}

Result<void> remove_namespace(const std::string& path) {
  // Another process may have bound it once more; every one must go before the file can.
  while (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) {
  }
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return internal_error(fmt::format("cannot remove {}: {}", path, std::strerror(errno)));
}

std::vector<std::string> pod_namespaces(const NetworkLayout& layout) {
  std::vector<std::string> uids;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(layout.netns_root, error)) {
    auto name = entry.path().filename().string();
    if (name.starts_with(layout.netns_prefix())) uids.push_back(name.substr(layout.netns_prefix().size()));
  }
  return uids;
}

}  // namespace gangway::agent
