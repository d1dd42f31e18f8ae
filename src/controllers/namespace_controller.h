// Empties a namespace that is being deleted, then lets it go.
//
//   Active ── delete ──► Terminating ──► pods deleted ──► the rest deleted ──► nothing left ──► finalizer `kubernetes`
//   out
//                            ▲  every step starts from a live list of the whole namespace  │
//                            └──────── what has finalizers of its own is waited for ───────┘
//
// The content is asked for by a probe, not taken from the mirror: an object that the mirror has not shown yet must not
// survive its namespace. Conditions on the status say what is in the way. Pure.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/action_runner.h"
#include "client/reconciler.h"
#include "controllers/resource_catalog.h"

namespace gangway::controllers {

class NamespaceController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

// Answers the question what a namespace contains, by listing every deletable resource in it:
//   {"resources": [{"group", "version", "plural", "items": [{"name", "uid", "deleting", "finalizers"}] | "error"}],
//    "discoveryError"}
// Resources without objects are left out.
class ContentProbe final : public client::ProbeRunner {
 public:
  ContentProbe(client::ApiClient& client, sys::EventLoop& loop, const ResourceCatalog& catalog)
      : client_(client), loop_(loop), catalog_(catalog) {}
  void ask(const client::Probe& probe, sys::Completion<json::Value> done) override;

 private:
  client::ApiClient& client_;
  sys::EventLoop& loop_;
  const ResourceCatalog& catalog_;
};

}  // namespace gangway::controllers
