#include "store/watch_log.h"

#include <algorithm>
#include <string>
#include <utility>

namespace gangway::store {
namespace {

// What a change costs besides its bytes: headers and pointers.
constexpr std::size_t kChangeOverhead = 512;

Error expired(Revision asked, Revision oldest) {
  return Error{
      .reason = Reason::kExpired,
      .message = "too old resource version: " + std::to_string(asked) + " (" + std::to_string(oldest) + ")",
      .subject = {},
      .causes = {},
  };
}

class LogCursor final : public Cursor {
 public:
  LogCursor(std::shared_ptr<const WatchLogs> logs, std::shared_ptr<const WatchLog> log, std::uint64_t number,
            Revision after)
      : logs_(std::move(logs)), log_(std::move(log)), next_number_(number), position_(after) {}

  Result<const Change*> next() override {
    for (;;) {
      while (segment_ && index_ < segment_->size()) {
        const auto& change = (*segment_)[index_++];
        // Begun within a segment, or after a revision that was not reached yet.
        if (change.revision() <= skip_through_) continue;
        note_returned(change);
        return &change;
      }
      // Read before the log is: whatever is up to here is in the log by now.
      const auto published = logs_->published();
      GW_TRY(auto segment, log_->segment(next_number_, position_));
      if (!segment) {
        position_ = std::max(position_, published);
        return nullptr;
      }
      segment_ = std::move(segment);
      index_ = 0;
      ++next_number_;
      skip_through_ = position_;
    }
  }

  Revision position() const override { return position_; }

 private:
  // The changes of one transaction share a revision: it has been returned when the last of them has.
  void note_returned(const Change& change) {
    const bool last = index_ == segment_->size() || (*segment_)[index_].revision() != change.revision();
    position_ = std::max(position_, last ? change.revision() : change.revision() - 1);
  }

  const std::shared_ptr<const WatchLogs> logs_;
  const std::shared_ptr<const WatchLog> log_;
  std::uint64_t next_number_;
  Revision position_;
  std::shared_ptr<const WatchLog::Segment> segment_;
  std::size_t index_ = 0;
  Revision skip_through_ = 0;
};

}  // namespace

void WatchLog::append(Segment changes) {
  Entry entry;
  for (const auto& change : changes) entry.bytes += change.now.json->size() + kChangeOverhead;
  // What falls out of the log is freed after the lock is.
  std::vector<Entry> dropped;
  std::lock_guard lock(mutex_);
  changes_ += changes.size();
  bytes_ += entry.bytes;
  entry.segment = std::make_shared<const Segment>(std::move(changes));
  entries_.push_back(std::move(entry));
  while (entries_.size() > 1 && (changes_ > limits_.max_changes || bytes_ > limits_.max_bytes)) {
    auto& oldest = entries_.front();
    changes_ -= oldest.segment->size();
    bytes_ -= oldest.bytes;
    forgotten_ = oldest.segment->back().revision();
    ++first_number_;
    dropped.push_back(std::move(oldest));
    entries_.pop_front();
  }
}

Result<std::uint64_t> WatchLog::place_of(Revision after) const {
  std::lock_guard lock(mutex_);
  if (after < forgotten_) return expired(after, forgotten_);
  auto seen = [](const Entry& entry, Revision r) { return entry.segment->back().revision() <= r; };
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), after, seen);
  return first_number_ + static_cast<std::uint64_t>(at - entries_.begin());
}

Result<std::shared_ptr<const WatchLog::Segment>> WatchLog::segment(std::uint64_t number, Revision position) const {
  std::lock_guard lock(mutex_);
  if (number < first_number_) return expired(position, forgotten_);
  const auto index = number - first_number_;
  if (index >= entries_.size()) return std::shared_ptr<const Segment>();
  return entries_[index].segment;
}

std::shared_ptr<WatchLog> WatchLogs::log(const api::ResourceName& resource) {
  std::lock_guard lock(mutex_);
  auto& log = logs_[resource];
  if (!log) log = std::make_shared<WatchLog>(limits_, opened_at_);
  return log;
}

Result<std::unique_ptr<Cursor>> WatchLogs::watch(const api::ResourceName& resource, Revision after) {
  auto of_resource = log(resource);
  GW_TRY(auto number, of_resource->place_of(after));
  return std::make_unique<LogCursor>(shared_from_this(), std::move(of_resource), number, after);
}

}  // namespace gangway::store
