#include "store/core.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace gangway::store {
namespace {

Error about(const api::ObjectKey& key, Reason reason, std::string message) {
  const std::string_view resource = key.resource;
  const auto dot = resource.find('.');
  return Error{
      .reason = reason,
      .message = std::move(message),
      .subject = {.group = std::string(dot == resource.npos ? "" : resource.substr(dot + 1)),
                  .kind = std::string(resource.substr(0, dot)),
                  .name = key.object.name,
                  .uid = ""},
      .causes = {},
  };
}

// What `write` finds must be what it expects.
Result<void> check(const Write& write, const api::Version* found) {
  const auto named = write.key.resource + " \"" + write.key.object.name + '"';
  if (found && write.expected == Revision{0}) {
    return about(write.key, Reason::kAlreadyExists, named + " already exists");
  }
  const bool must_exist = write.effect == Write::Effect::kDelete || write.expected.value_or(0) != 0;
  if (!found && must_exist) return about(write.key, Reason::kNotFound, named + " not found");
  if (found && write.expected && *write.expected != found->header->revision) {
    return about(write.key, Reason::kConflict,
                 "Operation cannot be fulfilled on " + named +
                     ": the object has been modified; please apply your changes to the latest version and try again");
  }
  return {};
}

}  // namespace

Core::Core(sys::EventLoop& loop, std::shared_ptr<const Snapshot> opening, const WatchLimits& limits)
    : loop_(loop),
      root_(opening),
      head_(opening),
      logs_(std::make_shared<WatchLogs>(limits, opening->revision())),
      last_revision_(opening->revision()) {}

Result<std::shared_ptr<const Transaction>> Core::prepare(std::vector<Write> writes) {
  auto transaction = std::make_shared<Transaction>();
  transaction->revision = last_revision_ + 1;
  Snapshot::Editor editor(head_.load());
  for (auto& write : writes) {
    GW_CHECK(write.draft.revision_at <= write.draft.json.size());
    const auto* found = editor.find(write.key);
    GW_CHECKED(check(write, found));
    Change change;
    if (found) change.before = *found;
    write.draft.header.name = write.key.object;
    change.now = api::stamp(std::move(write.draft), transaction->revision);
    transaction->bytes += change.now.json->size();
    if (write.effect == Write::Effect::kDelete) {
      change.type = ChangeType::kDeleted;
      editor.erase(write.key);
    } else {
      change.type = found ? ChangeType::kModified : ChangeType::kAdded;
      editor.put(write.key.resource, change.now);
    }
    transaction->items.push_back({std::move(write.key.resource), std::move(change)});
  }
  transaction->after = editor.snapshot(transaction->revision);
  last_revision_ = transaction->revision;
  head_.store(transaction->after);
  return std::shared_ptr<const Transaction>(std::move(transaction));
}

void Core::enqueue(std::shared_ptr<const Transaction> transaction, sys::Completion<Committed> done) {
  pending_.push_back({std::move(transaction), std::move(done)});
  pending_count_ = pending_.size();
}

const Core::TakenBack* Core::taken_back(Revision revision) const {
  const auto found = std::ranges::find_if(
      taken_back_, [&](const TakenBack& span) { return span.after < revision && revision <= span.through; });
  return found == taken_back_.end() ? nullptr : &*found;
}

void Core::when_published(Revision revision, sys::Completion<void> done) {
  const auto pending =
      std::ranges::find_if(pending_, [&](const Pending& waiting) { return waiting.transaction->revision == revision; });
  if (pending != pending_.end()) return pending->followers.push_back(std::move(done));
  Result<void> result;
  if (const auto* lost = taken_back(revision)) result = lost->why;
  loop_.post([done = std::move(done), result = std::move(result)]() mutable { done(std::move(result)); });
}

void Core::answer(sys::Completion<Committed> done, Result<Committed> result) {
  if (result) ++commits_;
  loop_.post([done = std::move(done), result = std::move(result)]() mutable { done(std::move(result)); });
}

Committed Core::committed(const Transaction& transaction) {
  Committed result{.revision = transaction.revision, .versions = {}};
  result.versions.reserve(transaction.items.size());
  for (const auto& item : transaction.items) result.versions.push_back(item.change.now);
  return result;
}

void Core::append_to_logs(const std::vector<Pending>& batch) {
  std::map<std::string_view, WatchLog::Segment> segments;
  for (const auto& pending : batch) {
    for (const auto& item : pending.transaction->items) segments[item.resource].push_back(item.change);
  }
  for (auto& [resource, segment] : segments) logs_->append(api::ResourceName(resource), std::move(segment));
}

void Core::publish_through(Revision revision) {
  auto end = pending_.begin();
  while (end != pending_.end() && end->transaction->revision <= revision) ++end;
  if (end == pending_.begin()) return;
  std::vector<Pending> batch(std::make_move_iterator(pending_.begin()), std::make_move_iterator(end));
  pending_.erase(pending_.begin(), end);
  pending_count_ = pending_.size();

  // The root comes first: who has seen a change must find it in the next list.
  root_.store(batch.back().transaction->after);
  append_to_logs(batch);
  logs_->reached(batch.back().transaction->revision);
  wake_all();
  // Answers may commit again, or end the store.
  for (auto& pending : batch) {
    if (pending.done) {
      ++commits_;
      pending.done(committed(*pending.transaction));
    }
    for (auto& follower : pending.followers) follower({});
  }
}

void Core::fail_pending(const Error& error) {
  auto failed = std::exchange(pending_, {});
  pending_count_ = 0;
  const auto published = root_.load();
  head_.store(published);
  // Failures one after the other are one span: a full disk may refuse for hours.
  std::erase_if(taken_back_, [&](const TakenBack& span) { return span.after == published->revision(); });
  taken_back_.push_back({published->revision(), last_revision_, error});
  for (auto& pending : failed) {
    if (pending.done) pending.done(error);
    for (auto& follower : pending.followers) follower(error);
  }
}

StoreStatus Core::status() const {
  StoreStatus status;
  const auto published = root();
  status.head = head()->revision();
  status.published = published->revision();
  status.objects = published->size();
  status.pending_writes = pending_count_;
  status.commits = commits_;
  return status;
}

// One subscriber of on_publish. `posted` is what lets publications share a wake.
struct Core::Waker {
  sys::EventLoop& loop;
  sys::Task wake;
  std::atomic<bool> posted = false;
  std::atomic<bool> ended = false;
};

class Core::Wake final : public sys::Subscription {
 public:
  explicit Wake(std::shared_ptr<Waker> waker) : waker_(std::move(waker)) {}
  ~Wake() override { waker_->ended = true; }

 private:
  std::shared_ptr<Waker> waker_;
};

std::unique_ptr<sys::Subscription> Core::on_publish(sys::EventLoop& loop, sys::Task wake) {
  auto waker = std::shared_ptr<Waker>(new Waker{.loop = loop, .wake = std::move(wake)});
  std::lock_guard lock(wakers_mutex_);
  wakers_.push_back(waker);
  return std::make_unique<Wake>(std::move(waker));
}

void Core::wake_all() {
  std::lock_guard lock(wakers_mutex_);
  std::erase_if(wakers_, [](const std::weak_ptr<Waker>& entry) {
    auto waker = entry.lock();
    if (!waker) return true;
    if (waker->posted.exchange(true)) return false;
    auto& loop = waker->loop;
    loop.post([waker = std::move(waker)] {
      // Cleared first: what is published while `wake` looks must wake it again.
      waker->posted = false;
      if (!waker->ended) waker->wake();
    });
    return false;
  });
}

}  // namespace gangway::store
