// Snapshot: the Root that the stores of this folder publish. Immutable; any thread.
//
// Resources are numbered in the order in which they came up, so that the next snapshot copies one pointer a resource.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "store/object_map.h"
#include "store/store.h"

namespace gangway::store {

class Snapshot final : public Root {
 public:
  class Editor;

  Snapshot() = default;
  Revision revision() const override { return revision_; }
  const ObjectMap& objects(const api::ResourceName& resource) const override;
  // Those that have objects, sorted.
  std::vector<api::ResourceName> resources() const override;
  // Of all resources.
  std::size_t size() const;

 private:
  using Directory = std::map<api::ResourceName, std::size_t>;

  Revision revision_ = 0;
  std::shared_ptr<const Directory> directory_ = std::make_shared<const Directory>();
  std::vector<ObjectMap> maps_;
};

// Edits towards a new snapshot. Belongs to one thread.
class Snapshot::Editor {
 public:
  explicit Editor(std::shared_ptr<const Snapshot> base) : base_(std::move(base)) {}

  // The object as edited so far, or null.
  const api::Version* find(const api::ObjectKey& key);
  void put(const api::ResourceName& resource, api::Version version);
  void erase(const api::ObjectKey& key);

  std::shared_ptr<const Snapshot> snapshot(Revision revision);

 private:
  ObjectMap::Editor& edit(const api::ResourceName& resource);

  std::shared_ptr<const Snapshot> base_;
  std::map<api::ResourceName, ObjectMap::Editor> edits_;
};

}  // namespace gangway::store
