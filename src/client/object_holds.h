// ObjectHolds: the objects that a reconciler which assumes its own effects has written to, and leaves alone for now.
//
//   write ─► answer missing ─┬─ done ─► mirror behind ─► shown, or not shown for too long ─► free
//                            └─ failed ─► resting, longer each time ────────────────────────► free
//
// At most one write an object is under way. Says nothing about what the effects are: the reconciler knows. Owned by the
// loop of the Controller.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "client/action_runner.h"
#include "client/informer.h"
#include "sys/event_loop.h"

namespace gangway::client {

class ObjectHolds {
 public:
  using Object = std::pair<Resource, api::ObjectName>;

  struct Options {
    Duration first_rest;
    Duration longest_rest;
    Duration longest_hold;  // for an effect that the mirror does not show
  };
  struct Hold {
    api::ObjectKey key;  // whose look wrote it
    std::string_view verb;
    ActionAnswer answer = {};  // once it is in
    bool is_landed = false;    // it is in, and good
    sys::TimerId timer = sys::TimerId::kNone;
  };
  // What an object's freedom is owed to: its effect was shown or it has rested, or the mirror did not show it in time.
  enum class End : std::uint8_t { kOver, kNeverShown };
  using OnFree = std::function<void(const Object& object, const Hold& hold, End end)>;

  ObjectHolds(sys::EventLoop& loop, Options options, OnFree on_free)
      : loop_(loop), options_(options), on_free_(std::move(on_free)) {}
  ~ObjectHolds();
  ObjectHolds(const ObjectHolds&) = delete;
  ObjectHolds& operator=(const ObjectHolds&) = delete;

  bool contains(const Object& object) const { return holds_.contains(object); }
  std::size_t size() const { return holds_.size(); }

  // False when it is held already: nothing may be written to it now.
  [[nodiscard]] bool begin(const Object& object, const api::ObjectKey& key, std::string_view verb);
  // The write had its answer. `informer` mirrors the resource; null when nobody does, and nothing can be waited for.
  void landed(const Object& object, ActionAnswer answer, const Informer* informer);
  void failed(const Object& object, Duration at_least);

  // The mirror has this change, or has got as far as this revision.
  void changed(const Resource& resource, const ObjectChange& change);
  void progressed(const Resource& resource, api::Revision revision);

 private:
  using Holds = std::map<Object, Hold>;

  void free(Holds::iterator at, End end);
  void free_after(Holds::iterator at, Duration delay, End end);

  sys::EventLoop& loop_;
  Options options_;
  OnFree on_free_;
  Holds holds_;
  std::map<Resource, std::set<std::pair<api::Revision, api::ObjectName>>> behind_;  // landed, by the revision to reach
  std::map<Object, unsigned> failures_;                                             // in a row
};

// What `action` writes to. Requires: it is neither a Probe nor an Emit.
ObjectHolds::Object object_of(const Action& action);

}  // namespace gangway::client
