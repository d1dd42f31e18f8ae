#include "agent/oci/mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/quote.h"
#include "sys/entropy.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

using sys::file_error;
using sys::FileDescriptor;

// "\040" is how the kernel writes a space.
std::string unescaped(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(by), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

int open_resolving(int folder, const std::string& path, std::uint64_t flags, std::uint64_t resolve) {
  open_how how{.flags = flags | O_CLOEXEC, .mode = 0, .resolve = resolve};
  return static_cast<int>(::syscall(SYS_openat2, folder, path.c_str(), &how, sizeof how));
}

}  // namespace

std::vector<MountPoint> parse_mountinfo(std::string_view text) {
  std::vector<MountPoint> mounts;
  for (const auto line : split(text, '\n')) {
    // 36 35 98:0 /root /mount-point options optional-fields... - type source super-options
    const auto fields = split(line, ' ');
    const auto dash = std::find(fields.begin(), fields.end(), "-");
    if (fields.size() < 6 || fields.end() - dash < 4) continue;
    mounts.push_back({.path = unescaped(fields[4]), .type = std::string(dash[1]), .options = std::string(dash[3])});
  }
  return mounts;
}

Result<std::vector<MountPoint>> mounts_of_this_process() {
  GW_TRY(const auto text, sys::read_file("/proc/self/mountinfo"));
  return parse_mountinfo(text);
}

bool is_below(std::string_view path, std::string_view folder) {
  if (folder == "/") return true;
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

Result<void> make_folders(const std::string& path, mode_t mode) {
  for (std::size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at);
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), mode) != 0 && errno != EEXIST) return file_error("make the folder", part);
    if (at != std::string::npos) ++at;
  }
  return {};
}

Result<void> replace_file(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string fresh = path + ".new-" + sys::name_suffix(sys::system_entropy(), 8);
  {
    const FileDescriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!file) return file_error("create", fresh);
    ::fchmod(file.get(), mode);
    while (!bytes.empty()) {
      const ssize_t written = ::write(file.get(), bytes.data(), bytes.size());
      if (written < 0) return file_error("write", fresh);
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  if (::rename(fresh.c_str(), path.c_str()) == 0) return {};
  auto error = file_error("replace", path);
  ::unlink(fresh.c_str());
  return error;
}

Result<void> mount_overlay(const OverlayFolders& folders, const std::string& target) {
  // A comma or colon in a path would end the option; the kernel takes a backslash before it.
  const auto escaped = [](const std::string& path) {
    std::string result;
    for (const char c : path) {
      if (c == ',' || c == ':' || c == '\\') result += '\\';
      result += c;
    }
    return result;
  };
  const std::string options = "lowerdir=" + escaped(folders.lower) + ",upperdir=" + escaped(folders.upper) +
                              ",workdir=" + escaped(folders.work);
  if (::mount("overlay", target.c_str(), "overlay", 0, options.c_str()) != 0) {
    return file_error("mount an overlay at", target);
  }
  // What other namespaces do to their copies must not come back.
  ::mount(nullptr, target.c_str(), nullptr, MS_PRIVATE, nullptr);
  return {};
}

Result<void> mount_tmpfs(const std::string& target, std::int64_t size_bytes, mode_t mode) {
  char octal[8];
  std::snprintf(octal, sizeof octal, "%o", mode);
  std::string options = std::string("mode=") + octal;
  if (size_bytes > 0) options += ",size=" + std::to_string(size_bytes);
  if (::mount("tmpfs", target.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return file_error("mount a tmpfs at", target);
  }
  ::mount(nullptr, target.c_str(), nullptr, MS_PRIVATE, nullptr);
  return {};
}

Result<void> mount_bind(const std::string& source, const std::string& target) {
  if (::mount(source.c_str(), target.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    return file_error("bind " + source + " to", target);
  }
  ::mount(nullptr, target.c_str(), nullptr, MS_PRIVATE, nullptr);
  return {};
}

bool is_mount_point(const std::string& path) {
  struct statx facts{};
  if (::statx(AT_FDCWD, path.c_str(), AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &facts) != 0) return false;
  return (facts.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

Result<FileDescriptor> open_in_root(const std::string& root, std::string_view path) {
  const FileDescriptor folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return file_error("open", root);
  FileDescriptor found(
      open_resolving(folder.get(), std::string(path), O_PATH, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS));
  if (!found) return file_error("open", std::string(path));
  return found;
}

Result<FileDescriptor> open_beneath(const std::string& folder, std::string_view sub_path) {
  constexpr std::uint64_t kResolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  FileDescriptor at(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at) return file_error("open", folder);
  const std::string path(sub_path);
  FileDescriptor found(open_resolving(at.get(), path, O_PATH, kResolve));
  // Steps are made from the folder's own descriptor each time, so that a link put there meanwhile leads nowhere.
  for (std::size_t end = 0; !found && errno == ENOENT && end != std::string::npos;) {
    end = path.find('/', end + 1);
    const std::string parent = path.substr(0, end);
    const auto slash = parent.rfind('/');
    const std::string above = slash == std::string::npos ? "." : parent.substr(0, slash);
    const std::string name = slash == std::string::npos ? parent : parent.substr(slash + 1);
    const FileDescriptor base(open_resolving(at.get(), above, O_PATH | O_DIRECTORY, kResolve));
    if (base && !name.empty() && name != "." && name != "..") ::mkdirat(base.get(), name.c_str(), 0755);
    found.reset(open_resolving(at.get(), path, O_PATH, kResolve));
  }
  if (found) return found;
  if (errno == EXDEV || errno == ELOOP) {
    return bad_request("subPath " + quoted(sub_path) + " leads out of its volume");
  }
  return file_error("open", folder + "/" + path);
}

Result<std::string> path_of(const FileDescriptor& file) {
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  char buffer[PATH_MAX];
  const ssize_t length = ::readlink(link.c_str(), buffer, sizeof buffer);
  if (length < 0) return file_error("read", link);
  return std::string(buffer, static_cast<std::size_t>(length));
}

Result<void> bind_descriptor(const FileDescriptor& source, const std::string& target) {
  struct stat facts{};
  if (::fstat(source.get(), &facts) != 0) return file_error("look at what goes to", target);
  if (S_ISDIR(facts.st_mode)) {
    GW_CHECKED(make_folders(target, 0700));
  } else {
    const FileDescriptor made(::open(target.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (!made) return file_error("create", target);
  }
  return mount_bind("/proc/self/fd/" + std::to_string(source.get()), target);
}

Result<void> unmount_below(const std::string& folder) {
  GW_TRY(const auto mounts, mounts_of_this_process());
  Result<void> worst;
  for (auto mount = mounts.rbegin(); mount != mounts.rend(); ++mount) {
    if (!is_below(mount->path, folder)) continue;
    // Busy ones go as soon as their last user does; nobody sees them any more.
    if (::umount2(mount->path.c_str(), UMOUNT_NOFOLLOW) == 0) continue;
    if (::umount2(mount->path.c_str(), UMOUNT_NOFOLLOW | MNT_DETACH) == 0 || errno == EINVAL || errno == ENOENT)
      continue;
    worst = file_error("unmount", mount->path);
  }
  return worst;
}

}  // namespace gangway::agent::oci
