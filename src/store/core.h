// Core: what every store of this folder is made of, whatever makes its writes durable.
//
//   prepare() ──► head (pending writes included) ──► publish_through() ──► root, watch logs, wakes, answers
//                                        └─ when the disk failed ──► fail_pending(): the head is the root again
//
// prepare(), enqueue(), when_published(), publish_through() and fail_pending() belong to the API loop, on which answers
// run; the rest may be used from any thread. Held by shared_ptr, so that a task in the loop's queue may outlive the
// store.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "store/snapshot.h"
#include "store/store.h"
#include "store/watch_log.h"

namespace gangway::store {

// A commit that passed its checks. Immutable; shared with the disk thread.
struct Transaction {
  struct Item {
    api::ResourceName resource;
    Change change;
  };
  Revision revision = 0;
  std::vector<Item> items;
  std::shared_ptr<const Snapshot> after;  // the head with this transaction in it
  std::size_t bytes = 0;
};

class Core : public std::enable_shared_from_this<Core> {
 public:
  // `opening` is published from the start. Revisions go on from its own.
  Core(sys::EventLoop& loop, std::shared_ptr<const Snapshot> opening, const WatchLimits& limits);

  std::shared_ptr<const Snapshot> root() const { return root_.load(); }
  std::shared_ptr<const Snapshot> head() const { return head_.load(); }
  Result<std::unique_ptr<Cursor>> watch(const api::ResourceName& resource, Revision after) const {
    return logs_->watch(resource, after);
  }
  std::unique_ptr<sys::Subscription> on_publish(sys::EventLoop& loop, sys::Task wake);
  // Without what only a disk knows.
  StoreStatus status() const;

  // Checks the writes against the head and makes them part of it, at the next revision.
  Result<std::shared_ptr<const Transaction>> prepare(std::vector<Write> writes);
  // `done` is answered once the transaction is published or failed; an empty one was answered before.
  void enqueue(std::shared_ptr<const Transaction> transaction, sys::Completion<Committed> done);
  // See Store::when_published().
  void when_published(Revision revision, sys::Completion<void> done);
  // Answers by post.
  void answer(sys::Completion<Committed> done, Result<Committed> result);
  // Nothing waits to become durable. On the API loop.
  bool all_published() const { return pending_.empty(); }
  void publish_through(Revision revision);
  void fail_pending(const Error& error);

  // The highest revision handed out so far.
  Revision last_revision() const { return last_revision_; }
  static Committed committed(const Transaction& transaction);

 private:
  struct Waker;
  class Wake;
  // A lock for the length of a pointer copy: std::atomic<std::shared_ptr> confuses the thread sanitizer here.
  class Slot {
   public:
    explicit Slot(std::shared_ptr<const Snapshot> value) : value_(std::move(value)) {}
    std::shared_ptr<const Snapshot> load() const {
      std::lock_guard lock(mutex_);
      return value_;
    }
    void store(std::shared_ptr<const Snapshot> value) {
      std::lock_guard lock(mutex_);
      value_.swap(value);
    }

   private:
    mutable std::mutex mutex_;
    std::shared_ptr<const Snapshot> value_;
  };
  struct Pending {
    std::shared_ptr<const Transaction> transaction;
    sys::Completion<Committed> done;
    std::vector<sys::Completion<void>> followers = {};  // see when_published()
  };
  // Revisions that were handed out and taken back: above `after`, up to `through`.
  struct TakenBack {
    Revision after;
    Revision through;
    Error why;
  };

  const TakenBack* taken_back(Revision revision) const;
  void append_to_logs(const std::vector<Pending>& batch);
  void wake_all();

  sys::EventLoop& loop_;
  Slot root_;
  Slot head_;
  const std::shared_ptr<WatchLogs> logs_;
  Revision last_revision_;  // handed out; never goes back, not even when a transaction fails
  std::deque<Pending> pending_;
  std::vector<TakenBack> taken_back_;
  std::atomic<std::size_t> pending_count_ = 0;
  std::atomic<std::uint64_t> commits_ = 0;
  std::mutex wakers_mutex_;
  std::vector<std::weak_ptr<Waker>> wakers_;
};

}  // namespace gangway::store
