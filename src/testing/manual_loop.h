// ManualLoop: an event loop that a test turns by hand, with a clock that stands still until the test moves it.
//
// The thread that turns the loop (run_until_idle, advance, wait_for) is its thread; post() may be called from any.
// Tasks run in the order posted, Lane::kSystem first. It models no random order: that is what a simulation is for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "sys/event_loop.h"
#include "testing/polled_watches.h"

namespace gangway::testing {

class ManualClock final : public sys::Clock {
 public:
  explicit ManualClock(WallTime start) : start_(start) {}
  MonoTime mono() const override { return MonoTime(elapsed()); }
  WallTime wall() const override { return start_ + elapsed(); }
  void advance(Duration by) { elapsed_ += by.count(); }

 private:
  Duration elapsed() const { return Duration(elapsed_.load()); }
  const WallTime start_;
  std::atomic<Duration::rep> elapsed_ = 0;
};

class ManualLoop final : public sys::EventLoop {
 public:
  // Wall time begins at 2026-01-01T00:00:00Z, monotonic time at zero.
  ManualLoop();
  ~ManualLoop() override;

  using EventLoop::post;
  void post(sys::Lane lane, sys::Task task) override;
  sys::TimerId run_at(MonoTime when, sys::Task task) override;
  void cancel(sys::TimerId timer) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> watch_fd(int fd, FdEvent event, sys::Task on_ready) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> on_exit(pid_t pid, std::function<void(int)> on_exit) override;
  const sys::Clock& clock() const override { return clock_; }

  // Runs one posted task or due timer. False when there is none.
  bool run_one();
  // Runs what is posted and due, and what that posts, until nothing is left. The clock does not move.
  void run_until_idle();
  // Moves the clock from timer to timer until `by` has passed, running everything on the way.
  void advance(Duration by);
  // The task that runs now takes that long: the clock moves, and nothing else runs meanwhile.
  void spend(Duration time) { clock_.advance(time); }
  // Turns the loop, in real time, until `done()`; for what other threads or processes will post. The virtual clock does
  // not move. False when the deadline has passed.
  [[nodiscard]] bool wait_for(const std::function<bool()>& done,
                              std::chrono::milliseconds deadline = std::chrono::seconds(20));

 private:
  bool take_task(sys::Task& task);
  bool take_due_timer(sys::Task& task);

  ManualClock clock_;
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<sys::Task> lanes_[2];                                  // guarded by mutex_
  std::map<std::pair<MonoTime, std::uint64_t>, sys::Task> timers_;  // the loop's thread only, as is the rest
  std::map<std::uint64_t, MonoTime> timer_times_;
  std::uint64_t last_timer_ = 0;
  PolledWatches watches_;
};

}  // namespace gangway::testing
