// EventLoop: the seam for order, time, file descriptors and child exits.
//
// One loop is one thread: tasks never overlap, and tasks posted to one lane from one thread run in the order they were
// posted. post() may be called from any thread; everything else only from the loop's own tasks (or before it runs).
// A task must not block and must not throw; what escapes it all the same is logged and dropped by the loop.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "sys/clock.h"

namespace gangway::sys {

using Task = std::function<void()>;

// Leases, node status and Gangway's own traffic overtake everything else that waits in the loop.
enum class Lane : std::uint8_t { kSystem, kNormal };

enum class TimerId : std::uint64_t { kNone = 0 };

// Keeps a watch on a file descriptor or a child alive; destroying it ends the watch.
class Subscription {
 public:
  virtual ~Subscription() = default;
};

class EventLoop {
 public:
  virtual ~EventLoop() = default;

  virtual void post(Lane lane, Task task) = 0;
  void post(Task task) { post(Lane::kNormal, std::move(task)); }

  virtual TimerId run_at(MonoTime when, Task task) = 0;
  TimerId run_after(Duration delay, Task task) { return run_at(clock().mono() + delay, std::move(task)); }
  // Does nothing when the timer has run or was cancelled before.
  virtual void cancel(TimerId timer) = 0;

  enum class FdEvent : std::uint8_t { kReadable, kWritable };
  // Runs `on_ready` each time `fd` becomes ready, until the subscription goes.
  [[nodiscard]] virtual std::unique_ptr<Subscription> watch_fd(int fd, FdEvent event, Task on_ready) = 0;
  // Runs `on_exit` once with waitpid()'s status when our child `pid` has ended.
  [[nodiscard]] virtual std::unique_ptr<Subscription> on_exit(pid_t pid, std::function<void(int status)> on_exit) = 0;

  virtual const Clock& clock() const = 0;
};

}  // namespace gangway::sys
