#include "testing/sim_loop.h"

#include <algorithm>

#include "base/check.h"

namespace gangway::testing {
namespace {

constexpr WallTime kStart{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};

}  // namespace

Simulation::Simulation(std::uint64_t seed) : random_(seed) {
  // Seeds that follow each other must not give dice that do.
  random_ = random_.fork("simulation");
}

WallTime Simulation::wall() const {
  return kStart + now_.time_since_epoch();
}

// Leaves in due_ the loops that have something to do now, or, when none has, those that will be first, and sets the
// clock to that moment. Requires: the mutex is held.
void Simulation::pick_due() {
  due_.clear();
  MonoTime first = MonoTime::max();
  for (SimLoop* loop : loops_) {
    const MonoTime at = std::max(loop->next_at(), now_);
    if (at > first) continue;
    if (at < first) due_.clear();
    first = at;
    due_.push_back(loop);
  }
  if (first == MonoTime::max()) due_.clear();
}

bool Simulation::step(MonoTime limit) {
  sys::Task task;
  {
    const std::scoped_lock lock(mutex_);
    pick_due();
    if (due_.empty() || due_.front()->next_at() > limit) {
      now_ = std::max(now_, limit);
      return false;
    }
    now_ = std::max(now_, due_.front()->next_at());
    SimLoop& chosen = due_.size() == 1 ? *due_.front() : *random_.pick(due_);
    trace_.mix(chosen.number_);
    trace_.mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    task = chosen.take(now_, random_);
  }
  ++steps_;
  task();
  if (longest_task_ > Duration::zero()) now_ += random_.up_to(longest_task_);
  return true;
}

void Simulation::run_for(Duration span) {
  const MonoTime end = now_ + span;
  while (step(end)) {
  }
}

bool Simulation::run_until(const std::function<bool()>& done, Duration at_most) {
  const MonoTime end = now_ + at_most;
  while (!done()) {
    if (!step(end)) return done();
  }
  return true;
}

SimLoop::SimLoop(Simulation& simulation, const sys::Clock& clock, std::string name)
    : simulation_(simulation), clock_(clock), name_(std::move(name)), number_(++simulation.last_loop_) {
  const std::scoped_lock lock(simulation_.mutex_);
  simulation_.loops_.push_back(this);
}

SimLoop::~SimLoop() {
  // A dropped task may own subscriptions, or post more from its captures' destructors.
  for (bool more = true; more;) {
    std::array<std::deque<Posted>, 2> dropped;
    {
      const std::scoped_lock lock(simulation_.mutex_);
      dropped.swap(lanes_);
    }
    const auto timers = std::exchange(timers_, {});
    timer_times_.clear();
    more = !dropped[0].empty() || !dropped[1].empty() || !timers.empty();
  }
  const std::scoped_lock lock(simulation_.mutex_);
  std::erase(simulation_.loops_, this);
}

void SimLoop::post(sys::Lane lane, sys::Task task) {
  const std::scoped_lock lock(simulation_.mutex_);
  auto& queue = lanes_[static_cast<std::size_t>(lane)];
  MonoTime ready_at = simulation_.now_;
  if (longest_wait_ > Duration::zero()) ready_at += simulation_.random_.up_to(longest_wait_);
  // A lane is a queue: nobody is ready before those in front.
  if (!queue.empty()) ready_at = std::max(ready_at, queue.back().ready_at);
  queue.push_back({ready_at, std::move(task)});
}

sys::TimerId SimLoop::run_at(MonoTime when, sys::Task task) {
  const auto id = ++last_timer_;
  timers_.emplace(TimerKey{when, id}, std::move(task));
  timer_times_.emplace(id, when);
  return sys::TimerId{id};
}

void SimLoop::cancel(sys::TimerId timer) {
  const auto known = timer_times_.extract(static_cast<std::uint64_t>(timer));
  if (known.empty()) return;
  // Its captures go after the maps are in order again: they may come back here.
  const auto dropped = timers_.extract(TimerKey{known.mapped(), known.key()});
}

std::unique_ptr<sys::Subscription> SimLoop::watch_fd(int fd, FdEvent event, sys::Task on_ready) {
  return watches_.watch_fd(fd, event, std::move(on_ready));
}

std::unique_ptr<sys::Subscription> SimLoop::on_exit(pid_t pid, std::function<void(int)> on_exit) {
  return watches_.on_exit(pid, std::move(on_exit));
}

void SimLoop::run_ready_watches() {
  for (const sys::Task& task : watches_.ready()) task();
}

MonoTime SimLoop::next_at() const {
  if (dead_) return MonoTime::max();
  MonoTime first = timers_.empty() ? MonoTime::max() : timers_.begin()->first.first;
  for (const auto& lane : lanes_) {
    if (!lane.empty()) first = std::min(first, lane.front().ready_at);
  }
  return first == MonoTime::max() ? first : std::max(first, stalled_until_);
}

sys::Task SimLoop::take(MonoTime now, Random& random) {
  const auto is_ready = [now](const std::deque<Posted>& lane) { return !lane.empty() && lane.front().ready_at <= now; };
  const auto pop = [](std::deque<Posted>& lane) {
    sys::Task task = std::move(lane.front().task);
    lane.pop_front();
    return task;
  };
  auto& [system, normal] = lanes_;
  if (is_ready(system)) return pop(system);
  const bool timer_is_due = !timers_.empty() && timers_.begin()->first.first <= now;
  if (is_ready(normal) && (!timer_is_due || random.below(2) == 0)) return pop(normal);
  GW_CHECK(timer_is_due);
  auto timer = timers_.extract(timers_.begin());
  timer_times_.erase(timer.key().second);
  return std::move(timer.mapped());
}

}  // namespace gangway::testing
