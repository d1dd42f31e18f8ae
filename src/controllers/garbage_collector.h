// Garbage collection: what happens to objects whose owners go. Kubernetes' rules, for every resource of the catalog.
//
//   An object with owners, not being deleted:
//     each owner is  solid    it exists, with the uid that is named
//                    waiting  it exists, is being deleted in the foreground
//                    gone     it does not exist, which a live read has confirmed
//                    unclear  its kind is not served, or it is namespaced and the object is not: counts as solid
//     any solid ──► the references to waiting and gone owners are taken out
//     none solid, some waiting, and it has dependents ──► it is deleted in the foreground too
//     none solid otherwise ──► it is deleted, in the background unless a finalizer says otherwise
//
//   An object being deleted:
//     finalizer foregroundDeletion ──► stays until no dependent that blocks it is left
//     finalizer orphan ──► every reference to it is taken out, then the finalizer
//
// Reads headers only; JSON is parsed just for the objects whose references change. Pure.
#pragma once

#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/action_runner.h"
#include "client/controller.h"
#include "client/reconciler.h"
#include "controllers/resource_catalog.h"

namespace gangway::controllers {

class GarbageCollector final : public client::Reconciler {
 public:
  explicit GarbageCollector(const ResourceCatalog& catalog) : catalog_(catalog) {}

  // None of its own: GarbageFeed adds and removes them as the catalog changes.
  std::vector<client::WatchRule> watches() const override { return {}; }
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

  // What to look at when an object of `info` changes.
  client::WatchRule watch_rule(const ResourceInfo& info) const;

 private:
  enum class OwnerState : std::uint8_t { kSolid, kWaiting, kGone, kUnknown };
  struct Owners;

  // Adds the question that a live read would answer to `probes` when the mirror does not have the owner.
  OwnerState state_of(const api::OwnerReference& owner, const ResourceInfo& of, const api::Header& dependent,
                      const client::View& view, std::vector<client::Probe>& probes) const;
  void collect(const ResourceInfo& info, const api::Version& object, const client::View& view,
               client::Outcome& outcome) const;
  void finish_foreground(const ResourceInfo& info, const api::Version& object, const client::View& view,
                         client::Outcome& outcome) const;
  void orphan_dependents(const ResourceInfo& info, const api::Version& object, const client::View& view,
                         client::Outcome& outcome) const;
  void tell_keys(const ResourceInfo& info, const client::ObjectChange& change, const client::View& view,
                 const client::KeySink& sink) const;

  const ResourceCatalog& catalog_;
};

// Answers the collector's question whether an owner still exists, by a live read: the mirror of one resource may be
// behind that of another. Uids never come back, so what is known to be gone is remembered.
class OwnerProbe final : public client::ProbeRunner {
 public:
  OwnerProbe(client::ApiClient& client, sys::EventLoop& loop) : client_(client), loop_(loop) {}
  void ask(const client::Probe& probe, sys::Completion<json::Value> done) override;

 private:
  void remember_gone(const std::string& uid);

  client::ApiClient& client_;
  sys::EventLoop& loop_;
  std::set<std::string> gone_;
  std::deque<std::string> gone_order_;
  std::shared_ptr<const bool> life_ = std::make_shared<const bool>(true);
};

// Keeps a controller's watches equal to the catalog's deletable resources.
class GarbageFeed {
 public:
  // Events are many, live an hour and own nothing: they are left out.
  GarbageFeed(const GarbageCollector& collector, ResourceCatalog& catalog, client::Controller& controller,
              client::Mirror& mirror);

 private:
  void follow();

  const GarbageCollector& collector_;
  ResourceCatalog& catalog_;
  client::Controller& controller_;
  client::Mirror& mirror_;
  std::set<client::Resource> watched_;
  std::unique_ptr<sys::Subscription> subscription_;
};

}  // namespace gangway::controllers
