#include "sys/process_end.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace gangway::sys {

FileDescriptor watch_process(pid_t pid) {
  return FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
}

bool ends_within(const FileDescriptor& process, int timeout_ms) {
  pollfd wait{process.get(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&wait, 1, timeout_ms);
  } while (ready < 0 && errno == EINTR);
  return ready == 1;
}

}  // namespace gangway::sys
