// Derived<T>: a value computed from the objects of a few resources and kept until one of them changes.
//
// What the registry is to CustomResourceDefinitions and the RBAC policy to roles and bindings. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "store/store.h"

namespace gangway::apiserver {

template <class T>
class Derived {
 public:
  using Build = std::function<std::shared_ptr<const T>(const store::Root&)>;

  Derived(std::vector<api::ResourceName> inputs, Build build) : inputs_(std::move(inputs)), build_(std::move(build)) {
    seen_.resize(inputs_.size());
  }

  std::shared_ptr<const T> get(const store::Root& root) {
    std::lock_guard lock(mutex_);
    if (value_ && root.revision() <= revision_) return value_;
    bool changed = !value_;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto& objects = root.objects(inputs_[i]);
      if (objects.same_as(seen_[i])) continue;
      seen_[i] = objects;
      changed = true;
    }
    if (changed) value_ = build_(root);
    revision_ = root.revision();
    return value_;
  }

 private:
  const std::vector<api::ResourceName> inputs_;
  const Build build_;
  std::mutex mutex_;
  std::vector<store::ObjectMap> seen_;
  api::Revision revision_ = 0;
  std::shared_ptr<const T> value_;
};

}  // namespace gangway::apiserver
