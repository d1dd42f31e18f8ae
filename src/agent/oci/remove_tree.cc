#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "agent/oci/mounts.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

using sys::file_error;
using sys::FileDescriptor;

// A folder of the same mount as its parent: no link is followed and no mount entered.
int open_own(int parent, const char* name) {
  open_how how{.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
               .mode = 0,
               .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV | RESOLVE_BENEATH};
  return static_cast<int>(::syscall(SYS_openat2, parent, name, &how, sizeof how));
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

Result<void> empty(FileDescriptor folder, const std::string& path);

Result<void> remove_entry(int parent, const dirent& entry, const std::string& path) {
  if (entry.d_type != DT_DIR && entry.d_type != DT_UNKNOWN) {
    if (::unlinkat(parent, entry.d_name, 0) == 0 || errno == ENOENT) return {};
    return file_error("delete", path);
  }
  if (entry.d_type == DT_UNKNOWN && ::unlinkat(parent, entry.d_name, 0) == 0) return {};
  FileDescriptor inner(open_own(parent, entry.d_name));
  if (!inner && errno == EXDEV) return internal_error("something is still mounted at " + path);
  if (!inner) return errno == ENOENT ? Result<void>{} : Result<void>(file_error("open", path));
  GW_CHECKED(empty(std::move(inner), path));
  if (::unlinkat(parent, entry.d_name, AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return file_error("delete", path);
}

Result<void> empty(FileDescriptor folder, const std::string& path) {
  const OpenFolder open(::fdopendir(folder.release()));
  if (!open) return file_error("read", path);
  Result<void> worst;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    auto removed = remove_entry(::dirfd(open.get()), *entry, path + "/" + std::string(name));
    if (!removed && worst) worst = std::move(removed);
  }
  return worst;
}

}  // namespace

Result<void> remove_tree(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string parent_path = slash == 0 ? "/" : path.substr(0, slash);
  const FileDescriptor parent(::open(parent_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!parent) return errno == ENOENT ? Result<void>{} : Result<void>(file_error("open", parent_path));
  dirent entry{};
  entry.d_type = DT_UNKNOWN;
  path.substr(slash + 1).copy(entry.d_name, sizeof entry.d_name - 1);
  return remove_entry(parent.get(), entry, path);
}

}  // namespace gangway::agent::oci
