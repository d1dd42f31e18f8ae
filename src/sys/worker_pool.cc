#include "sys/worker_pool.h"

#include <pthread.h>

namespace gangway::sys {

WorkerPool::WorkerPool(EventLoop& loop, std::size_t threads) : loop_(loop), alive_(std::make_shared<int>(0)) {
  for (std::size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
    ::pthread_setname_np(threads_.back().native_handle(), "worker");
  }
}

WorkerPool::~WorkerPool() {
  alive_.reset();
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void WorkerPool::add(Task job) {
  {
    const std::scoped_lock lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void WorkerPool::work() {
  for (;;) {
    Task job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
      if (ending_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job();
  }
}

}  // namespace gangway::sys
