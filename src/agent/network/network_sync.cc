#include "agent/network/network_sync.h"

#include <algorithm>
#include <utility>

#include "agent/network/service_names.h"
#include "agent/network/service_rules.h"
#include "client/resource.h"
#include "json/value.h"
#include "sys/log.h"

namespace gangway::agent {
namespace {

// Changes come in bursts (a rollout, a gang that becomes ready); a burst is one script.
constexpr Duration kGather = std::chrono::milliseconds(50);
constexpr Duration kFirstRetry = std::chrono::milliseconds(200);
constexpr Duration kLongestRetry = std::chrono::seconds(30);

}  // namespace

NetworkSync::NetworkSync(sys::EventLoop& loop, sys::CommandRunner& runner, client::Mirror& mirror,
                         NetworkSyncOptions options)
    : loop_(loop),
      mirror_(mirror),
      options_(std::move(options)),
      rules_(loop, runner),
      names_(options_.layout),
      retry_(kFirstRetry) {}

NetworkSync::~NetworkSync() {
  loop_.cancel(timer_);
}

void NetworkSync::start() {
  auto& services = mirror_.watch(client::resources::kServices);
  auto& slices = mirror_.watch(client::resources::kEndpointSlices);
  service_informer_ = &services;
  slice_informer_ = &slices;
  service_watch_ = services.subscribe(handlers(services_, service_view));
  slice_watch_ = slices.subscribe(handlers(slices_, slice_view));
  note_progress();
}

template <class Objects, class Read>
client::InformerHandlers NetworkSync::handlers(Objects& objects, Read read) {
  auto on_change = [this, &objects, read](const client::ObjectChange& change) {
    const auto& name = change.now.header->name;
    using View = typename Objects::mapped_type;
    std::optional<View> view;
    if (change.type != client::ObjectChange::Type::kDeleted) {
      if (auto object = json::parse(*change.now.json)) view = read(*object);
    }
    if (view) {
      objects.insert_or_assign(name, std::move(*view));
    } else if (objects.erase(name) == 0) {
      return;
    }
    note_change();
  };
  return {.on_change = on_change, .on_progress = [this] { note_progress(); }};
}

void NetworkSync::note_change() {
  dirty_ = true;
  if (synced_ && !applying_ && timer_ == sys::TimerId::kNone) schedule(kGather);
}

void NetworkSync::note_progress() {
  if (synced_ || !service_informer_->has_synced() || !slice_informer_->has_synced()) return;
  synced_ = true;
  note_change();
}

void NetworkSync::schedule(Duration delay) {
  timer_ = loop_.run_after(delay, [this] {
    timer_ = sys::TimerId::kNone;
    apply();
  });
}

void NetworkSync::apply() {
  dirty_ = false;
  applying_ = true;
  auto named = names_.write(host_entries(services_, slices_));
  auto script = service_rules({options_.layout, services_, slices_, options_.api_server});
  rules_.apply(std::move(script), [this, named, life = std::weak_ptr(life_)](Result<void> result) {
    if (life.expired()) return;
    if (result && !named) result = named.error();
    applied_all(result);
  });
}

void NetworkSync::applied_all(const Result<void>& result) {
  applying_ = false;
  if (result) {
    retry_ = kFirstRetry;
    if (dirty_) schedule(kGather);
    return;
  }
  sys::log_warning("the rules and names of services could not be brought up to date; trying again",
                   {{"error", result.error().message}});
  dirty_ = true;
  schedule(retry_);
  retry_ = std::min(2 * retry_, kLongestRetry);
}

}  // namespace gangway::agent
