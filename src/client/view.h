// View: what a reconciler sees. Objects of several resources, what became of its last actions, and the time.
//
// A view is a value for one look: it refers to caches that do not change while the look lasts, because looks and
// informers run on the same loop. It is not a snapshot across resources: one resource may be further on than another.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

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
  // Whether everything up to `revision` is there, of all resources that are mirrored.
  virtual bool has_reached(api::Revision revision) const = 0;
};

// The answers to the probes of one key, by Probe::name.
using ProbeAnswers = std::map<std::string, Result<json::Value>, std::less<>>;

// An action of this key's last look whose effect cannot be counted on: it was refused, its answer was lost (the effect
// may be there all the same), or it succeeded and the mirror did not show it for too long.
struct Setback {
  std::string_view verb;  // as verb_of() says it
  Resource resource;
  api::ObjectName object;
  Error error;
};

// What is known of a key's last look beside the objects.
struct Recollection {
  ProbeAnswers probes;
  std::vector<Setback> setbacks;
};

class View {
 public:
  using Held = std::function<bool(const Resource&, const api::ObjectName&)>;

  View(const ObjectSource& source, WallTime now, const Recollection* last = nullptr, const Held* held = nullptr)
      : source_(source), now_(now), last_(last), held_(held) {}

  WallTime now() const { return now_; }
  // A resource that is not mirrored has no objects.
  const ObjectCache& objects(const Resource& resource) const;
  bool is_mirrored(const Resource& resource) const { return source_.objects(resource) != nullptr; }
  void for_each(const ObjectSource::Visit& visit) const { source_.for_each(visit); }
  // Whether what is not in the view did not exist at `revision` either.
  bool has_reached(api::Revision revision) const { return source_.has_reached(revision); }
  api::Version get(const Resource& resource, const api::ObjectName& name) const { return objects(resource).get(name); }

  // Whether a write of ours to the object is under way, or it rests after one that failed. Only for a reconciler that
  // assumes its own effects: the keys of others are not looked at meanwhile.
  bool is_held(const Resource& resource, const api::ObjectName& name) const;

  // What the probe `name` of this key's last look found; null when it was not asked then.
  const Result<json::Value>* answer(std::string_view name) const;
  // What went wrong with the actions of this key's last look.
  const std::vector<Setback>& setbacks() const;

 private:
  const ObjectSource& source_;
  WallTime now_;
  const Recollection* last_;
  const Held* held_;
};

}  // namespace gangway::client
