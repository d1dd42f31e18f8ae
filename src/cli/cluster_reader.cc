#include "cli/cluster_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>
#include <utility>

#include "client/resource.h"

namespace gangway::cli {
namespace {

// One reading of a cluster, while its lists are under way.
struct Collection {
  std::shared_ptr<ListedObjects> objects = std::make_shared<ListedObjects>();
  sys::Completion<std::shared_ptr<ListedObjects>> done;
  std::size_t open = 0;
  std::set<std::string> forbidden;
  std::optional<Error> refusal;  // of the first that was forbidden
  std::optional<Error> failure;

  void take(const client::Resource& resource, Result<client::ListAnswer> answer) {
    if (answer) {
      for (api::Version& item : answer->items) objects->of(resource).put(std::move(item));
    } else if (answer.error().reason == Reason::kForbidden) {
      forbidden.insert(client::resource_name(resource));
      if (!refusal) refusal = answer.error();
    } else if (answer.error().reason != Reason::kNotFound && !failure) {
      failure = std::move(answer.error()).within(client::resource_name(resource));
    }
    if (--open == 0) finish();
  }

  void finish() {
    if (failure) return done(*failure);
    if (!refusal) return done(objects);
    Error error = *refusal;
    error.message = fmt::format(
        "you may not list {} in all namespaces; a ClusterRole with the verb list on them is needed (the server says: "
        "{})",
        fmt::join(forbidden, ", "), refusal->message);
    done(std::move(error));
  }
};

}  // namespace

const client::ObjectCache* ListedObjects::objects(const client::Resource& resource) const {
  const auto at = caches_.find(resource);
  return at == caches_.end() ? nullptr : &at->second;
}

void ListedObjects::for_each(const Visit& visit) const {
  for (const auto& [resource, cache] : caches_) visit(resource, cache);
}

std::vector<Reading> readings_for(const client::Reconciler& reconciler) {
  std::vector<Reading> readings;
  for (const client::WatchRule& rule : reconciler.watches()) {
    Reading reading{.indexed_fields = rule.indexed_fields, .indexes = rule.indexes};
    reading.what.resource = rule.resource;
    readings.push_back(std::move(reading));
  }
  return readings;
}

void read_cluster(client::ApiClient& client, const std::vector<Reading>& readings,
                  sys::Completion<std::shared_ptr<ListedObjects>> done) {
  auto collection = std::make_shared<Collection>();
  collection->done = std::move(done);
  collection->open = readings.size();
  for (const Reading& reading : readings) {
    client::ObjectCache& cache = collection->objects->of(reading.what.resource);
    for (const std::string& path : reading.indexed_fields) cache.add_index(path);
    for (const client::KeyIndex& index : reading.indexes) cache.add_index(index);
  }
  for (const Reading& reading : readings) {
    client.list(reading.what, [collection, resource = reading.what.resource](Result<client::ListAnswer> answer) {
      collection->take(resource, std::move(answer));
    });
  }
}

}  // namespace gangway::cli
