// DiskWriter: the disk thread. What is submitted while it is busy becomes its next batch: one fsync for all that wait.
// In a simulation, where there are no threads, a loop takes its place.
//
// Writers that were answered together come back together. When several are about, a batch therefore waits a little for
// those that the last one freed, no longer than a write or two would take; a lone writer never waits.
//
// submit() and finish() belong to the thread that made it; reports come from the disk thread, in order.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/time.h"
#include "store/core.h"
#include "store/database.h"

namespace gangway::store {

class DiskWriter {
 public:
  struct Report {
    Revision through = 0;        // on disk up to here
    Revision ceiling = 0;        // Database::ceiling()
    std::uint64_t attempt = 0;   // the one that failed, when error is set
    std::optional<Error> error;  // none of the batch is on disk, and nothing more of its attempt will be
    bool lasting = false;        // no later attempt will do better
  };
  using Reporter = std::function<void(const Report&)>;

  // `loop`, when there is one, does the work of the disk thread; it must be turned by the thread that calls submit().
  DiskWriter(Database database, Reporter reporter, sys::EventLoop* loop = nullptr);
  ~DiskWriter();

  // All transactions up to a failure belong to one attempt, since each builds on those before it. What still comes of a
  // failed attempt is dropped; the caller, who learns of the failure by a report, goes on with the next attempt.
  void submit(std::vector<std::shared_ptr<const Transaction>> transactions, std::uint64_t attempt);
  // Writes all that was submitted, closes the file and ends the thread. `last` is the last revision handed out.
  void finish(Revision last);

  std::uint64_t syncs() const { return syncs_; }

 private:
  using Batch = std::vector<std::shared_ptr<const Transaction>>;
  struct Submission {
    std::shared_ptr<const Transaction> transaction;
    std::uint64_t attempt;
  };
  void run();
  // False: finished, and nothing is left.
  bool wait_for_batch(std::vector<Submission>& batch);
  // The oldest of the queue, as many as one write takes. Requires: mutex_ is held.
  std::vector<Submission> take_batch();
  void write_what_counts(std::vector<Submission> taken);
  void post_write();
  void write_in_loop();
  void close();
  // Gives the writers that are expected the time to join the batch. Requires: `lock` holds mutex_.
  void gather(std::unique_lock<std::mutex>& lock, std::size_t expected);
  void write(const Batch& batch, std::uint64_t attempt);

  Database database_;  // the disk thread only
  const Reporter reporter_;
  sys::EventLoop* const loop_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);  // of the tasks in loop_
  std::optional<std::uint64_t> failed_attempt_;                            // the disk thread only
  Duration last_write_{0};                                                 // the disk thread only
  std::size_t last_batch_ = 0;                                             // the disk thread only
  std::atomic<std::uint64_t> syncs_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t wanted_ = 1;               // guarded by mutex_: how long the queue must be to wake the disk thread
  std::vector<Submission> queue_;        // guarded by mutex_
  std::optional<Revision> finished_at_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace gangway::store
