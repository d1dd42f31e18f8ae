#include "client/mirror.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "client/resource.h"

namespace gangway::client {

Mirror::Mirror(ApiClient& client, sys::EventLoop& loop, std::uint64_t seed)
    : client_(client), loop_(loop), seed_(seed) {}

Informer& Mirror::watch(const Resource& resource, const std::vector<std::string>& indexed_fields) {
  auto& informer = informers_[resource];
  if (informer == nullptr) {
    InformerOptions options;
    options.what.resource = resource;
    options.seed = seed_ ^ std::hash<std::string>()(resource_name(resource));
    informer = std::make_unique<Informer>(client_, loop_, std::move(options));
    informer->start();
  }
  for (const std::string& path : indexed_fields) informer->add_index(path);
  return *informer;
}

void Mirror::drop(const Resource& resource) {
  informers_.erase(resource);
}

const Informer* Mirror::find(const Resource& resource) const {
  auto at = informers_.find(resource);
  return at == informers_.end() ? nullptr : at->second.get();
}

bool Mirror::has_synced() const {
  return std::all_of(informers_.begin(), informers_.end(),
                     [](const auto& entry) { return entry.second->has_synced(); });
}

void Mirror::stop() {
  for (auto& [resource, informer] : informers_) informer->stop();
}

const ObjectCache* Mirror::objects(const Resource& resource) const {
  const Informer* informer = find(resource);
  return informer == nullptr ? nullptr : &informer->objects();
}

void Mirror::for_each(const Visit& visit) const {
  for (const auto& [resource, informer] : informers_) visit(resource, informer->objects());
}

bool Mirror::has_reached(api::Revision revision) const {
  return std::all_of(informers_.begin(), informers_.end(), [revision](const auto& entry) {
    return entry.second->has_synced() && entry.second->revision() >= revision;
  });
}

}  // namespace gangway::client
