// PolledWatches: the file descriptors and children that a test's loop watches. They are asked after, not waited for: a
// test has few of them. Belongs to the loop's thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "sys/event_loop.h"

namespace gangway::testing {

class PolledWatches {
 public:
  [[nodiscard]] std::unique_ptr<sys::Subscription> watch_fd(int fd, sys::EventLoop::FdEvent event, sys::Task on_ready);
  [[nodiscard]] std::unique_ptr<sys::Subscription> on_exit(pid_t pid, std::function<void(int)> on_exit);

  bool empty() const { return all_->fds.empty() && all_->children.empty(); }
  // What became ready since the last call. A watch that an earlier task of the same round ended does not run.
  std::vector<sys::Task> ready();

 private:
  struct Fd {
    int fd;
    short events;
    sys::Task on_ready;
  };
  struct Child {
    pid_t pid;
    std::function<void(int)> on_exit;
  };
  // Shared with the subscriptions, which may outlive the loop.
  struct All {
    std::map<std::uint64_t, Fd> fds;
    std::map<std::uint64_t, Child> children;
    std::uint64_t last = 0;
  };
  std::shared_ptr<All> all_ = std::make_shared<All>();
};

}  // namespace gangway::testing
