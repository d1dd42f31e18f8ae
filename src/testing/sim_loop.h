// SimLoop: an event loop of a simulated process. Simulation: all of them, one virtual clock, and the dice that say
// whose turn it is.
//
//   step: the loops that have something due ── the seed picks one ──► its next task ──► the clock moves on a little
//         none has anything due ──► the clock goes to the next thing that will be
//
// Within a loop the contract of EventLoop holds: a lane is a queue, the system lane overtakes, timers run in the order
// of their times. Between loops everything may happen that the machines of a cluster could do. One thread turns all of
// it; only post() may be called from others, for the contract suite.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "sys/event_loop.h"
#include "testing/polled_watches.h"
#include "testing/random.h"
#include "testing/trace.h"

namespace gangway::testing {

class SimLoop;

class Simulation {
 public:
  // Wall time begins at 2026-01-01T00:00:00Z, monotonic time at zero.
  explicit Simulation(std::uint64_t seed);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  MonoTime now() const { return now_; }
  WallTime wall() const;
  Random& random() { return random_; }
  Trace& trace() { return trace_; }
  void note(std::string_view who, std::string_view what, std::string_view detail = {}) {
    trace_.note(now_, who, what, detail);
  }
  std::uint64_t steps() const { return steps_; }

  // How long a task may take; each takes a random part of it.
  void set_longest_task(Duration longest) { longest_task_ = longest; }

  // Runs one task or timer, no later than `limit`. False, with the clock at the limit: there was none.
  bool step(MonoTime limit);
  void run_for(Duration span);
  // False when `at_most` of virtual time has passed first.
  [[nodiscard]] bool run_until(const std::function<bool()>& done, Duration at_most);

 private:
  friend class SimLoop;
  void pick_due();

  Random random_;
  Trace trace_;
  MonoTime now_;
  Duration longest_task_{0};
  std::uint64_t steps_ = 0;
  std::uint64_t last_loop_ = 0;
  std::mutex mutex_;
  std::vector<SimLoop*> loops_;
  std::vector<SimLoop*> due_;  // of this step; kept for its memory
};

// A machine's clock. Monotonic time is everybody's; the time on the wall may be wrong, and may be set.
class SimClock final : public sys::Clock {
 public:
  explicit SimClock(const Simulation& simulation) : simulation_(simulation) {}
  MonoTime mono() const override { return simulation_.now(); }
  WallTime wall() const override { return simulation_.wall() + ahead_; }
  // How far it is ahead of the true time.
  void set_ahead(Duration ahead) { ahead_ = ahead; }

 private:
  const Simulation& simulation_;
  Duration ahead_{0};
};

class SimLoop final : public sys::EventLoop {
 public:
  SimLoop(Simulation& simulation, const sys::Clock& clock, std::string name);
  ~SimLoop() override;
  SimLoop(const SimLoop&) = delete;
  SimLoop& operator=(const SimLoop&) = delete;

  using EventLoop::post;
  void post(sys::Lane lane, sys::Task task) override;
  sys::TimerId run_at(MonoTime when, sys::Task task) override;
  void cancel(sys::TimerId timer) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> watch_fd(int fd, FdEvent event, sys::Task on_ready) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> on_exit(pid_t pid, std::function<void(int)> on_exit) override;
  const sys::Clock& clock() const override { return clock_; }

  const std::string& name() const { return name_; }
  // Every posted task waits a random part of this first: a disk, a busy thread.
  void set_longest_wait(Duration longest) { longest_wait_ = longest; }
  // Nothing runs before then: the process was stopped, or the machine was busy with something else.
  void stall_until(MonoTime when) { stalled_until_ = when; }
  // Nothing runs any more. What is posted is kept, unrun, until the loop goes: a process that was killed does not even
  // clean up.
  void die() { dead_ = true; }
  bool is_dead() const { return dead_; }
  // Looks once, in real time, which descriptors are ready and which children have ended. Simulations have neither.
  void run_ready_watches();

 private:
  friend class Simulation;
  struct Posted {
    MonoTime ready_at;
    sys::Task task;
  };
  using TimerKey = std::pair<MonoTime, std::uint64_t>;

  // When something will be due; MonoTime::max() for never. Requires: the simulation's mutex is held.
  MonoTime next_at() const;
  // Requires: something is due, and the mutex is held.
  sys::Task take(MonoTime now, Random& random);

  Simulation& simulation_;
  const sys::Clock& clock_;
  const std::string name_;
  const std::uint64_t number_;
  Duration longest_wait_{0};
  MonoTime stalled_until_;
  bool dead_ = false;
  std::array<std::deque<Posted>, 2> lanes_;  // guarded by the simulation's mutex
  std::map<TimerKey, sys::Task> timers_;     // the simulation's thread only
  std::map<std::uint64_t, MonoTime> timer_times_;
  std::uint64_t last_timer_ = 0;
  PolledWatches watches_;
};

}  // namespace gangway::testing
