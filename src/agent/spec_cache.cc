#include "agent/spec_cache.h"

#include "json/arena.h"

namespace gangway::agent {

std::shared_ptr<const PodSpec> SpecCache::get(const api::Version& version) {
  const auto [at, added] = entries_.try_emplace(version.header->uid);
  Entry& entry = at->second;
  if (!added) order_.erase(entry.place);
  entry.place = order_.insert(order_.end(), version.header->uid);
  if (!added && entry.revision == version.header->revision) return entry.spec;
  json::Arena arena;
  const auto tree = json::parse(*version.json, {}, nullptr, arena.storage());
  entry.revision = version.header->revision;
  entry.spec.reset();
  if (tree) {
    auto spec = std::make_shared<PodSpec>(read_pod_spec(*version.header, *tree));
    if (!processes_) leave_out_processes(*spec);
    entry.spec = std::move(spec);
  }
  std::shared_ptr<const PodSpec> found = entry.spec;
  if (entries_.size() > capacity_) forget(std::string(order_.front()));
  return found;
}

void SpecCache::forget(const std::string& pod_uid) {
  const auto at = entries_.find(pod_uid);
  if (at == entries_.end()) return;
  order_.erase(at->second.place);
  entries_.erase(at);
}

}  // namespace gangway::agent
