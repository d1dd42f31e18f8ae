// Watch logs: what was published lately, a log a resource, for any number of readers at their own pace.
//
// A log is a queue of immutable segments, one a publication. It is bounded by changes and by bytes and loses its oldest
// segments first; a cursor that had not read them yet is expired, and costs nothing while it waits.
// append() and reached() belong to the API loop; everything else may be used from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "store/store.h"

namespace gangway::store {

// For one resource. The last publication is kept even when it is larger.
struct WatchLimits {
  std::size_t max_changes = 10'000;
  std::size_t max_bytes = 8 * 1024 * 1024;
};

class WatchLog {
 public:
  // The changes of one resource in one publication, in order of their revisions.
  using Segment = std::vector<Change>;

  WatchLog(const WatchLimits& limits, Revision opened_at) : limits_(limits), forgotten_(opened_at) {}

  void append(Segment changes);
  // The number of the segment to begin with to see all after `after`; kExpired when some of it is forgotten.
  Result<std::uint64_t> place_of(Revision after) const;
  // The segment of that number, or null when it does not exist yet. kExpired, for a reader that has seen all up to
  // `position`, when it is forgotten.
  Result<std::shared_ptr<const Segment>> segment(std::uint64_t number, Revision position) const;

 private:
  struct Entry {
    std::shared_ptr<const Segment> segment;
    std::size_t bytes = 0;
  };

  const WatchLimits limits_;
  mutable std::mutex mutex_;
  std::deque<Entry> entries_;       // guarded by mutex_, as is all below
  std::uint64_t first_number_ = 0;  // of entries_.front(), or of the next segment
  Revision forgotten_;              // changes up to here are not in the log any more
  std::size_t changes_ = 0;
  std::size_t bytes_ = 0;
};

class WatchLogs : public std::enable_shared_from_this<WatchLogs> {
 public:
  // Nothing that happened up to `opened_at` is known.
  WatchLogs(const WatchLimits& limits, Revision opened_at)
      : limits_(limits), opened_at_(opened_at), published_(opened_at) {}

  void append(const api::ResourceName& resource, WatchLog::Segment changes) {
    log(resource)->append(std::move(changes));
  }
  // All changes up to `revision` have been appended.
  void reached(Revision revision) { published_.store(revision, std::memory_order_release); }
  Revision published() const { return published_.load(std::memory_order_acquire); }

  Result<std::unique_ptr<Cursor>> watch(const api::ResourceName& resource, Revision after);

 private:
  std::shared_ptr<WatchLog> log(const api::ResourceName& resource);

  const WatchLimits limits_;
  const Revision opened_at_;
  std::atomic<Revision> published_;
  std::mutex mutex_;
  std::map<api::ResourceName, std::shared_ptr<WatchLog>> logs_;  // guarded by mutex_
};

}  // namespace gangway::store
