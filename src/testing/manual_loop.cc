#include "testing/manual_loop.h"

#include <algorithm>
#include <vector>

namespace gangway::testing {

namespace {

constexpr WallTime kStart{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

}  // namespace

ManualLoop::ManualLoop() : clock_(kStart) {}
ManualLoop::~ManualLoop() = default;

void ManualLoop::post(sys::Lane lane, sys::Task task) {
  // Notified under the lock: the poster may be the last user of a loop that ends as soon as it sees the task.
  std::lock_guard lock(mutex_);
  lanes_[static_cast<std::size_t>(lane)].push_back(std::move(task));
  posted_.notify_one();
}

sys::TimerId ManualLoop::run_at(MonoTime when, sys::Task task) {
  const auto id = ++last_timer_;
  timers_.emplace(std::pair(when, id), std::move(task));
  timer_times_.emplace(id, when);
  return sys::TimerId{id};
}

void ManualLoop::cancel(sys::TimerId timer) {
  auto node = timer_times_.extract(static_cast<std::uint64_t>(timer));
  if (!node.empty()) timers_.erase(std::pair(node.mapped(), node.key()));
}

std::unique_ptr<sys::Subscription> ManualLoop::watch_fd(int fd, FdEvent event, sys::Task on_ready) {
  return watches_.watch_fd(fd, event, std::move(on_ready));
}

std::unique_ptr<sys::Subscription> ManualLoop::on_exit(pid_t pid, std::function<void(int)> on_exit) {
  return watches_.on_exit(pid, std::move(on_exit));
}

bool ManualLoop::take_task(sys::Task& task) {
  std::lock_guard lock(mutex_);
  for (auto& lane : lanes_) {
    if (lane.empty()) continue;
    task = std::move(lane.front());
    lane.pop_front();
    return true;
  }
  return false;
}

bool ManualLoop::take_due_timer(sys::Task& task) {
  if (timers_.empty() || timers_.begin()->first.first > clock_.mono()) return false;
  auto node = timers_.extract(timers_.begin());
  timer_times_.erase(node.key().second);
  task = std::move(node.mapped());
  return true;
}

bool ManualLoop::run_one() {
  sys::Task task;
  if (!take_task(task) && !take_due_timer(task)) return false;
  task();
  return true;
}

void ManualLoop::run_until_idle() {
  for (;;) {
    while (run_one()) {
    }
    if (watches_.empty()) return;
    auto ready = watches_.ready();
    if (ready.empty()) return;
    for (auto& task : ready) task();
  }
}

void ManualLoop::advance(Duration by) {
  const auto until = clock_.mono() + by;
  run_until_idle();
  while (!timers_.empty() && timers_.begin()->first.first <= until) {
    // A timer set for the past is due already; the clock does not go back for it.
    clock_.advance(std::max(timers_.begin()->first.first - clock_.mono(), Duration::zero()));
    run_until_idle();
  }
  clock_.advance(std::max(until - clock_.mono(), Duration::zero()));
}

bool ManualLoop::wait_for(const std::function<bool()>& done, std::chrono::milliseconds deadline) {
  using RealClock = std::chrono::steady_clock;
  const auto give_up = RealClock::now() + deadline;
  for (;;) {
    // One task at a time, so that the caller sees the first state in which `done()` holds.
    do {
      if (done()) return true;
    } while (run_one());
    run_until_idle();
    if (done()) return true;
    if (RealClock::now() >= give_up) return false;
    // The slice bounds how late a ready descriptor, or a condition that nobody posts, is seen.
    std::unique_lock lock(mutex_);
    posted_.wait_for(lock, std::chrono::milliseconds(watches_.empty() ? 10 : 1),
                     [this] { return !lanes_[0].empty() || !lanes_[1].empty(); });
  }
}

}  // namespace gangway::testing
