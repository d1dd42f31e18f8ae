#include "client/object_cache.h"

#include <utility>

#include "api/owner.h"
#include "base/check.h"

namespace gangway::client {
namespace {

// Owners come and go without end; forgetting their counts costs only the freshness of names.
constexpr std::size_t kMostDeparted = 100'000;

template <class Index, class Entry>
void drop(Index& index, std::string_view key, const Entry* entry) {
  auto at = index.find(key);
  if (at == index.end()) return;
  at->second.erase(entry);
  if (at->second.empty()) index.erase(at);
}

}  // namespace

ObjectCache::ObjectCache(std::vector<std::string> indexed_fields) {
  for (std::string& path : indexed_fields) by_field_.emplace(std::move(path), Index());
}

void ObjectCache::add_index(const std::string& path) {
  auto [index, added] = by_field_.try_emplace(path);
  if (!added) return;
  for (const Entry& entry : objects_) index->second[std::string(entry.second.header->field(path))].insert(&entry);
}

void ObjectCache::add_index(const KeyIndex& index) {
  auto [at, added] = by_key_.try_emplace(index.name);
  if (!added) return;
  at->second.definition = index;
  for (const Entry& entry : objects_) link(at->second, &entry);
}

api::Version ObjectCache::put(api::Version version) {
  GW_CHECK(version.header != nullptr);
  auto [at, added] = objects_.try_emplace(version.header->name);
  if (!added) {
    unlink(&*at);
    if (at->second.json != version.json) forget_facts(at->second);
  }
  api::Version before = std::exchange(at->second, std::move(version));
  link(&*at);
  return before;
}

api::Version ObjectCache::erase(const api::ObjectName& name) {
  auto at = objects_.find(name);
  if (at == objects_.end()) return {};
  unlink(&*at);
  forget_facts(at->second);
  if (departed_.size() >= kMostDeparted) departed_.clear();
  for (const api::OwnerReference& owner : at->second.header->owners) ++departed_[owner.uid];
  api::Version before = std::move(at->second);
  objects_.erase(at);
  return before;
}

api::Version ObjectCache::get(const api::ObjectName& name) const {
  auto at = objects_.find(name);
  return at == objects_.end() ? api::Version() : at->second;
}

std::vector<api::Version> ObjectCache::in_namespace(std::string_view ns) const {
  std::vector<api::Version> found;
  for (auto at = objects_.lower_bound({std::string(ns), ""}); at != objects_.end() && at->first.ns == ns; ++at)
    found.push_back(at->second);
  return found;
}

std::vector<api::Version> ObjectCache::owned_by(std::string_view uid) const {
  return collect(by_owner_, uid);
}

void ObjectCache::for_each_owned_by(std::string_view uid, const Visit& visit) const {
  auto at = by_owner_.find(uid);
  if (at == by_owner_.end()) return;
  for (const Entry* entry : at->second) visit(entry->second);
}

std::vector<api::Version> ObjectCache::without_controller(std::string_view ns) const {
  return collect(uncontrolled_, ns);
}

std::vector<api::Version> ObjectCache::with_field(std::string_view path, std::string_view value) const {
  auto at = by_field_.find(path);
  GW_CHECK(at != by_field_.end());
  return collect(at->second, value);
}

std::vector<api::Version> ObjectCache::with_key(std::string_view index, std::string_view key) const {
  auto at = by_key_.find(index);
  GW_CHECK(at != by_key_.end());
  return collect(at->second.entries, key);
}

std::uint64_t ObjectCache::departed(std::string_view owner_uid) const {
  auto at = departed_.find(owner_uid);
  return at == departed_.end() ? 0 : at->second;
}

std::size_t ObjectCache::count_with_field(std::string_view path, std::string_view value) const {
  auto index = by_field_.find(path);
  GW_CHECK(index != by_field_.end());
  auto at = index->second.find(value);
  return at == index->second.end() ? 0 : at->second.size();
}

std::vector<api::Version> ObjectCache::collect(const Index& index, std::string_view key) {
  std::vector<api::Version> found;
  auto at = index.find(key);
  if (at == index.end()) return found;
  found.reserve(at->second.size());
  for (const Entry* entry : at->second) found.push_back(entry->second);
  return found;
}

void ObjectCache::link(const Entry* entry) {
  const api::Header& header = *entry->second.header;
  for (const api::OwnerReference& owner : header.owners) by_owner_[owner.uid].insert(entry);
  if (api::controller_of(header) == nullptr) uncontrolled_[header.name.ns].insert(entry);
  for (auto& [path, index] : by_field_) index[std::string(header.field(path))].insert(entry);
  for (auto& [name, index] : by_key_) link(index, entry);
}

void ObjectCache::link(Keyed& index, const Entry* entry) const {
  std::vector<std::string> keys = index.definition.keys(*this, entry->second);
  if (keys.empty()) return;
  for (const std::string& key : keys) index.entries[key].insert(entry);
  index.keys.emplace(entry, std::move(keys));
}

void ObjectCache::unlink(const Entry* entry) {
  const api::Header& header = *entry->second.header;
  for (const api::OwnerReference& owner : header.owners) drop(by_owner_, owner.uid, entry);
  if (api::controller_of(header) == nullptr) drop(uncontrolled_, header.name.ns, entry);
  for (auto& [path, index] : by_field_) drop(index, header.field(path), entry);
  for (auto& [name, index] : by_key_) {
    const auto at = index.keys.find(entry);
    if (at == index.keys.end()) continue;
    for (const std::string& key : at->second) drop(index.entries, key, entry);
    index.keys.erase(at);
  }
}

void ObjectCache::forget_facts(const api::Version& version) {
  for (auto& [type, kept] : facts_) kept.erase(version.json.get());
}

bool ObjectCache::is_current(const api::Version& version) const {
  auto at = objects_.find(version.header->name);
  return at != objects_.end() && at->second.json == version.json;
}

}  // namespace gangway::client
