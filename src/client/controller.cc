#include "client/controller.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "client/resource.h"

namespace gangway::client {
namespace {

// With this many actions waiting to be sent, more looks would only make older decisions.
constexpr std::size_t kEnoughQueued = 1024;
// A look that took less needs no pause.
constexpr Duration kNotable = std::chrono::milliseconds(1);
constexpr Duration kLongestPause = std::chrono::milliseconds(250);
constexpr std::string_view kNamespaceEnds = "NamespaceTerminating";

}  // namespace

void ControllerObserver::on_look(const std::string&, const api::ObjectKey&, const Outcome&) {}
void ControllerObserver::on_answer(const std::string&, const api::ObjectKey&, std::string_view, const ActionAnswer&) {}
void ControllerObserver::on_hold_timeout(const std::string&, const api::ObjectKey&) {}

Controller::Controller(ApiClient& client, sys::EventLoop& loop, Mirror& mirror, const Reconciler& reconciler,
                       ControllerOptions options, ProbeRunner* probes, ControllerObserver* observer)
    : loop_(loop),
      mirror_(mirror),
      reconciler_(reconciler),
      options_(std::move(options)),
      observer_(observer),
      queue_(loop, options_.queue, [this] { wake(); }),
      runner_(client, {.field_manager = options_.name, .max_under_way = options_.max_under_way}, probes),
      events_(client, loop, options_.name),
      objects_(loop, {options_.queue.first_retry, options_.queue.longest_retry, options_.longest_hold},
               [this](const auto& object, const auto& hold, ObjectHolds::End end) { freed(object, hold, end); }),
      is_held_([this](const Resource& resource, const api::ObjectName& name) {
        return objects_.contains({resource, name});
      }) {}

Controller::~Controller() {
  loop_.cancel(sync_timer_);
  for (auto& [key, held] : held_) loop_.cancel(held.timeout);
}

void Controller::start() {
  if (std::exchange(started_, true)) return;
  for (WatchRule& rule : reconciler_.watches()) add_watch(std::move(rule));
}

void Controller::add_watch(WatchRule rule) {
  const Resource resource = rule.resource;
  Informer& informer = mirror_.watch(resource, rule.indexed_fields);
  for (const KeyIndex& index : rule.indexes) informer.add_index(index);
  Watch& watch = watches_[resource];
  watch.subscription.reset();
  watch.rule = std::move(rule);
  watch.since = loop_.clock().mono();
  InformerHandlers handlers;
  if (watch.rule.keys)
    handlers.on_change = [this, resource](const ObjectChange& change) { on_change(resource, change); };
  handlers.on_progress = [this, resource] { on_progress(resource); };
  watch.subscription = informer.subscribe(std::move(handlers));
  // Nobody tells us that we waited long enough for a resource that is not required.
  if (!watch.rule.required && sync_timer_ == sys::TimerId::kNone) {
    sync_timer_ = loop_.run_after(options_.longest_sync, [this] {
      sync_timer_ = sys::TimerId::kNone;
      wake();
    });
  }
}

void Controller::remove_watch(const Resource& resource) {
  watches_.erase(resource);
  // What was held for it can no longer be shown.
  on_progress(resource);
}

void Controller::enqueue(const api::ObjectKey& key, WorkQueue::Priority priority) {
  queue_.add(key, priority);
}

void Controller::resync() {
  for (const auto& [resource, watch] : watches_) {
    if (!watch.rule.keys) continue;
    const ObjectCache* objects = mirror_.objects(resource);
    if (objects == nullptr) continue;
    for (const auto& [name, version] : objects->all())
      on_change(resource, {.type = ObjectChange::Type::kModified, .before = version, .now = version});
  }
}

bool Controller::has_synced() const {
  const MonoTime now = loop_.clock().mono();
  return std::all_of(watches_.begin(), watches_.end(), [&](const auto& entry) {
    const Informer* informer = mirror_.find(entry.first);
    if (informer != nullptr && informer->has_synced()) return true;
    return !entry.second.rule.required && now - entry.second.since >= options_.longest_sync;
  });
}

View Controller::view(const Recollection* last) const {
  return {mirror_, loop_.clock().wall(), last, &is_held_};
}

void Controller::on_change(const Resource& resource, const ObjectChange& change) {
  auto watch = watches_.find(resource);
  if (watch == watches_.end()) return;
  objects_.changed(resource, change);
  watch->second.rule.keys(
      change, view(), [this](const api::ObjectKey& key, WorkQueue::Priority priority) { queue_.add(key, priority); });
}

void Controller::on_progress(const Resource& resource) {
  if (auto waiting = behind_.find(resource); waiting != behind_.end()) {
    const std::set<api::ObjectKey> keys = waiting->second;
    for (const api::ObjectKey& key : keys) release_if_shown(key);
  }
  if (const Informer* informer = mirror_.find(resource)) objects_.progressed(resource, informer->revision());
  if (queue_.waiting() > 0) wake();
}

void Controller::wake() {
  if (std::exchange(pumping_, true)) return;
  loop_.post(options_.lane, [this, life = std::weak_ptr(life_)] {
    if (life.expired()) return;
    pumping_ = false;
    pump();
  });
}

// One look a task, so that others on the loop get their turn.
void Controller::pump() {
  if (!started_ || !has_synced() || runner_.queued() >= kEnoughQueued) return;
  if (const auto key = queue_.take()) {
    if (!must_pause(*key)) look(*key);
    wake();
  } else {
    recover_from_overflow();
  }
}

// A full queue forgot keys. Once it is empty, every object is told again, a queueful at a time: told all at once, the
// first ones would fill the queue each time and the last ones would never get in.
void Controller::recover_from_overflow() {
  if (queue_.size() > 0) return;
  if (queue_.take_overflow()) {
    ++status_.overflows;
    if (!retell_) retell_.emplace();
  }
  if (!retell_) return;
  for (auto watch = watches_.lower_bound(retell_->first); watch != watches_.end(); ++watch) {
    if (retell_->first != watch->first) retell_.emplace(watch->first, api::ObjectName());
    if (!retell_from(watch->first, watch->second)) return;
  }
  retell_.reset();
}

// False when the queue was full before the end.
bool Controller::retell_from(const Resource& resource, const Watch& watch) {
  const ObjectCache* objects = mirror_.objects(resource);
  if (objects == nullptr || !watch.rule.keys) return true;
  for (auto at = objects->all().lower_bound(retell_->second); at != objects->all().end(); ++at) {
    const bool was_empty = queue_.size() == 0;
    on_change(resource, {.type = ObjectChange::Type::kModified, .before = at->second, .now = at->second});
    if (!queue_.take_overflow()) continue;
    // One object that concerns more keys than the queue holds is not told for ever.
    retell_->second = was_empty && std::next(at) != objects->all().end() ? std::next(at)->first : at->first;
    return was_empty && std::next(at) == objects->all().end();
  }
  return true;
}

// What happens to the key during its pause is seen by one look after it.
bool Controller::must_pause(const api::ObjectKey& key) {
  const auto pause = pauses_.find(key);
  if (pause == pauses_.end()) return false;
  if (pause->second <= loop_.clock().mono()) {
    pauses_.erase(pause);
    return false;
  }
  queue_.done_without_adds(key);
  queue_.add_at(key, pause->second);
  return true;
}

Outcome Controller::reconcile(const api::ObjectKey& key) {
  const auto last = last_.extract(key);
  const MonoTime began = loop_.clock().mono();
  Outcome outcome = reconciler_.reconcile(key, view(last.empty() ? nullptr : &last.mapped()));
  const MonoTime ended = loop_.clock().mono();
  if (ended - began >= kNotable)
    pauses_[key] = ended + std::min<Duration>((ended - began) * options_.pause_factor, kLongestPause);
  return outcome;
}

void Controller::look(const api::ObjectKey& key) {
  ++status_.looks;
  Outcome outcome = reconcile(key);
  if (observer_ != nullptr) observer_->on_look(options_.name, key, outcome);
  tell(outcome);
  if (outcome.allowed_now.empty()) {
    rest(key, outcome);
  } else {
    act(key, std::move(outcome));
  }
}

// Events are no reason to hold a key: nothing that a look sees depends on them.
void Controller::tell(Outcome& outcome) {
  std::erase_if(outcome.allowed_now, [this](const Action& action) {
    const auto* emit = std::get_if<Emit>(&action);
    if (emit != nullptr) events_.write(*emit);
    return emit != nullptr;
  });
}

void Controller::rest(const api::ObjectKey& key, const Outcome& outcome) {
  queue_.forget(key);
  restless_.erase(key);
  if (outcome.look_again_at) queue_.add_after(key, *outcome.look_again_at - loop_.clock().wall());
  queue_.done(key);
}

void Controller::act(const api::ObjectKey& key, Outcome outcome) {
  if (reconciler_.assumes_its_effects()) return act_assuming(key, std::move(outcome));
  held_[key].answers_missing = outcome.allowed_now.size();
  status_.actions += outcome.allowed_now.size();
  const WallTime begun = loop_.clock().wall();
  for (Action& action : outcome.allowed_now) {
    const std::string_view verb = verb_of(action);
    Announcement announcement = take_announcement(action);
    runner_.run(std::move(action),
                [this, key, verb, begun, announcement = std::move(announcement)](ActionAnswer answer) {
                  announce(announcement, begun, answer.result);
                  answered(key, verb, std::move(answer));
                });
  }
}

void Controller::act_assuming(const api::ObjectKey& key, Outcome outcome) {
  const WallTime begun = loop_.clock().wall();
  for (Action& action : outcome.allowed_now) {
    const ObjectHolds::Object object = object_of(action);
    const std::string_view verb = verb_of(action);
    if (!objects_.begin(object, key, verb)) continue;
    ++status_.actions;
    Announcement announcement = take_announcement(action);
    runner_.run(std::move(action),
                [this, object, key, verb, begun, announcement = std::move(announcement)](ActionAnswer answer) {
                  announce(announcement, begun, answer.result);
                  answered_assuming(object, key, verb, std::move(answer));
                });
  }
  if (outcome.look_again_at) queue_.add_after(key, *outcome.look_again_at - loop_.clock().wall());
  queue_.done(key);
}

void Controller::answered_assuming(const ObjectHolds::Object& object, const api::ObjectKey& key, std::string_view verb,
                                   ActionAnswer answer) {
  if (observer_ != nullptr) observer_->on_answer(options_.name, key, verb, answer);
  if (answer.result) {
    const bool is_watched = watches_.contains(object.first);
    objects_.landed(object, std::move(answer), is_watched ? mirror_.find(object.first) : nullptr);
  } else {
    const Error& error = answer.result.error();
    ++status_.failed_actions;
    status_.last_error = error.message;
    last_[key].setbacks.push_back({verb, object.first, object.second, error});
    objects_.failed(object, std::chrono::seconds(error.retry_after_seconds));
    queue_.add(key);
  }
  if (queue_.waiting() > 0) wake();
}

void Controller::freed(const ObjectHolds::Object& object, const ObjectHolds::Hold& hold, ObjectHolds::End end) {
  if (end == ObjectHolds::End::kNeverShown) {
    ++status_.hold_timeouts;
    if (observer_ != nullptr) observer_->on_hold_timeout(options_.name, hold.key);
    Error error = internal_error("not shown yet");
    error.reason = Reason::kTimeout;
    last_[hold.key].setbacks.push_back({hold.verb, object.first, object.second, std::move(error)});
  }
  queue_.add(hold.key);
}

void Controller::announce(const Announcement& announcement, WallTime begun, const Result<void>& result) {
  if (result) {
    if (announcement.done) events_.write(*announcement.done, begun);
    return;
  }
  if (!announcement.failed) return;
  // A namespace that is being deleted takes no Events either.
  const auto& causes = result.error().causes;
  if (std::any_of(causes.begin(), causes.end(), [](const Cause& cause) { return cause.reason == kNamespaceEnds; }))
    return;
  Emit failed = *announcement.failed;
  failed.message += result.error().message;
  events_.write(failed);
}

void Controller::answered(const api::ObjectKey& key, std::string_view verb, ActionAnswer answer) {
  if (observer_ != nullptr) observer_->on_answer(options_.name, key, verb, answer);
  Held& held = held_.at(key);
  --held.answers_missing;
  if (!answer.result) {
    ++status_.failed_actions;
    status_.last_error = answer.result.error().message;
    held.failed = true;
    held.at_least = std::max<Duration>(held.at_least, std::chrono::seconds(answer.result.error().retry_after_seconds));
    if (!answer.probe)
      held.recollection.setbacks.push_back({verb, answer.resource, answer.object, answer.result.error()});
  }
  if (answer.probe) {
    held.recollection.probes.insert_or_assign(std::move(answer.probe->first), std::move(answer.probe->second));
  } else if (answer.result) {
    behind_[answer.resource].insert(key);
    held.landed.push_back({verb, std::move(answer)});
  }
  if (held.answers_missing == 0) {
    held.timeout = loop_.run_after(options_.longest_hold, [this, key] { time_out(key); });
    release_if_shown(key);
  }
  if (queue_.waiting() > 0) wake();
}

void Controller::time_out(const api::ObjectKey& key) {
  ++status_.hold_timeouts;
  if (observer_ != nullptr) observer_->on_hold_timeout(options_.name, key);
  Held& held = held_.at(key);
  for (const auto& [verb, answer] : held.landed) {
    Error error = internal_error("not shown yet");
    error.reason = Reason::kTimeout;
    held.recollection.setbacks.push_back({verb, answer.resource, answer.object, std::move(error)});
  }
  release(key);
}

bool Controller::is_shown(const ActionAnswer& answer) const {
  const Informer* informer = mirror_.find(answer.resource);
  if (informer == nullptr || !watches_.contains(answer.resource)) return true;
  if (answer.leaves != 0) {
    const api::Version now = informer->objects().get(answer.object);
    return !now || now.header->uid != answer.uid || now.header->revision > answer.leaves;
  }
  if (answer.revision != 0 && informer->revision() >= answer.revision) return true;
  if (!answer.is_delete) return answer.revision == 0;
  // Some servers answer a deletion without saying at which revision it happened.
  const api::Version now = informer->objects().get(answer.object);
  return !now || now.header->uid != answer.uid || (answer.revision == 0 && now.header->deleting_since.has_value());
}

void Controller::release_if_shown(const api::ObjectKey& key) {
  Held& held = held_.at(key);
  if (held.answers_missing > 0) return;
  // Answers come in about the order of their effects, so the last is the one to wait for; what was shown once is not
  // checked again, or many actions would be gone through with every change.
  while (!held.landed.empty() && is_shown(held.landed.back().answer)) held.landed.pop_back();
  if (held.landed.empty()) release(key);
}

void Controller::release(const api::ObjectKey& key) {
  auto node = held_.extract(key);
  Held& held = node.mapped();
  loop_.cancel(held.timeout);
  for (auto& [resource, waiting] : behind_) waiting.erase(key);
  std::erase_if(behind_, [](const auto& waiting) { return waiting.second.empty(); });
  if (!held.recollection.probes.empty() || !held.recollection.setbacks.empty())
    last_[key] = std::move(held.recollection);

  const bool restless = ++restless_[key] >= options_.restless_looks;
  if (held.failed || restless) {
    // What happened to the key while it was held is seen by the look after the back-off.
    queue_.done_without_adds(key);
    queue_.retry(key, held.at_least);
  } else {
    queue_.add(key);
    queue_.done(key);
  }
}

}  // namespace gangway::client
