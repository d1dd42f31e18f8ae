// AsioLoop: the EventLoop of real processes, over one boost::asio::io_context. LoopThread: a loop with its thread.
//
// run() makes the calling thread the loop's thread; post() and stop() may be called from any thread. Watched
// descriptors become non-blocking, and one descriptor has at most one watch for each direction.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "sys/event_loop.h"

namespace gangway::net {

class AsioLoop final : public sys::EventLoop {
 public:
  explicit AsioLoop(const sys::Clock& clock = sys::system_clock());
  // Tasks that have not run are dropped. Subscriptions must be gone, or be owned by such tasks.
  ~AsioLoop() override;
  AsioLoop(const AsioLoop&) = delete;
  AsioLoop& operator=(const AsioLoop&) = delete;

  // Runs tasks until stop().
  void run();
  // The task that runs now is the last one. A stop() before run() makes run() return at once.
  void stop();

  using sys::EventLoop::post;
  void post(sys::Lane lane, sys::Task task) override;
  sys::TimerId run_at(MonoTime when, sys::Task task) override;
  void cancel(sys::TimerId timer) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> watch_fd(int fd, FdEvent event, sys::Task on_ready) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> on_exit(pid_t pid, std::function<void(int status)> on_exit) override;
  const sys::Clock& clock() const override { return clock_; }

 private:
  class Core;
  const sys::Clock& clock_;
  std::unique_ptr<Core> core_;
};

class LoopThread {
 public:
  // `name` shows in top and gdb; the kernel keeps 15 characters of it.
  explicit LoopThread(const std::string& name);
  ~LoopThread();
  // Stops the loop and waits for its thread. What is posted from then on is dropped with the object, which so can
  // outlive those that still post to it.
  void stop();
  LoopThread(const LoopThread&) = delete;
  LoopThread& operator=(const LoopThread&) = delete;

  AsioLoop& loop() { return loop_; }

 private:
  AsioLoop loop_;
  std::thread thread_;
};

}  // namespace gangway::net
