#include "testing/fake_api.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "client/resource.h"

namespace gangway::testing {

using client::ApiRequest;
using client::ListAnswer;
using client::ListRequest;
using client::Method;
using client::Resource;
using client::WatchCallbacks;
using client::WatchEvent;
using client::WatchRequest;

struct FakeApi::Watcher {
  WatchRequest request;
  WatchCallbacks callbacks;
  std::string resource;
  api::Revision sent = 0;  // every event up to here is scheduled
  bool open = true;
};

class FakeApi::Watch final : public sys::Subscription {
 public:
  explicit Watch(std::shared_ptr<Watcher> watcher) : watcher_(std::move(watcher)) {}
  ~Watch() override { watcher_->open = false; }

 private:
  std::shared_ptr<Watcher> watcher_;
};

namespace {

bool is_wanted(const ListRequest& request, const api::Version& version) {
  return request.ns.empty() || version.header->name.ns == request.ns;
}

}  // namespace

Error an_error(Reason reason, int retry_after_seconds) {
  Error error;
  error.reason = reason;
  error.message = "scripted: " + std::string(to_string(reason));
  error.retry_after_seconds = retry_after_seconds;
  return error;
}

FakeApi::~FakeApi() {
  for (const auto& watcher : watchers_) watcher->open = false;
}

void FakeApi::call(ApiRequest request, sys::Completion<api::Version> done) {
  loop_.post([this, request = std::move(request), done = std::move(done), life = std::weak_ptr(life_)]() mutable {
    if (life.expired()) return;
    loop_.run_after(answer_lag_, [answer = arrive(request), done = std::move(done)] { done(answer); });
  });
}

Result<api::Version> FakeApi::arrive(const ApiRequest& request) {
  if (request.method == Method::kGet) {
    ++reads_;
    return objects_.apply(request, loop_.clock().wall());
  }
  writes_.push_back(request);
  auto fault = take_fault(request);
  if (!fault) fault = draw_fault();
  if (fault && !fault->after_commit) return fault->error;
  auto answer = apply(request);
  if (fault) return fault->error;
  return answer;
}

std::optional<FakeApi::Fault> FakeApi::take_fault(const ApiRequest& request) {
  for (auto at = faults_.begin(); at != faults_.end(); ++at) {
    if (at->when && !at->when(request)) continue;
    Fault fault = *at;
    if (--at->times == 0) faults_.erase(at);
    return fault;
  }
  return std::nullopt;
}

std::optional<FakeApi::Fault> FakeApi::draw_fault() {
  constexpr std::array kRefusals = {Reason::kConflict, Reason::kTooManyRequests, Reason::kInternalError,
                                    Reason::kServiceUnavailable};
  if (chance(weather_.refused)) {
    const Reason reason = kRefusals[random_ % kRefusals.size()];
    return Fault{nullptr, an_error(reason, reason == Reason::kTooManyRequests ? 1 : 0), false, 1};
  }
  if (chance(weather_.lost)) return Fault{nullptr, an_error(Reason::kTimeout), true, 1};
  return std::nullopt;
}

bool FakeApi::chance(unsigned per_mille) {
  if (per_mille == 0) return false;
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return (random_ >> 33) % 1000 < per_mille;
}

Result<api::Version> FakeApi::apply(const ApiRequest& request) {
  auto answer = objects_.apply(request, loop_.clock().wall());
  publish();
  return answer;
}

void FakeApi::list(ListRequest request, sys::Completion<ListAnswer> done) {
  loop_.post([this, request = std::move(request), done = std::move(done), life = std::weak_ptr(life_)]() mutable {
    if (life.expired()) return;
    ++reads_;
    auto& errors = list_errors_[request.resource];
    Result<ListAnswer> answer = ListAnswer{.revision = objects_.revision(), .items = {}};
    if (!errors.empty()) {
      answer = errors.front();
      errors.pop_front();
    } else {
      for (const auto& [name, version] : objects(request.resource))
        if (is_wanted(request, version)) answer->items.push_back(version);
    }
    loop_.run_after(answer_lag_, [answer = std::move(answer), done = std::move(done)] { done(answer); });
  });
}

std::unique_ptr<sys::Subscription> FakeApi::watch(WatchRequest request, WatchCallbacks callbacks) {
  auto watcher = std::make_shared<Watcher>();
  watcher->resource = client::resource_name(request.what.resource);
  watcher->sent = request.after;
  watcher->request = std::move(request);
  watcher->callbacks = std::move(callbacks);
  watchers_.push_back(watcher);
  if (watcher->sent < objects_.oldest(watcher->resource)) {
    end(watcher, an_error(Reason::kExpired));
  } else {
    deliver(watcher);
    if (bookmarks_) deliver_bookmark(watcher);
  }
  return std::make_unique<Watch>(watcher);
}

void FakeApi::publish() {
  watchers_.remove_if([](const auto& watcher) { return !watcher->open; });
  for (const auto& watcher : std::list(watchers_)) {
    if (chance(weather_.broken_watches)) {
      end(watcher, chance(500) ? Result<void>(an_error(Reason::kInternalError)) : Result<void>());
    } else {
      deliver(watcher);
      if (bookmarks_) deliver_bookmark(watcher);
    }
  }
}

void FakeApi::deliver(const std::shared_ptr<Watcher>& watcher) {
  const auto& log = objects_.log(watcher->resource);
  auto at = std::upper_bound(log.begin(), log.end(), watcher->sent, [](api::Revision sent, const auto& event) {
    return sent < event.object.header->revision;
  });
  for (; at != log.end(); ++at) {
    watcher->sent = at->object.header->revision;
    if (!is_wanted(watcher->request.what, at->object)) continue;
    loop_.run_after(watch_lag(watcher->resource), [watcher, event = *at] {
      if (watcher->open) watcher->callbacks.on_event(event);
    });
  }
}

void FakeApi::end(const std::shared_ptr<Watcher>& watcher, Result<void> how) {
  watchers_.remove(watcher);
  loop_.run_after(watch_lag(watcher->resource), [watcher, how = std::move(how)] {
    if (std::exchange(watcher->open, false)) watcher->callbacks.on_end(how);
  });
}

void FakeApi::end_watches(const Resource& resource, Result<void> how) {
  for (const auto& watcher : std::list(watchers_))
    if (watcher->open && watcher->request.what.resource == resource) end(watcher, how);
}

void FakeApi::deliver_bookmark(const std::shared_ptr<Watcher>& watcher) {
  api::Header header;
  header.revision = objects_.revision();
  const WatchEvent event{WatchEvent::Type::kBookmark, {std::make_shared<const api::Header>(header), nullptr}};
  loop_.run_after(watch_lag(watcher->resource), [watcher, event] {
    if (watcher->open) watcher->callbacks.on_event(event);
  });
}

void FakeApi::send_bookmarks(const Resource& resource) {
  for (const auto& watcher : watchers_)
    if (watcher->request.what.resource == resource) deliver_bookmark(watcher);
}

api::Version FakeApi::create(const Resource& resource, const json::Value& object) {
  ApiRequest request;
  request.method = Method::kCreate;
  request.resource = resource;
  request.object.ns = json::string_at(object, {"metadata", "namespace"});
  request.body = json::serialize(object);
  auto answer = apply(request);
  GW_CHECK(answer.has_value());
  return *answer;
}

api::Version FakeApi::patch(const Resource& resource, const api::ObjectName& name, const json::Value& patch,
                            const std::string& subresource) {
  ApiRequest request;
  request.method = Method::kPatch;
  request.resource = resource;
  request.object = name;
  request.subresource = subresource;
  request.body = json::serialize(patch);
  auto answer = apply(request);
  GW_CHECK(answer.has_value());
  return *answer;
}

void FakeApi::remove(const Resource& resource, const api::ObjectName& name, const std::string& propagation) {
  ApiRequest request;
  request.method = Method::kDelete;
  request.resource = resource;
  request.object = name;
  if (!propagation.empty()) request.body = json::serialize(json::Object{{"propagationPolicy", propagation}});
  GW_CHECK(apply(request).has_value());
}

api::Version FakeApi::get(const Resource& resource, const api::ObjectName& name) const {
  const auto& all = objects(resource);
  auto at = all.find(name);
  return at == all.end() ? api::Version() : at->second;
}

json::Value FakeApi::tree(const Resource& resource, const api::ObjectName& name) const {
  const api::Version version = get(resource, name);
  if (!version) return nullptr;
  auto parsed = json::parse(*version.json);
  GW_CHECK(parsed.has_value());
  return *parsed;
}

const FakeApiObjects::Objects& FakeApi::objects(const Resource& resource) const {
  return objects_.objects(client::resource_name(resource));
}

void FakeApi::forget_calls() {
  writes_.clear();
  reads_ = 0;
}

void FakeApi::set_selectable_fields(const Resource& resource, std::vector<std::string> paths) {
  objects_.set_selectable_fields(client::resource_name(resource), std::move(paths));
}

void FakeApi::inject(Fault fault) {
  faults_.push_back(std::move(fault));
}

void FakeApi::fail_lists(const Resource& resource, Error error, int times) {
  for (int i = 0; i < times; ++i) list_errors_[resource].push_back(error);
}

void FakeApi::set_watch_lag(const Resource& resource, Duration lag) {
  watch_lags_[client::resource_name(resource)] = lag;
}

Duration FakeApi::watch_lag(const std::string& resource) const {
  auto at = watch_lags_.find(resource);
  return at == watch_lags_.end() ? watch_lag_ : at->second;
}

void FakeApi::set_weather(Weather weather) {
  weather_ = weather;
  random_ = weather.seed;
}

}  // namespace gangway::testing
