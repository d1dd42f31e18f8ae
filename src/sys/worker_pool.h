// WorkerPool: a few threads for what would hold a loop up (unmounting, deleting, copying), answered on the loop.
//
// run() belongs to the loop's thread. Jobs share nothing with the loop: they are given values and return one. When the
// pool goes it waits for the jobs under way, drops those that wait, and answers none of them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sys/completion.h"
#include "sys/event_loop.h"

namespace gangway::sys {

class WorkerPool {
 public:
  explicit WorkerPool(EventLoop& loop, std::size_t threads = 4);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  template <class T>
  void run(std::function<Result<T>()> job, Completion<T> done) {
    add([this, job = std::move(job), done = std::move(done), alive = std::weak_ptr(alive_)] {
      // Made on the worker, moved to the loop: the answer has one owner at a time.
      auto answer = std::make_shared<Result<T>>(job());
      loop_.post([answer, done, alive] {
        if (alive.lock()) done(std::move(*answer));
      });
    });
  }

 private:
  void add(Task job);
  void work();

  EventLoop& loop_;
  std::shared_ptr<void> alive_;
  std::mutex mutex_;  // guards jobs_ and ending_
  std::condition_variable changed_;
  std::deque<Task> jobs_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace gangway::sys
