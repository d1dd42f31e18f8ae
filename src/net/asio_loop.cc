#include "net/asio_loop.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "base/check.h"
#include "sys/log.h"

namespace gangway::net {
namespace {

namespace asio = boost::asio;
using sys::Lane;
using sys::Subscription;
using sys::Task;
using sys::TimerId;

void run_guarded(const Task& task) {
  try {
    task();
  } catch (const std::exception& e) {
    sys::log_error("event loop: a task failed and was dropped", {{"error", e.what()}});
  } catch (...) {
    sys::log_error("event loop: a task failed and was dropped");
  }
}

}  // namespace

class AsioLoop::Core {
 public:
  explicit Core(const sys::Clock& clock)
      : clock_(clock), context_(1), guard_(context_.get_executor()), alarm_(context_) {}
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void run() { context_.run(); }
  void stop() {
    stopped_.store(true, std::memory_order_relaxed);
    context_.stop();
  }
  void post(Lane lane, Task task);
  TimerId run_at(MonoTime when, Task task);
  void cancel(TimerId timer);
  std::unique_ptr<Subscription> watch(int fd, FdEvent event, Task on_ready);

 private:
  struct Descriptor;
  class Watch;
  using TimerKey = std::pair<MonoTime, std::uint64_t>;  // equal times run in the order they were set

  bool pop(Task& task);
  void drain();
  void set_alarm();
  void run_timers();
  void arm(const std::shared_ptr<Descriptor>& descriptor, std::size_t direction);
  void unwatch(Descriptor& descriptor, std::size_t direction);

  const sys::Clock& clock_;
  std::mutex mutex_;  // guards lanes_ and draining_
  std::array<std::deque<Task>, 2> lanes_;
  bool draining_ = false;
  std::atomic<bool> stopped_{false};

  std::map<TimerKey, Task> timers_;
  std::unordered_map<std::uint64_t, MonoTime> timer_times_;
  std::uint64_t last_timer_ = 0;
  std::unordered_map<int, std::shared_ptr<Descriptor>> descriptors_;

