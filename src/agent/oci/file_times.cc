#include "agent/oci/file_times.h"

#include <fcntl.h>
#include <sys/stat.h>

namespace gangway::agent::oci {

using std::chrono::nanoseconds;
using std::chrono::seconds;

WallTime written_at(const struct stat& facts) {
  return WallTime(seconds(facts.st_mtim.tv_sec) + nanoseconds(facts.st_mtim.tv_nsec));
}

WallTime written_at(const std::string& path) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) == 0 ? written_at(facts) : WallTime();
}

void set_written_at(const std::string& path, WallTime at) {
  const auto whole = std::chrono::floor<seconds>(at);
  const timespec time{.tv_sec = whole.time_since_epoch().count(), .tv_nsec = nanoseconds(at - whole).count()};
  const timespec times[] = {time, time};
  ::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

}  // namespace gangway::agent::oci
