// Mounts of a machine, and trees of files: made, found and taken away without ever following a link or a mount out.
//
// Blocking; for worker threads and start-up. parse_mountinfo and below are pure.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sys/file_descriptor.h"

namespace gangway::agent::oci {

struct MountPoint {
  std::string path;
  std::string type;     // "ext4", "overlay", …
  std::string options;  // the file system's own: "rw,cpu,cpuacct"
};

// /proc/self/mountinfo, in its order: what was mounted later comes later.
std::vector<MountPoint> parse_mountinfo(std::string_view text);
Result<std::vector<MountPoint>> mounts_of_this_process();
// True for the folder itself and what is in it; "/a/b" is not below "/a/bc".
bool is_below(std::string_view path, std::string_view folder);

// ── making ──

// All folders on the way, as `mkdir -p`.
Result<void> make_folders(const std::string& path, mode_t mode = 0755);
// The whole content or what was there before. Not synced: after a power failure nothing it says is running any more.
Result<void> replace_file(const std::string& path, std::string_view bytes, mode_t mode = 0644);

struct OverlayFolders {
  std::string lower;
  std::string upper;
  std::string work;
};
Result<void> mount_overlay(const OverlayFolders& folders, const std::string& target);
// Zero bytes: the kernel's own limit.
Result<void> mount_tmpfs(const std::string& target, std::int64_t size_bytes, mode_t mode);
Result<void> mount_bind(const std::string& source, const std::string& target);
bool is_mount_point(const std::string& path);

// What `path` means inside of `root`, as an O_PATH descriptor: links are followed as if `root` were "/", and ".." ends
// there. Nothing is opened that the tree itself does not hold.
Result<sys::FileDescriptor> open_in_root(const std::string& root, std::string_view path);
// `sub_path` of `folder`, made if it is missing; an error if a link or ".." leads out.
Result<sys::FileDescriptor> open_beneath(const std::string& folder, std::string_view sub_path);
// The real path of an open file.
Result<std::string> path_of(const sys::FileDescriptor& file);
// Puts the open file or folder at `target` (made here: a file or a folder, as it is).
Result<void> bind_descriptor(const sys::FileDescriptor& source, const std::string& target);

// ── taking away ──

// Every mount at or below the folder, the last one first. What is busy is detached.
Result<void> unmount_below(const std::string& folder);
// Deletes the folder and everything in it. Links are deleted, not followed; a mount in it is an error before anything
// on it is touched. A folder that does not exist is a success.
Result<void> remove_tree(const std::string& path);

}  // namespace gangway::agent::oci
