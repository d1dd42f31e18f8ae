// Mirror: the informers of a process, one a resource, shared by its controllers. What views are made of.
//
// Owned by the control loop. References to informers stay valid until drop() or the mirror's end.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/informer.h"
#include "client/view.h"

namespace gangway::client {

class Mirror final : public ObjectSource {
 public:
  Mirror(ApiClient& client, sys::EventLoop& loop, std::uint64_t seed = 0);

  // The informer of a resource, made and started when there is none yet. `indexed_fields` are added to its indexes.
  Informer& watch(const Resource& resource, const std::vector<std::string>& indexed_fields = {});
  // Stops mirroring. Does nothing when it was not mirrored.
  void drop(const Resource& resource);
  const Informer* find(const Resource& resource) const;

  // Every informer has its first list.
  bool has_synced() const;
  void stop();

  const ObjectCache* objects(const Resource& resource) const override;
  void for_each(const Visit& visit) const override;
  bool has_reached(api::Revision revision) const override;

 private:
  ApiClient& client_;
  sys::EventLoop& loop_;
  std::uint64_t seed_;
  std::map<Resource, std::unique_ptr<Informer>> informers_;
};

}  // namespace gangway::client
