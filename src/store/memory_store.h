// MemoryStore: a Store that forgets everything when it ends, unless somebody kept its root. For tests, simulations and
// trials.
//
// It publishes by post, like a store with a disk does, so that code which only works when commits are instant fails
// with it too. Threads: as store.h says; make and end it on the API loop's thread.
#pragma once

#include <string>
#include <vector>

#include "store/core_store.h"

namespace gangway::store {

class MemoryStore final : public CoreStore {
 public:
  // It begins with `opening`, a root of an earlier MemoryStore, and goes on from its revision; null: empty.
  explicit MemoryStore(sys::EventLoop& loop, const WatchLimits& limits = {},
                       const std::shared_ptr<const Root>& opening = nullptr);
  ~MemoryStore() override;

  void commit(std::vector<Write> writes, Durability durability, sys::Completion<Committed> done) override;
  Result<void> backup(const std::string& path) const override;
  StoreStatus status() const override { return core_->status(); }

 private:
  sys::EventLoop& loop_;
};

}  // namespace gangway::store
