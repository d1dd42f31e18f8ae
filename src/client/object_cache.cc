#include "client/object_cache.h"

#include <utility>

#include "base/check.h"

namespace gangway::client {
namespace {

template <class Index>
void drop(Index& index, std::string_view key, const api::ObjectName* name) {
  auto at = index.find(key);
  if (at == index.end()) return;
  at->second.erase(name);
  if (at->second.empty()) index.erase(at);
}

}  // namespace

ObjectCache::ObjectCache(std::vector<std::string> indexed_fields) {
  for (std::string& path : indexed_fields) by_field_.emplace(std::move(path), Index());
}

api::Version ObjectCache::put(api::Version version) {
  GW_CHECK(version.header != nullptr);
  auto [at, added] = objects_.try_emplace(version.header->name);
  if (!added) unlink(&at->first, *at->second.header);
  link(&at->first, *version.header);
  return std::exchange(at->second, std::move(version));
}

api::Version ObjectCache::erase(const api::ObjectName& name) {
  auto at = objects_.find(name);
  if (at == objects_.end()) return {};
  unlink(&at->first, *at->second.header);
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

std::vector<api::Version> ObjectCache::with_field(std::string_view path, std::string_view value) const {
  auto at = by_field_.find(path);
  GW_CHECK(at != by_field_.end());
  return collect(at->second, value);
}

std::vector<api::Version> ObjectCache::collect(const Index& index, std::string_view key) const {
  std::vector<api::Version> found;
  auto at = index.find(key);
  if (at == index.end()) return found;
  found.reserve(at->second.size());
  for (const api::ObjectName* name : at->second) found.push_back(objects_.find(*name)->second);
  return found;
}

void ObjectCache::link(const api::ObjectName* name, const api::Header& header) {
  for (const api::OwnerReference& owner : header.owners) by_owner_[owner.uid].insert(name);
  for (auto& [path, index] : by_field_) index[std::string(header.field(path))].insert(name);
}

void ObjectCache::unlink(const api::ObjectName* name, const api::Header& header) {
  for (const api::OwnerReference& owner : header.owners) drop(by_owner_, owner.uid, name);
  for (auto& [path, index] : by_field_) drop(index, header.field(path), name);
}

}  // namespace gangway::client
