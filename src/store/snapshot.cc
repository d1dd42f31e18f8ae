#include "store/snapshot.h"

#include <utility>

namespace gangway::store {

const ObjectMap& Snapshot::objects(const api::ResourceName& resource) const {
  static const ObjectMap none;
  auto at = directory_->find(resource);
  return at == directory_->end() ? none : maps_[at->second];
}

std::vector<api::ResourceName> Snapshot::resources() const {
  std::vector<api::ResourceName> names;
  for (const auto& [name, index] : *directory_) {
    if (!maps_[index].empty()) names.push_back(name);
  }
  return names;
}

std::size_t Snapshot::size() const {
  std::size_t sum = 0;
  for (const auto& map : maps_) sum += map.size();
  return sum;
}

ObjectMap::Editor& Snapshot::Editor::edit(const api::ResourceName& resource) {
  auto at = edits_.find(resource);
  if (at == edits_.end()) at = edits_.try_emplace(resource, base_->objects(resource)).first;
  return at->second;
}

const api::Version* Snapshot::Editor::find(const api::ObjectKey& key) {
  auto at = edits_.find(key.resource);
  return at == edits_.end() ? base_->objects(key.resource).find(key.object) : at->second.find(key.object);
}

void Snapshot::Editor::put(const api::ResourceName& resource, api::Version version) {
  edit(resource).put(std::move(version));
}

void Snapshot::Editor::erase(const api::ObjectKey& key) {
  edit(key.resource).erase(key.object);
}

std::shared_ptr<const Snapshot> Snapshot::Editor::snapshot(Revision revision) {
  auto next = std::make_shared<Snapshot>(*base_);
  next->revision_ = revision;
  std::shared_ptr<Directory> grown;
  for (auto& [resource, edit] : edits_) {
    auto at = next->directory_->find(resource);
    if (at != next->directory_->end()) {
      next->maps_[at->second] = edit.map();
      continue;
    }
    // Resources of this batch are distinct, so each new one is looked up in the old directory only once.
    if (!grown) grown = std::make_shared<Directory>(*base_->directory_);
    grown->emplace(resource, next->maps_.size());
    next->maps_.push_back(edit.map());
  }
  if (grown) next->directory_ = std::move(grown);
  return next;
}

}  // namespace gangway::store
