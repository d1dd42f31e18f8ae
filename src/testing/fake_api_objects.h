// The objects behind a FakeApi: what an API server does to an object on each verb, without schemas or users.
//
// Close to Kubernetes where controllers can tell: uids, resource versions, generations, finalizers, propagation
// policies, preconditions, the status, finalize and binding subresources, the life of a namespace. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/object.h"
#include "base/result.h"
#include "base/time.h"
#include "client/api_client.h"
#include "json/value.h"

namespace gangway::testing {

class FakeApiObjects {
 public:
  using Event = client::WatchEvent;
  using Objects = std::map<api::ObjectName, api::Version>;

  // Paths of selectable fields, by resource name; for Header::fields.
  void set_selectable_fields(const std::string& resource, std::vector<std::string> paths);

  Result<api::Version> apply(const client::ApiRequest& request, WallTime now);

  api::Revision revision() const { return revision_; }
  const Objects& objects(const std::string& resource) const;
  const std::vector<Event>& log(const std::string& resource) const;
  // Forgets all events so far: a watch from before now expires.
  void compact();
  api::Revision oldest(const std::string& resource) const;

 private:
  struct Place {
    Objects objects;
    std::vector<Event> log;
    api::Revision oldest = 0;
    std::vector<std::string> fields;
  };

  Result<api::Version> create(const client::ApiRequest& request, WallTime now);
  Result<api::Version> bind(const client::ApiRequest& request);
  Result<api::Version> modify(const client::ApiRequest& request, WallTime now);
  Result<api::Version> remove(const client::ApiRequest& request, WallTime now);
  Result<json::Value> next_state(const client::ApiRequest& request, const json::Value& before) const;
  Result<api::Version> current(const client::ApiRequest& request) const;
  // Stores `object` at the next revision, or ends it when nothing keeps it any more.
  Result<api::Version> commit(const std::string& resource, json::Value object, Event::Type type);

  std::map<std::string, Place> places_;
  api::Revision revision_ = 1;
  std::uint64_t last_uid_ = 0;
};

}  // namespace gangway::testing
