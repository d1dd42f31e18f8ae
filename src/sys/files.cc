#include "sys/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sys/entropy.h"
#include "sys/file_descriptor.h"

namespace gangway::sys {

Error file_error(std::string_view what, const std::string& path) {
  const int code = errno;
  Error error = internal_error("cannot " + std::string(what) + " " + path + ": " + std::strerror(code));
  if (code == ENOENT) error.reason = Reason::kNotFound;
  return error;
}

namespace {

Result<void> write_all(int fd, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return file_error("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> write_new(const std::string& path, std::string_view bytes, mode_t mode) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file.get() < 0) return file_error("create", path);
  // The mode given to open() is cut by the umask.
  if (::fchmod(file.get(), mode) != 0) return file_error("set the mode of", path);
  GW_CHECKED(write_all(file.get(), bytes, path));
  if (::fsync(file.get()) != 0) return file_error("sync", path);
  return {};
}

Result<void> sync_folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  const FileDescriptor dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (dir.get() < 0) return file_error("open", folder);
  if (::fsync(dir.get()) != 0) return file_error("sync", folder);
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return file_error("open", path);
  std::string bytes;
  char block[16384];
  for (;;) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return file_error("read", path);
    if (got == 0) return bytes;
    bytes.append(block, static_cast<std::size_t>(got));
  }
}

Result<void> atomic_write(const std::string& path, std::string_view bytes, mode_t mode) {
  const std::string fresh = path + ".new-" + name_suffix(system_entropy(), 8);
  auto written = write_new(fresh, bytes, mode);
  if (written && ::rename(fresh.c_str(), path.c_str()) != 0) written = file_error("replace", path);
  if (!written) {
    ::unlink(fresh.c_str());
    return written;
  }
  return sync_folder_of(path);
}

}  // namespace gangway::sys
