// View: what a reconciler sees. Objects of several resources, the answers to its probes, and the time.
//
// A view is a value for one look: it refers to caches that do not change while the look lasts, because looks and
// informers run on the same loop. It is not a snapshot across resources: one resource may be further on than another.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "client/api_client.h"
#include "client/object_cache.h"
#include "json/value.h"

namespace gangway::client {

// Where views take their objects from.
class ObjectSource {
 public:
  virtual ~ObjectSource() = default;
  // Null for a resource that is not mirrored.
  virtual const ObjectCache* objects(const Resource& resource) const = 0;
  using Visit = std::function<void(const Resource&, const ObjectCache&)>;
  // All that are mirrored, in order.
  virtual void for_each(const Visit& visit) const = 0;
};

// The answers to the probes of one key, by Probe::name.
using ProbeAnswers = std::map<std::string, Result<json::Value>, std::less<>>;

class View {
 public:
  View(const ObjectSource& source, WallTime now, const ProbeAnswers* answers = nullptr)
      : source_(source), now_(now), answers_(answers) {}

  WallTime now() const { return now_; }
  // A resource that is not mirrored has no objects.
  const ObjectCache& objects(const Resource& resource) const;
  bool is_mirrored(const Resource& resource) const { return source_.objects(resource) != nullptr; }
  void for_each(const ObjectSource::Visit& visit) const { source_.for_each(visit); }
  api::Version get(const Resource& resource, const api::ObjectName& name) const { return objects(resource).get(name); }

  // What the probe `name` of this key's last look found; null when it was not asked then.
  const Result<json::Value>* answer(std::string_view name) const;

 private:
  const ObjectSource& source_;
  WallTime now_;
  const ProbeAnswers* answers_;
};

}  // namespace gangway::client
