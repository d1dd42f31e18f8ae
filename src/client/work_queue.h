// WorkQueue: the keys a controller has to look at.
//
//            add                    take                      done
//   (absent) ───► waiting (urgent, then normal) ───► in hand ───────► absent, or waiting when it was added meanwhile
//            add_after, retry ───► delayed ── time ──► waiting
//
// A key is in the queue once, however often it is added. The queue is bounded: a key that finds it full is refused and
// the queue remembers that it lost something, so that the controller looks at everything again when it has drained.
// Owned by one loop. The order depends only on the calls and the loop's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "api/object.h"
#include "base/time.h"
#include "sys/event_loop.h"

namespace gangway::client {

struct WorkQueueOptions {
  Duration first_retry = std::chrono::milliseconds(5);
  Duration longest_retry = std::chrono::seconds(60);
  std::size_t bound = 1'000'000;  // keys waiting, delayed and in hand
};

class WorkQueue {
 public:
  enum class Priority : std::uint8_t { kUrgent, kNormal };
  using Key = api::ObjectKey;

  // `on_ready` runs by post after keys have come to wait; several may share one call.
  WorkQueue(sys::EventLoop& loop, WorkQueueOptions options, sys::Task on_ready);
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  // A key that waits as normal and is added as urgent becomes urgent; one that is delayed waits no longer.
  void add(const Key& key, Priority priority = Priority::kNormal);
  // The earliest of several delays counts; a key that waits already is not put off.
  void add_at(const Key& key, MonoTime when);
  void add_after(const Key& key, Duration delay);
  // Adds the key after its back-off, or after `at_least` when that is longer; each retry doubles the back-off.
  void retry(const Key& key, Duration at_least = Duration::zero());
  // The key is well: its next retry starts from the shortest delay.
  void forget(const Key& key) { failures_.erase(key); }

  // The next key, which is in hand until done(). None is in hand twice.
  std::optional<Key> take();
  void done(const Key& key);
  // The same, but forgets that the key was added while it was in hand: for a key that goes into back-off anyway.
  void done_without_adds(const Key& key) { in_hand_.erase(key); }

  bool is_in_hand(const Key& key) const { return in_hand_.contains(key); }
  std::size_t waiting() const { return urgent_.size() + normal_.size(); }
  std::size_t delayed() const { return delayed_.size(); }
  std::size_t size() const { return waiting() + delayed() + in_hand_.size(); }
  unsigned failures(const Key& key) const;
  // Whether a key was refused since the last call.
  bool take_overflow() { return std::exchange(overflowed_, false); }

 private:
  struct InHand {
    std::optional<Priority> added;    // while it was in hand
    std::optional<MonoTime> look_at;  // likewise, with a delay
  };
  // A lane keeps the order of arrival and finds a key at once.
  class Lane {
   public:
    bool contains(const Key& key) const { return places_.contains(key); }
    bool push(const Key& key);
    bool erase(const Key& key);
    std::optional<Key> pop();
    std::size_t size() const { return places_.size(); }

   private:
    std::map<std::uint64_t, Key> order_;
    std::map<Key, std::uint64_t> places_;
    std::uint64_t next_ = 0;
  };

  bool has_room(const Key& key);
  bool is_waiting(const Key& key) const { return urgent_.contains(key) || normal_.contains(key); }
  void undelay(const Key& key);
  void arm();
  void release_due();
  void signal();

  sys::EventLoop& loop_;
  WorkQueueOptions options_;
  sys::Task on_ready_;
  Lane urgent_;
  Lane normal_;
  std::map<Key, MonoTime> delayed_;
  std::set<std::pair<MonoTime, Key>> deadlines_;
  std::map<Key, InHand> in_hand_;
  std::map<Key, unsigned> failures_;
  bool overflowed_ = false;
  bool signalled_ = false;
  sys::TimerId timer_ = sys::TimerId::kNone;
  MonoTime timer_at_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

}  // namespace gangway::client
