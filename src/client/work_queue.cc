#include "client/work_queue.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "client/backoff.h"

namespace gangway::client {

bool WorkQueue::Lane::push(const Key& key) {
  const auto [at, added] = places_.emplace(key, next_);
  if (added) order_.emplace(next_++, key);
  return added;
}

bool WorkQueue::Lane::erase(const Key& key) {
  auto at = places_.find(key);
  if (at == places_.end()) return false;
  order_.erase(at->second);
  places_.erase(at);
  return true;
}

std::optional<WorkQueue::Key> WorkQueue::Lane::pop() {
  if (order_.empty()) return std::nullopt;
  Key key = std::move(order_.begin()->second);
  order_.erase(order_.begin());
  places_.erase(key);
  return key;
}

WorkQueue::WorkQueue(sys::EventLoop& loop, WorkQueueOptions options, sys::Task on_ready)
    : loop_(loop), options_(options), on_ready_(std::move(on_ready)) {}

WorkQueue::~WorkQueue() {
  loop_.cancel(timer_);
}

void WorkQueue::add(const Key& key, Priority priority) {
  if (auto held = in_hand_.find(key); held != in_hand_.end()) {
    auto& added = held->second.added;
    added = std::min(added.value_or(priority), priority);
    return;
  }
  if (urgent_.contains(key)) return;
  if (!has_room(key)) return;
  undelay(key);
  if (priority == Priority::kUrgent) {
    normal_.erase(key);
    urgent_.push(key);
  } else {
    normal_.push(key);
  }
  signal();
}

void WorkQueue::add_at(const Key& key, MonoTime when) {
  if (when <= loop_.clock().mono()) return add(key);
  if (auto held = in_hand_.find(key); held != in_hand_.end()) {
    auto& at = held->second.look_at;
    at = std::min(at.value_or(when), when);
    return;
  }
  if (is_waiting(key) || !has_room(key)) return;
  if (auto at = delayed_.find(key); at != delayed_.end() && at->second <= when) return;
  undelay(key);
  delayed_.emplace(key, when);
  deadlines_.emplace(when, key);
  arm();
}

void WorkQueue::add_after(const Key& key, Duration delay) {
  add_at(key, loop_.clock().mono() + delay);
}

void WorkQueue::retry(const Key& key, Duration at_least) {
  unsigned& failures = failures_[key];
  add_after(key, std::max(at_least, doubled(options_.first_retry, options_.longest_retry, failures)));
  ++failures;
}

std::optional<WorkQueue::Key> WorkQueue::take() {
  auto key = urgent_.pop();
  if (!key) key = normal_.pop();
  if (key) in_hand_.emplace(*key, InHand());
  return key;
}

void WorkQueue::done(const Key& key) {
  auto at = in_hand_.find(key);
  GW_CHECK(at != in_hand_.end());
  const InHand held = at->second;
  in_hand_.erase(at);
  if (held.added) {
    add(key, *held.added);
  } else if (held.look_at) {
    add_at(key, *held.look_at);
  }
}

unsigned WorkQueue::failures(const Key& key) const {
  auto at = failures_.find(key);
  return at == failures_.end() ? 0 : at->second;
}

bool WorkQueue::has_room(const Key& key) {
  if (size() < options_.bound || is_waiting(key) || delayed_.contains(key)) return true;
  overflowed_ = true;
  return false;
}

void WorkQueue::undelay(const Key& key) {
  auto at = delayed_.find(key);
  if (at == delayed_.end()) return;
  deadlines_.erase({at->second, key});
  delayed_.erase(at);
}

void WorkQueue::arm() {
  if (deadlines_.empty()) return;
  const MonoTime first = deadlines_.begin()->first;
  if (timer_ != sys::TimerId::kNone) {
    if (timer_at_ <= first) return;
    loop_.cancel(timer_);
  }
  timer_at_ = first;
  timer_ = loop_.run_at(first, [this] {
    timer_ = sys::TimerId::kNone;
    release_due();
    arm();
  });
}

void WorkQueue::release_due() {
  const MonoTime now = loop_.clock().mono();
  while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
    const Key key = deadlines_.begin()->second;
    deadlines_.erase(deadlines_.begin());
    delayed_.erase(key);
    add(key);
  }
}

void WorkQueue::signal() {
  if (std::exchange(signalled_, true)) return;
  loop_.post([this, life = std::weak_ptr(life_)] {
    if (life.expired()) return;
    signalled_ = false;
    if (waiting() > 0) on_ready_();
  });
}

}  // namespace gangway::client
