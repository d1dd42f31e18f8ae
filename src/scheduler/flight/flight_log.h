// FlightLog: the last cycles on disk, in a ring of files. A thread of its own writes them; nobody waits for it.
//
//   add() ─► queue, bounded ─► thread: record brought up to date ─► DIR/00000000000000000017.flight, …, the oldest
//   removed
//
// The thread knows all lines of the last cycle. So a cycle costs its writer what has changed, and a new file, which
// begins with everything, costs the scheduler nothing. Nothing is synced: what a process that was killed has written is
// there, and after a power failure the last cycles may be missing.
//
// When the disk refuses, the log says so once and in its status, goes on following the cycles, and begins a new file
// as soon as it can. add(), has_room() and status() may be called from any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/time.h"
#include "scheduler/flight/record.h"

namespace gangway::scheduler::flight {

struct LogOptions {
  std::string folder;
  std::uint64_t max_bytes = std::uint64_t{64} << 20;
  std::uint64_t max_cycles = 1000;
  std::uint64_t max_queued_bytes = std::uint64_t{64} << 20;
  Duration retry_after = std::chrono::seconds(10);
};

struct LogStatus {
  std::uint64_t first = 0;  // cycles that are there; 0: none
  std::uint64_t last = 0;
  std::uint64_t bytes = 0;
  std::uint64_t skipped = 0;  // cycles that came too fast to be kept
  std::string error = {};     // what stands in its way; empty while all is well
};

class FlightLog {
 public:
  explicit FlightLog(LogOptions options);
  // Writes what is in the queue.
  ~FlightLog();
  FlightLog(const FlightLog&) = delete;
  FlightLog& operator=(const FlightLog&) = delete;

  // Whether the queue takes more. One that is turned away counts as skipped.
  bool has_room();
  void add(Entry entry);
  LogStatus status() const;
  // Until all that was added before is written, or could not be.
  void flush();

 private:
  class Ring;
  void run();

  const LogOptions options_;
  mutable std::mutex mutex_;  // guards all down to thread_
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  std::uint64_t queued_bytes_ = 0;
  bool is_busy_ = true;  // reads what earlier processes have left
  bool is_ending_ = false;
  LogStatus status_;
  std::thread thread_;
};

}  // namespace gangway::scheduler::flight
