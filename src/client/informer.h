// Informer: a mirror of one resource, kept by list and watch.
//
//   stopped ── start ──► listing ── answer ──► watching ──┐ event, bookmark: the mirror moves on
//                          ▲  │                  ▲  │  ▲──┘
//                          │  └ error ► waiting  │  └ end: watch again from the last revision
//                          │              │      │  └ error: waiting, then watch again
//                          └──────────────┴──────┘
//                          └ kExpired, kGone: list again, tell the differences
//
// Not a source of truth: the mirror lags behind what calls have answered; revision() says how far it is. Everything
// here runs on the client's loop; there are no locks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/api_client.h"
#include "client/backoff.h"
#include "client/object_cache.h"
#include "sys/event_loop.h"

namespace gangway::client {

struct ObjectChange {
  enum class Type : std::uint8_t { kAdded, kModified, kDeleted };
  Type type = Type::kAdded;
  api::Version before;  // empty for kAdded
  api::Version now;     // for kDeleted the last state that is known
};

struct InformerHandlers {
  // A name that comes back with another uid is told as a deletion and an addition.
  std::function<void(const ObjectChange&)> on_change;
  // revision() or has_synced() moved on; comes after the changes it is about.
  std::function<void()> on_progress;
};

struct InformerOptions {
  ListRequest what;
  std::vector<std::string> indexed_fields;  // for ObjectCache::with_field
  Backoff::Limits backoff;
  std::uint64_t seed = 0;  // of the jitter
};

struct InformerStatus {
  std::uint64_t lists = 0;
  std::uint64_t watches = 0;
  std::uint64_t events = 0;
  std::uint64_t errors = 0;
  std::string last_error;  // "" while all is well
};

class Informer {
 public:
  Informer(ApiClient& client, sys::EventLoop& loop, InformerOptions options);
  ~Informer();
  Informer(const Informer&) = delete;
  Informer& operator=(const Informer&) = delete;

  void start();
  // The mirror keeps what it has. A stopped informer may be started again.
  void stop();

  // The first list is in.
  bool has_synced() const { return synced_; }
  // Everything that happened to the resource up to here is in the mirror.
  api::Revision revision() const { return revision_; }
  const ObjectCache& objects() const { return objects_; }
  const Resource& resource() const { return options_.what.resource; }
  const InformerStatus& status() const { return status_; }

  // For ObjectCache::with_field, besides those in the options.
  void add_index(const std::string& path) { objects_.add_index(path); }
  void add_index(const KeyIndex& index) { objects_.add_index(index); }

  // What is in the mirror already is told as added, from inside this call.
  [[nodiscard]] std::unique_ptr<sys::Subscription> subscribe(InformerHandlers handlers);

 private:
  class Registration;
  // Shared, so that a handler that ends its own registration is not destroyed while it runs.
  using Registry = std::map<std::uint64_t, std::shared_ptr<const InformerHandlers>>;

  void list();
  void listed(Result<ListAnswer> answer);
  void replace_all(ListAnswer answer);
  void watch();
  void on_event(WatchEvent event);
  void on_watch_end(Result<void> result);
  void fail(const Error& error, bool must_list);
  void again_after(Duration delay, bool must_list);

  void store(api::Version now);
  void remove(const api::Version& now);
  template <class Call>
  void for_each_handler(const Call& call);
  void tell(const ObjectChange& change);
  void tell_progress();

  ApiClient& client_;
  sys::EventLoop& loop_;
  InformerOptions options_;
  Backoff backoff_;
  ObjectCache objects_;
  api::Revision revision_ = 0;
  bool synced_ = false;
  InformerStatus status_;

  std::shared_ptr<Registry> registry_;  // registrations outlive the informer at their own risk
  std::uint64_t next_registration_ = 1;

  // Answers of an earlier start() are recognised by their expired token.
  std::shared_ptr<const bool> life_;
  std::unique_ptr<sys::Subscription> watch_;
  MonoTime watch_began_;
  sys::TimerId timer_ = sys::TimerId::kNone;
};

}  // namespace gangway::client
