#include "client/controller.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "client/resource.h"

namespace gangway::client {
namespace {

// With this many actions waiting to be sent, more looks would only make older decisions.
constexpr std::size_t kEnoughQueued = 1024;

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
      runner_(client, {.field_manager = options_.name, .max_under_way = options_.max_under_way}, probes) {}

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

View Controller::view(const ProbeAnswers* answers) const {
  return {mirror_, loop_.clock().wall(), answers};
}

void Controller::on_change(const Resource& resource, const ObjectChange& change) {
  auto watch = watches_.find(resource);
  if (watch == watches_.end()) return;
  watch->second.rule.keys(
      change, view(), [this](const api::ObjectKey& key, WorkQueue::Priority priority) { queue_.add(key, priority); });
}

void Controller::on_progress(const Resource& resource) {
  if (auto waiting = behind_.find(resource); waiting != behind_.end()) {
    const std::set<api::ObjectKey> keys = waiting->second;
    for (const api::ObjectKey& key : keys) release_if_shown(key);
  }
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
    look(*key);
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

void Controller::look(const api::ObjectKey& key) {
  ++status_.looks;
  auto answers = answers_.extract(key);
  Outcome outcome = reconciler_.reconcile(key, view(answers.empty() ? nullptr : &answers.mapped()));
  if (observer_ != nullptr) observer_->on_look(options_.name, key, outcome);
  if (outcome.allowed_now.empty()) {
    rest(key, outcome);
  } else {
    act(key, std::move(outcome));
  }
}

void Controller::rest(const api::ObjectKey& key, const Outcome& outcome) {
  queue_.forget(key);
  restless_.erase(key);
  if (outcome.look_again_at) queue_.add_after(key, *outcome.look_again_at - loop_.clock().wall());
  queue_.done(key);
}

void Controller::act(const api::ObjectKey& key, Outcome outcome) {
  held_[key].answers_missing = outcome.allowed_now.size();
  status_.actions += outcome.allowed_now.size();
  for (Action& action : outcome.allowed_now) {
    const std::string_view verb = verb_of(action);
    runner_.run(std::move(action), [this, key, verb](ActionAnswer answer) { answered(key, verb, std::move(answer)); });
  }
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
  }
  if (answer.probe) {
    held.probe_answers.insert_or_assign(std::move(answer.probe->first), std::move(answer.probe->second));
  } else if (answer.result) {
    behind_[answer.resource].insert(key);
    held.landed.push_back(std::move(answer));
  }
  if (held.answers_missing == 0) {
    held.timeout = loop_.run_after(options_.longest_hold, [this, key] {
      ++status_.hold_timeouts;
      if (observer_ != nullptr) observer_->on_hold_timeout(options_.name, key);
      release(key);
    });
    release_if_shown(key);
  }
  if (queue_.waiting() > 0) wake();
}

bool Controller::is_shown(const ActionAnswer& answer) const {
  const Informer* informer = mirror_.find(answer.resource);
  if (informer == nullptr || !watches_.contains(answer.resource)) return true;
  if (answer.revision != 0 && informer->revision() >= answer.revision) return true;
  if (!answer.is_delete) return answer.revision == 0;
  // Some servers answer a deletion without saying at which revision it happened.
  const api::Version now = informer->objects().get(answer.object);
  return !now || now.header->uid != answer.uid || (answer.revision == 0 && now.header->deleting_since.has_value());
}

void Controller::release_if_shown(const api::ObjectKey& key) {
  const Held& held = held_.at(key);
  if (held.answers_missing > 0) return;
  const bool shown =
      std::all_of(held.landed.begin(), held.landed.end(), [this](const auto& answer) { return is_shown(answer); });
  if (shown) release(key);
}

void Controller::release(const api::ObjectKey& key) {
  const auto node = held_.extract(key);
  const Held& held = node.mapped();
  loop_.cancel(held.timeout);
  for (const ActionAnswer& answer : held.landed) {
    auto waiting = behind_.find(answer.resource);
    if (waiting == behind_.end()) continue;
    waiting->second.erase(key);
    if (waiting->second.empty()) behind_.erase(waiting);
  }
  if (!held.probe_answers.empty()) answers_[key] = held.probe_answers;

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