  // Destroyed first, while what its handlers touch is still there.
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  asio::steady_timer alarm_;
};

// One registered file descriptor. Asio allows a descriptor in its reactor only once, so both directions share this.
struct AsioLoop::Core::Descriptor {
  Descriptor(asio::io_context& context, int fd_number) : fd(fd_number), handle(context, fd_number) {}
  int fd;
  asio::posix::stream_descriptor handle;
  std::array<std::shared_ptr<Task>, 2> on_ready;
  std::array<bool, 2> armed{false, false};
};

class AsioLoop::Core::Watch final : public Subscription {
 public:
  Watch(Core& core, std::shared_ptr<Descriptor> descriptor, std::size_t direction)
      : core_(core), descriptor_(std::move(descriptor)), direction_(direction) {}
  ~Watch() override { core_.unwatch(*descriptor_, direction_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  Core& core_;
  std::shared_ptr<Descriptor> descriptor_;
  std::size_t direction_;
};

AsioLoop::Core::~Core() {
  // A dropped task may own subscriptions, or post more from its captures' destructors.
  for (bool more = true; more;) {
    std::array<std::deque<Task>, 2> dropped;
    {
      const std::scoped_lock lock(mutex_);
      draining_ = true;
      dropped.swap(lanes_);
    }
    auto timers = std::exchange(timers_, {});
    timer_times_.clear();
    more = !dropped[0].empty() || !dropped[1].empty() || !timers.empty();
  }
  // Asio would close the descriptors, which are not ours.
  for (const auto& [fd, descriptor] : descriptors_) descriptor->handle.release();
}

void AsioLoop::Core::post(Lane lane, Task task) {
  {
    const std::scoped_lock lock(mutex_);
    lanes_[static_cast<std::size_t>(lane)].push_back(std::move(task));
    if (std::exchange(draining_, true)) return;
  }
  asio::post(context_, [this] { drain(); });
}

bool AsioLoop::Core::pop(Task& task) {
  const std::scoped_lock lock(mutex_);
  for (auto& lane : lanes_) {
    if (lane.empty()) continue;
    task = std::move(lane.front());
    lane.pop_front();
    return true;
  }
  draining_ = false;
  return false;
}

void AsioLoop::Core::drain() {
  // A flood of tasks must not keep timers and descriptors waiting.
  constexpr int kTurn = 64;
  for (int i = 0; i < kTurn; ++i) {
    if (stopped_.load(std::memory_order_relaxed)) return;
    Task task;
    if (!pop(task)) return;
    run_guarded(task);
  }
  asio::post(context_, [this] { drain(); });
}

TimerId AsioLoop::Core::run_at(MonoTime when, Task task) {
  const std::uint64_t id = ++last_timer_;
  const auto [at, inserted] = timers_.emplace(TimerKey{when, id}, std::move(task));
  timer_times_.emplace(id, when);
  if (at == timers_.begin()) set_alarm();
  return TimerId{id};
}

void AsioLoop::Core::cancel(TimerId timer) {
  const auto known = timer_times_.find(static_cast<std::uint64_t>(timer));
  if (known == timer_times_.end()) return;
  const auto dropped = timers_.extract(TimerKey{known->second, known->first});
  timer_times_.erase(known);
}

void AsioLoop::Core::set_alarm() {
  if (timers_.empty()) return;
  alarm_.expires_after(timers_.begin()->first.first - clock_.mono());
  alarm_.async_wait([this](const boost::system::error_code& error) {
    if (!error) run_timers();
  });
}

void AsioLoop::Core::run_timers() {
  // Timers set by these tasks wait for the next round, so a timer that sets itself cannot hold the loop.
  const TimerKey due{clock_.mono(), last_timer_};
  while (!timers_.empty() && timers_.begin()->first <= due) {
    if (stopped_.load(std::memory_order_relaxed)) return;
    const auto timer = timers_.extract(timers_.begin());
    timer_times_.erase(timer.key().second);
    run_guarded(timer.mapped());
  }
  set_alarm();
}

std::unique_ptr<Subscription> AsioLoop::Core::watch(int fd, FdEvent event, Task on_ready) {
  auto& descriptor = descriptors_[fd];
  if (!descriptor) descriptor = std::make_shared<Descriptor>(context_, fd);
  const auto direction = static_cast<std::size_t>(event);
  GW_CHECK(!descriptor->on_ready[direction]);
  descriptor->on_ready[direction] = std::make_shared<Task>(std::move(on_ready));
  arm(descriptor, direction);
  return std::make_unique<Watch>(*this, descriptor, direction);
}

void AsioLoop::Core::arm(const std::shared_ptr<Descriptor>& descriptor, std::size_t direction) {
  if (std::exchange(descriptor->armed[direction], true)) return;
  const auto what = direction == static_cast<std::size_t>(FdEvent::kReadable)
                        ? asio::posix::descriptor_base::wait_read
                        : asio::posix::descriptor_base::wait_write;
  descriptor->handle.async_wait(what, [this, descriptor, direction](const boost::system::error_code& error) {
    descriptor->armed[direction] = false;
    if (error == asio::error::operation_aborted) return;
    // The task may end its own watch, and must outlive that.
    const std::shared_ptr<Task> on_ready = descriptor->on_ready[direction];
    if (!on_ready || stopped_.load(std::memory_order_relaxed)) return;
    run_guarded(*on_ready);
    if (descriptor->on_ready[direction]) arm(descriptor, direction);
  });
}

void AsioLoop::Core::unwatch(Descriptor& descriptor, std::size_t direction) {
  const std::shared_ptr<Task> dropped = std::move(descriptor.on_ready[direction]);
  if (descriptor.on_ready[0] || descriptor.on_ready[1]) return;
  // The owner may close the descriptor from here on, and the number may come back for another file.
  descriptors_.erase(descriptor.fd);
  descriptor.handle.release();
}

namespace {

// The end of a child, through its pidfd: no signal handler, and no other child's status is taken.
class ChildExit final : public Subscription {
 public:
  explicit ChildExit(int pidfd) : pidfd_(pidfd) {}
  ~ChildExit() override {
    watch_.reset();
    if (pidfd_ >= 0) ::close(pidfd_);
  }
  ChildExit(const ChildExit&) = delete;
  ChildExit& operator=(const ChildExit&) = delete;
  void keep(std::unique_ptr<Subscription> watch) { watch_ = std::move(watch); }
  void end_watch() { watch_.reset(); }

 private:
  int pidfd_;
  std::unique_ptr<Subscription> watch_;
};

}  // namespace

AsioLoop::AsioLoop(const sys::Clock& clock) : clock_(clock), core_(std::make_unique<Core>(clock)) {}
AsioLoop::~AsioLoop() = default;

void AsioLoop::run() {
  core_->run();
}
void AsioLoop::stop() {
  core_->stop();
}
void AsioLoop::post(Lane lane, Task task) {
  core_->post(lane, std::move(task));
}
TimerId AsioLoop::run_at(MonoTime when, Task task) {
  return core_->run_at(when, std::move(task));
}
void AsioLoop::cancel(TimerId timer) {
  core_->cancel(timer);
}

std::unique_ptr<Subscription> AsioLoop::watch_fd(int fd, FdEvent event, Task on_ready) {
  return core_->watch(fd, event, std::move(on_ready));
}

std::unique_ptr<Subscription> AsioLoop::on_exit(pid_t pid, std::function<void(int status)> on_exit) {
  const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  // Only a pid that is not ours to wait for fails here: a child that has ended keeps its pid until we collect it.
  GW_CHECK(pidfd >= 0);
  ::fcntl(pidfd, F_SETFD, FD_CLOEXEC);
  auto subscription = std::make_unique<ChildExit>(pidfd);
  auto* child = subscription.get();
  child->keep(core_->watch(pidfd, FdEvent::kReadable, [child, pid, on_exit = std::move(on_exit)] {
    int status = 0;
    if (::waitpid(pid, &status, WNOHANG) != pid) return;
    // The call may destroy the subscription, and with it this closure.
    const auto report = on_exit;
    child->end_watch();
    report(status);
  }));
  return subscription;
}

LoopThread::LoopThread(const std::string& name) : thread_([this] { loop_.run(); }) {
  ::pthread_setname_np(thread_.native_handle(), name.substr(0, 15).c_str());
}

LoopThread::~LoopThread() {
  stop();
}

void LoopThread::stop() {
  loop_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace gangway::net
