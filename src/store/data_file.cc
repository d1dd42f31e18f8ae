#include "store/data_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gangway::store {
namespace {

constexpr mode_t kPrivate = 0600;

Error failed(std::string_view what, const std::string& path) {
  const int code = errno;
  auto error = internal_error("cannot " + std::string(what) + " " + path + ": " + std::strerror(code));
  if (code == EEXIST) error.reason = Reason::kAlreadyExists;
  return error;
}

Result<void> sync_path(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
  if (fd < 0) return failed("open", path);
  const int synced = ::fsync(fd);
  auto result = synced == 0 ? Result<void>() : Result<void>(failed("sync", path));
  ::close(fd);
  return result;
}

// The process that wrote its number into the lock file, as far as that can be read.
std::string holder(int fd) {
  char digits[32] = {};
  const auto size = ::pread(fd, digits, sizeof digits - 1, 0);
  std::string text(digits, size > 0 ? static_cast<std::size_t>(size) : 0);
  text.erase(text.find_last_not_of(" \n") + 1);
  return text.empty() ? "another process" : "process " + text;
}

}  // namespace

bool file_exists(const std::string& path) {
  struct stat found{};
  return ::lstat(path.c_str(), &found) == 0;
}

std::string directory_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<void> create_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, kPrivate);
  if (fd < 0) return failed("create", path);
  ::close(fd);
  return {};
}

Result<void> make_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, kPrivate);
  if (fd < 0) return failed("open", path);
  const int changed = ::fchmod(fd, kPrivate);
  auto result = changed == 0 ? Result<void>() : Result<void>(failed("change the mode of", path));
  ::close(fd);
  return result;
}

Result<void> sync_file(const std::string& path) {
  return sync_path(path, O_RDONLY);
}

Result<void> sync_directory_of(const std::string& path) {
  return sync_path(directory_of(path), O_RDONLY | O_DIRECTORY);
}

Result<DataLock> DataLock::take(const std::string& path) {
  const auto file = path + ".lock";
  const int fd = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, kPrivate);
  if (fd < 0) return failed("open", file);
  DataLock lock(fd);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return failed("lock", file);
    return internal_error("data directory " + directory_of(path) + " is in use by " + holder(fd) +
                          "; stop it first, or choose another directory");
  }
  const auto pid = std::to_string(::getpid()) + "\n";
  const bool written = ::ftruncate(fd, 0) == 0 && ::pwrite(fd, pid.data(), pid.size(), 0) == std::ssize(pid);
  if (!written) return failed("write to", file);
  return lock;
}

DataLock::DataLock(DataLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

DataLock::~DataLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace gangway::store
