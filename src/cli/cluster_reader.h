// Reading a cluster once, as it stands, through any ApiClient: lists, no watches. For commands that answer and end.
//
// Kinds that the server does not serve have no objects, so that what is asked of the embedded cluster can be asked of
// any Kubernetes. It is not a snapshot across resources, as no View is one. Runs on the client's loop; what was read
// belongs to whoever got it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "client/api_client.h"
#include "client/object_cache.h"
#include "client/reconciler.h"
#include "client/view.h"
#include "sys/completion.h"

namespace gangway::cli {

// What was listed, for a client::View. Objects that exist only on paper can be put beside it.
class ListedObjects final : public client::ObjectSource {
 public:
  // Made empty when there is none yet.
  client::ObjectCache& of(const client::Resource& resource) { return caches_[resource]; }

  const client::ObjectCache* objects(const client::Resource& resource) const override;
  void for_each(const Visit& visit) const override;
  bool has_reached(api::Revision) const override { return true; }

 private:
  std::map<client::Resource, client::ObjectCache> caches_;
};

struct Reading {
  client::ListRequest what = {};
  std::vector<std::string> indexed_fields = {};
  std::vector<client::KeyIndex> indexes = {};
};

// Everything that the reconciler would watch, with the indexes that it asks of its view.
std::vector<Reading> readings_for(const client::Reconciler& reconciler);

// All of it or an error; one that is about rights names every resource that may not be listed.
void read_cluster(client::ApiClient& client, const std::vector<Reading>& readings,
                  sys::Completion<std::shared_ptr<ListedObjects>> done);

}  // namespace gangway::cli
