// Reconciler: a controller's mind. Pure: it sees a view and says which actions are allowed now.
//
// The rules, which the Controller enforces around it:
// - an Outcome is a set: its actions may be done in any order, or all but one of them; what must come later comes from
//   the next look, and what must be remembered is written to an object first;
// - after actions the key is looked at again, but not before every answer is in and the mirror shows their effects; for
//   a reconciler that assumes its own effects, only the objects that it wrote to are held (View::is_held), and the key
//   is looked at whenever something has changed;
// - looking twice at the same state gives no actions the second time.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/action.h"
#include "client/informer.h"
#include "client/view.h"
#include "client/work_queue.h"

namespace gangway::client {

struct Outcome {
  std::vector<Action> allowed_now;
  std::optional<WallTime> look_again_at;

  // Of several moments the earliest counts.
  void look_again(WallTime when);
};

using KeySink = std::function<void(const api::ObjectKey&, WorkQueue::Priority)>;
// Which keys a change concerns.
using KeyMapper = std::function<void(const ObjectChange&, const View&, const KeySink&)>;

// One resource that a reconciler reads, and what to look at when it changes.
struct WatchRule {
  Resource resource;
  KeyMapper keys = {};                           // null: read only
  std::vector<std::string> indexed_fields = {};  // see Mirror::watch
  std::vector<KeyIndex> indexes = {};            // for ObjectCache::with_key
  // No look before this resource is mirrored. One that is not required is waited for only so long.
  bool required = true;
};

class Reconciler {
 public:
  virtual ~Reconciler() = default;
  virtual std::vector<WatchRule> watches() const = 0;
  virtual Outcome reconcile(const api::ObjectKey& key, const View& view) const = 0;
  // Whether it takes into account what it has asked for and the mirror does not show yet. It then asks no probes, and
  // what it asks for on an object that is held is not done.
  virtual bool assumes_its_effects() const { return false; }
};

// The key of an object of `resource`.
api::ObjectKey key_of(const Resource& resource, const api::ObjectName& name);
// A change concerns the object itself.
KeyMapper itself(const Resource& resource, WorkQueue::Priority priority = WorkQueue::Priority::kNormal);
// A change concerns the object's controlling owner when that is of `kind`, before and after.
KeyMapper its_controller(const Resource& owner_resource, std::string kind);
// A change concerns the cluster-scoped object of `resource` that bears the changed object's namespace as its name.
KeyMapper its_namespace(const Resource& resource);

}  // namespace gangway::client
