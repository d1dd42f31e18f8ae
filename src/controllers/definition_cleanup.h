// A CustomResourceDefinition that is being deleted takes its objects along.
//
//   deleted, finalizer customresourcecleanup… ──► its objects are listed live ──► deleted ──► none left ──► finalizer
//   out
//                                                   ▲  what has finalizers of its own is waited for  │
//                                                   └────────────────────────────────────────────────┘
//
// The server takes no new objects of a definition that is being deleted, so the last list is the last. Keyed by
// definition. Pure.
#pragma once

#include <vector>

#include "client/action_runner.h"
#include "client/reconciler.h"

namespace gangway::controllers {

class DefinitionCleanup final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

// Answers which objects a definition has: {"items": [{"namespace", "name", "uid", "deleting"}]}, or {"error"}.
class InstanceProbe final : public client::ProbeRunner {
 public:
  explicit InstanceProbe(client::ApiClient& client) : client_(client) {}
  void ask(const client::Probe& probe, sys::Completion<json::Value> done) override;

 private:
  client::ApiClient& client_;
};

}  // namespace gangway::controllers
