// PagedRoots: keeps the roots that unfinished paged lists go on from, so that all pages show one revision.
//
// Roots share what did not change, so holding one costs only what changed since. Thread-safe.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "base/time.h"
#include "store/store.h"

namespace gangway::apiserver {

class PagedRoots {
 public:
  explicit PagedRoots(std::size_t most = 256, Duration lifetime = std::chrono::minutes(5))
      : most_(most), lifetime_(lifetime) {}

  void hold(std::shared_ptr<const store::Root> root, WallTime now);
  // Null once the root was let go.
  std::shared_ptr<const store::Root> find(api::Revision revision, WallTime now);

 private:
  struct Held {
    std::shared_ptr<const store::Root> root;
    WallTime until;
  };
  void drop_expired(WallTime now);

  const std::size_t most_;
  const Duration lifetime_;
  std::mutex mutex_;
  std::list<Held> held_;  // most recently used first
};

}  // namespace gangway::apiserver
