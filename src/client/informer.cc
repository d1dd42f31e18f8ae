#include "client/informer.h"

#include <utility>

#include "sys/log.h"

namespace gangway::client {
namespace {

// A server that ends every watch at once must not be asked in a tight circle.
constexpr Duration kShortestWatch = std::chrono::seconds(1);

}  // namespace

class Informer::Registration final : public sys::Subscription {
 public:
  Registration(std::weak_ptr<Registry> registry, std::uint64_t id) : registry_(std::move(registry)), id_(id) {}
  ~Registration() override {
    if (auto registry = registry_.lock()) registry->erase(id_);
  }

 private:
  std::weak_ptr<Registry> registry_;
  std::uint64_t id_;
};

Informer::Informer(ApiClient& client, sys::EventLoop& loop, InformerOptions options)
    : client_(client),
      loop_(loop),
      options_(std::move(options)),
      backoff_(options_.backoff, options_.seed),
      objects_(options_.indexed_fields),
      registry_(std::make_shared<Registry>()) {}

Informer::~Informer() {
  stop();
}

void Informer::start() {
  if (life_ != nullptr) return;
  life_ = std::make_shared<const bool>(true);
  list();
}

void Informer::stop() {
  life_.reset();
  watch_.reset();
  loop_.cancel(std::exchange(timer_, sys::TimerId::kNone));
}

std::unique_ptr<sys::Subscription> Informer::subscribe(InformerHandlers handlers) {
  const std::uint64_t id = next_registration_++;
  const auto stored = std::make_shared<const InformerHandlers>(std::move(handlers));
  registry_->emplace(id, stored);
  auto registration = std::make_unique<Registration>(registry_, id);
  if (stored->on_change) {
    for (const auto& [name, version] : objects_.all())
      stored->on_change({.type = ObjectChange::Type::kAdded, .before = {}, .now = version});
  }
  if (synced_ && stored->on_progress) stored->on_progress();
  return registration;
}

void Informer::list() {
  ++status_.lists;
  client_.list(options_.what, [this, life = std::weak_ptr(life_)](Result<ListAnswer> answer) {
    if (!life.expired()) listed(std::move(answer));
  });
}

void Informer::listed(Result<ListAnswer> answer) {
  if (!answer) return fail(answer.error(), true);
  backoff_.reset();
  status_.last_error.clear();
  // A list may be older than what the mirror had from a watch (another server answered); the mirror is now as of the
  // list all the same.
  revision_ = answer->revision;
  replace_all(std::move(*answer));
  synced_ = true;
  watch();
  tell_progress();
}

void Informer::replace_all(ListAnswer answer) {
  std::map<api::ObjectName, bool> listed_names;
  for (const api::Version& item : answer.items) listed_names.emplace(item.header->name, true);
  std::vector<api::Version> gone;
  for (const auto& [name, version] : objects_.all())
    if (!listed_names.contains(name)) gone.push_back(version);
  for (const api::Version& version : gone) remove(version);
  for (api::Version& item : answer.items) store(std::move(item));
}

void Informer::watch() {
  ++status_.watches;
  watch_began_ = loop_.clock().mono();
  std::weak_ptr<const bool> life = life_;
  WatchCallbacks callbacks{
      .on_event =
          [this, life](WatchEvent event) {
            if (!life.expired()) on_event(std::move(event));
          },
      .on_end =
          [this, life](Result<void> result) {
            if (!life.expired()) on_watch_end(std::move(result));
          },
  };
  watch_ = client_.watch({.what = options_.what, .after = revision_}, std::move(callbacks));
}

void Informer::on_event(WatchEvent event) {
  ++status_.events;
  status_.last_error.clear();
  backoff_.reset();
  const api::Revision revision = event.object.header->revision;
  switch (event.type) {
    case WatchEvent::Type::kAdded:
    case WatchEvent::Type::kModified:
      store(std::move(event.object));
      break;
    case WatchEvent::Type::kDeleted:
      remove(event.object);
      break;
    case WatchEvent::Type::kBookmark:
      break;
  }
  if (revision <= revision_) return;
  revision_ = revision;
  tell_progress();
}

void Informer::on_watch_end(Result<void> result) {
  if (result) {
    const bool was_short = loop_.clock().mono() - watch_began_ < kShortestWatch;
    return again_after(was_short ? backoff_.next() : Duration::zero(), false);
  }
  const Reason reason = result.error().reason;
  fail(result.error(), reason == Reason::kExpired || reason == Reason::kGone);
}

void Informer::fail(const Error& error, bool must_list) {
  ++status_.errors;
  // Told once: whoever joins a cluster with a wrong address or token must be able to see why nothing happens.
  if (!synced_ && status_.last_error != error.message)
    sys::log_warning("the first list does not come; asking again",
                     {{"resource", resource().plural}, {"error", error.message}});
  status_.last_error = error.message;
  again_after(std::max<Duration>(backoff_.next(), std::chrono::seconds(error.retry_after_seconds)), must_list);
}

void Informer::again_after(Duration delay, bool must_list) {
  timer_ = loop_.run_after(delay, [this, must_list, life = std::weak_ptr(life_)] {
    if (life.expired()) return;
    timer_ = sys::TimerId::kNone;
    watch_.reset();
    must_list ? list() : watch();
  });
}

void Informer::store(api::Version now) {
  const api::Version known = objects_.get(now.header->name);
  if (known && known.header->uid != now.header->uid) remove(known);
  const api::Version before = objects_.put(now);
  if (before && before.header->revision == now.header->revision) return;
  tell({.type = before ? ObjectChange::Type::kModified : ObjectChange::Type::kAdded, .before = before, .now = now});
}

void Informer::remove(const api::Version& now) {
  const api::Version before = objects_.erase(now.header->name);
  if (before) tell({.type = ObjectChange::Type::kDeleted, .before = before, .now = now});
}

template <class Call>
void Informer::for_each_handler(const Call& call) {
  // A handler may end its own or another's registration, or destroy the informer.
  const auto registry = registry_;
  for (auto at = registry->begin(); at != registry->end();) {
    const std::uint64_t id = at->first;
    const auto handlers = at->second;
    call(*handlers);
    at = registry->upper_bound(id);
  }
}

void Informer::tell(const ObjectChange& change) {
  for_each_handler([&](const InformerHandlers& handlers) {
    if (handlers.on_change) handlers.on_change(change);
  });
}

void Informer::tell_progress() {
  for_each_handler([](const InformerHandlers& handlers) {
    if (handlers.on_progress) handlers.on_progress();
  });
}

}  // namespace gangway::client
