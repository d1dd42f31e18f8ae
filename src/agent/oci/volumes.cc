#include "agent/oci/volumes.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <set>

#include "agent/oci/mounts.h"
#include "base/quote.h"
#include "sys/entropy.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

using sys::file_error;
using sys::FileDescriptor;

constexpr std::string_view kData = "..data";
// Objects are at most a few MiB; a projected volume may join several.
constexpr std::int64_t kFilesInMemoryBytes = std::int64_t{64} << 20;

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  if (!open) return names;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace(name);
  }
  return names;
}

Result<std::vector<std::string>> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    GW_CHECKED(check_path_part("the file's name", parts.back()));
    at = end + 1;
  }
  if (parts.front().starts_with("..")) return bad_request("file " + quoted(path) + " must not start with '..'");
  return parts;
}

// The group may read what is its own, and what is made in its folders belongs to it.
void give_to(const std::string& path, std::optional<gid_t> group, mode_t mode, bool folder) {
  if (group && ::lchown(path.c_str(), static_cast<uid_t>(-1), *group) == 0) mode |= folder ? 02750 : 0440;
  ::chmod(path.c_str(), mode);
}

Result<void> write_files(const std::string& folder, const FilesVolume& volume) {
  give_to(folder, volume.group, 0755, true);
  for (const auto& file : volume.files) {
    GW_TRY(const auto parts, parts_of(file.path));
    std::string at = folder;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      at += "/" + parts[i];
      if (::mkdir(at.c_str(), 0755) == 0) {
        give_to(at, volume.group, 0755, true);
      } else if (errno != EEXIST) {
        return file_error("make the folder", at);
      }
    }
    at += "/" + parts.back();
    GW_CHECKED(replace_file(at, file.content, file.mode));
    give_to(at, volume.group, file.mode, false);
  }
  return {};
}

Result<void> replace_link(const std::string& target, const std::string& path) {
  const std::string fresh = path + "_tmp";
  ::unlink(fresh.c_str());
  if (::symlink(target.c_str(), fresh.c_str()) != 0) return file_error("make the link", fresh);
  if (::rename(fresh.c_str(), path.c_str()) != 0) return file_error("replace the link", path);
  return {};
}

Result<void> show_files(const std::string& folder, const FilesVolume& volume) {
  std::set<std::string> shown;
  for (const auto& file : volume.files) shown.insert(file.path.substr(0, file.path.find('/')));
  const auto there = names_in(folder);
  for (const auto& name : shown) {
    if (!there.contains(name)) GW_CHECKED(replace_link(std::string(kData) + "/" + name, folder + "/" + name));
  }
  for (const auto& name : there) {
    if (!name.starts_with("..") && !shown.contains(name)) ::unlink((folder + "/" + name).c_str());
  }
  return {};
}

Result<void> prepare(const std::string& folder, const FilesVolume& volume) {
  GW_CHECKED(make_folders(folder));
  if (volume.in_memory && !is_mount_point(folder)) GW_CHECKED(mount_tmpfs(folder, kFilesInMemoryBytes, 0755));
  give_to(folder, volume.group, 0755, true);
  // A name of its own each time: what is half written after a crash is nobody's target.
  const std::string version = "..v_" + sys::name_suffix(sys::system_entropy(), 12);
  if (::mkdir((folder + "/" + version).c_str(), 0755) != 0)
    return file_error("make the folder", folder + "/" + version);
  auto written = write_files(folder + "/" + version, volume);
  if (!written) {
    static_cast<void>(remove_tree(folder + "/" + version));
    return written;
  }
  GW_CHECKED(replace_link(version, folder + "/" + std::string(kData)));
  GW_CHECKED(show_files(folder, volume));
  for (const auto& name : names_in(folder)) {
    if (name.starts_with("..v_") && name != version) GW_CHECKED(remove_tree(folder + "/" + name));
  }
  return {};
}

Result<void> prepare(const std::string& folder, const EmptyVolume& volume) {
  GW_CHECKED(make_folders(folder));
  if (volume.in_memory && !is_mount_point(folder)) GW_CHECKED(mount_tmpfs(folder, volume.size_limit_bytes, 0777));
  give_to(folder, volume.group, 0777, true);
  return {};
}

struct TypeRule {
  HostPathType type;
  mode_t format;
  std::string_view noun;
};
constexpr TypeRule kTypes[] = {
    {HostPathType::kDirectory, S_IFDIR, "directory"},
    {HostPathType::kDirectoryOrCreate, S_IFDIR, "directory"},
    {HostPathType::kFile, S_IFREG, "file"},
    {HostPathType::kFileOrCreate, S_IFREG, "file"},
    {HostPathType::kSocket, S_IFSOCK, "socket file"},
    {HostPathType::kCharDevice, S_IFCHR, "character device"},
    {HostPathType::kBlockDevice, S_IFBLK, "block device"},
};

Result<void> check_host_path(const HostVolume& volume) {
  struct stat facts{};
  const bool exists = ::stat(volume.path.c_str(), &facts) == 0;
  if (!exists && (volume.type == HostPathType::kAny || volume.type == HostPathType::kDirectoryOrCreate)) {
    return make_folders(volume.path);
  }
  if (!exists && volume.type == HostPathType::kFileOrCreate) {
    const FileDescriptor made(::open(volume.path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    return made ? Result<void>{} : Result<void>(file_error("create", volume.path));
  }
  const auto* rule =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& r) { return r.type == volume.type; });
  if (rule == std::end(kTypes) || (exists && (facts.st_mode & S_IFMT) == rule->format)) return {};
  return bad_request(fmt::format("hostPath type check failed: {} is not a {}", volume.path, rule->noun));
}

Result<void> prepare(const std::string& link, const HostVolume& volume) {
  if (!volume.path.starts_with('/')) return bad_request("hostPath " + quoted(volume.path) + " is not absolute");
  GW_CHECKED(check_host_path(volume));
  return replace_link(volume.path, link);
}

}  // namespace

Result<void> prepare_volume(const Layout& layout, const VolumeSpec& spec) {
  GW_CHECKED(check_path_part("the pod's uid", spec.pod_uid));
  GW_CHECKED(check_path_part("the volume's name", spec.name));
  GW_CHECKED(make_folders(layout.pod(spec.pod_uid) + "/volumes"));
  const std::string path = layout.volume(spec.pod_uid, spec.name);
  return std::visit([&](const auto& content) { return prepare(path, content); }, spec.content);
}

Result<std::string> mount_source(const Layout& layout, const std::string& pod_uid, const VolumeMount& mount,
                                 const std::string& stage) {
  GW_CHECKED(check_path_part("the volume's name", mount.volume));
  std::string source = layout.volume(pod_uid, mount.volume);
  char target[PATH_MAX];
  const ssize_t length = ::readlink(source.c_str(), target, sizeof target);
  if (length > 0) source.assign(target, static_cast<std::size_t>(length));
  if (length < 0 && errno != EINVAL) return file_error("find the volume", source);
  if (mount.sub_path.empty()) return source;
  GW_TRY(const auto found, open_beneath(source, mount.sub_path));
  GW_CHECKED(bind_descriptor(found, stage));
  return stage;
}

Result<void> remove_volumes(const Layout& layout, const std::string& pod_uid) {
  GW_CHECKED(check_path_part("the pod's uid", pod_uid));
  const std::string folder = layout.pod(pod_uid) + "/volumes";
  GW_CHECKED(unmount_below(folder));
  return remove_tree(folder);
}

}  // namespace gangway::agent::oci
