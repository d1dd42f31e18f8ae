// CoreStore: the part of a Store that its Core answers. See core.h for threads.
#pragma once

#include <memory>
#include <string>

#include "store/core.h"

namespace gangway::store {

class CoreStore : public Store {
 public:
  std::shared_ptr<const Root> root() const final { return core_->root(); }
  std::shared_ptr<const Root> head() const final { return core_->head(); }
  void when_published(Revision revision, sys::Completion<void> done) final {
    core_->when_published(revision, std::move(done));
  }
  Result<std::unique_ptr<Cursor>> watch(const api::ResourceName& resource, Revision after) const final {
    return core_->watch(resource, after);
  }
  std::unique_ptr<sys::Subscription> on_publish(sys::EventLoop& loop, sys::Task wake) final {
    return core_->on_publish(loop, std::move(wake));
  }

 protected:
  explicit CoreStore(std::shared_ptr<Core> core) : core_(std::move(core)) {}

  const std::shared_ptr<Core> core_;
};

}  // namespace gangway::store
