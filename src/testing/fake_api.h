// FakeApi: an ApiClient in memory, for tests of what talks to a cluster. Faults are scripted, or drawn from a seed.
//
// Runs on the loop it is given: requests arrive, and answers and events come back, each after its own lag, by post. It
// has no schemas and no users: that is the API server's business. FakeApiObjects says what it does to objects.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/api_client.h"
#include "sys/event_loop.h"
#include "testing/fake_api_objects.h"

namespace gangway::testing {

class FakeApi final : public client::ApiClient {
 public:
  explicit FakeApi(sys::EventLoop& loop) : loop_(loop) {}
  ~FakeApi() override;

  void call(client::ApiRequest request, sys::Completion<api::Version> done) override;
  void list(client::ListRequest request, sys::Completion<client::ListAnswer> done) override;
  [[nodiscard]] std::unique_ptr<sys::Subscription> watch(client::WatchRequest request,
                                                         client::WatchCallbacks callbacks) override;

  // ── what the test does as another client: at once, never failing by script ──
  Result<api::Version> apply(const client::ApiRequest& request);
  // These stop the test program when the API refuses: a test's own set-up must be right.
  api::Version create(const client::Resource& resource, const json::Value& object);
  api::Version patch(const client::Resource& resource, const api::ObjectName& name, const json::Value& patch,
                     const std::string& subresource = "");
  void remove(const client::Resource& resource, const api::ObjectName& name, const std::string& propagation = "");

  // ── what the test sees ──
  api::Version get(const client::Resource& resource, const api::ObjectName& name) const;
  // The object as a tree; null when there is none.
  json::Value tree(const client::Resource& resource, const api::ObjectName& name) const;
  const FakeApiObjects::Objects& objects(const client::Resource& resource) const;
  api::Revision revision() const { return objects_.revision(); }
  // Every call that changed or tried to change something, in the order of arrival.
  const std::vector<client::ApiRequest>& writes() const { return writes_; }
  std::size_t reads() const { return reads_; }
  void forget_calls();
  void set_selectable_fields(const client::Resource& resource, std::vector<std::string> paths);

  // ── faults ──
  struct Fault {
    std::function<bool(const client::ApiRequest&)> when;  // null: any write
    Error error;
    bool after_commit = false;  // the change is made, and only its answer is lost
    int times = 1;
  };
  void inject(Fault fault);
  // The next `times` lists of the resource answer with `error`.
  void fail_lists(const client::Resource& resource, Error error, int times = 1);
  // Ends all watches of the resource.
  void end_watches(const client::Resource& resource, Result<void> how);
  // Forgets the past: watches that are made from now on with an older revision expire.
  void compact() { objects_.compact(); }
  void send_bookmarks(const client::Resource& resource);
  // From now on every watch is told how far it is after each change, as an embedded server tells it.
  void set_bookmarks(bool always) { bookmarks_ = always; }

  void set_answer_lag(Duration lag) { answer_lag_ = lag; }
  void set_watch_lag(Duration lag) { watch_lag_ = lag; }
  void set_watch_lag(const client::Resource& resource, Duration lag);

  // From now on, in this share of a thousand: writes refused, writes done but their answers lost, watches broken off.
  struct Weather {
    unsigned refused = 0;
    unsigned lost = 0;
    unsigned broken_watches = 0;
    std::uint64_t seed = 1;
  };
  void set_weather(Weather weather);

 private:
  struct Watcher;
  class Watch;

  Result<api::Version> arrive(const client::ApiRequest& request);
  std::optional<Fault> take_fault(const client::ApiRequest& request);
  std::optional<Fault> draw_fault();
  bool chance(unsigned per_mille);
  void publish();
  void deliver(const std::shared_ptr<Watcher>& watcher);
  void deliver_bookmark(const std::shared_ptr<Watcher>& watcher);
  void end(const std::shared_ptr<Watcher>& watcher, Result<void> how);
  Duration watch_lag(const std::string& resource) const;

  sys::EventLoop& loop_;
  FakeApiObjects objects_;
  std::list<std::shared_ptr<Watcher>> watchers_;
  std::vector<client::ApiRequest> writes_;
  std::size_t reads_ = 0;
  std::list<Fault> faults_;
  std::map<client::Resource, std::list<Error>> list_errors_;
  Duration answer_lag_ = Duration::zero();
  Duration watch_lag_ = Duration::zero();
  std::map<std::string, Duration> watch_lags_;
  Weather weather_;
  std::uint64_t random_ = 1;
  bool bookmarks_ = false;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

// An error as a server gives it, for scripts.
Error an_error(Reason reason, int retry_after_seconds = 0);

}  // namespace gangway::testing
