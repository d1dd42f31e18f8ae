#include "testing/polled_watches.h"

#include <poll.h>
#include <sys/wait.h>

#include <utility>

namespace gangway::testing {
namespace {

class WatchSubscription final : public sys::Subscription {
 public:
  explicit WatchSubscription(sys::Task end) : end_(std::move(end)) {}
  ~WatchSubscription() override { end_(); }

 private:
  sys::Task end_;
};

}  // namespace

std::unique_ptr<sys::Subscription> PolledWatches::watch_fd(int fd, sys::EventLoop::FdEvent event, sys::Task on_ready) {
  const auto id = ++all_->last;
  const auto events = static_cast<short>(event == sys::EventLoop::FdEvent::kReadable ? POLLIN : POLLOUT);
  all_->fds.emplace(id, Fd{fd, events, std::move(on_ready)});
  return std::make_unique<WatchSubscription>([all = all_, id] { all->fds.erase(id); });
}

std::unique_ptr<sys::Subscription> PolledWatches::on_exit(pid_t pid, std::function<void(int)> on_exit) {
  const auto id = ++all_->last;
  all_->children.emplace(id, Child{pid, std::move(on_exit)});
  return std::make_unique<WatchSubscription>([all = all_, id] { all->children.erase(id); });
}

std::vector<sys::Task> PolledWatches::ready() {
  std::vector<sys::Task> tasks;
  for (const auto& [id, fd] : all_->fds) {
    pollfd asked{.fd = fd.fd, .events = fd.events, .revents = 0};
    if (::poll(&asked, 1, 0) != 1) continue;
    tasks.push_back([all = all_, watch = id] {
      auto at = all->fds.find(watch);
      if (at == all->fds.end()) return;
      auto task = at->second.on_ready;
      task();
    });
  }
  for (const auto& [id, child] : all_->children) {
    int status = 0;
    if (::waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
    tasks.push_back([all = all_, watch = id, status] {
      auto node = all->children.extract(watch);
      if (!node.empty()) node.mapped().on_exit(status);
    });
  }
  return tasks;
}

}  // namespace gangway::testing
