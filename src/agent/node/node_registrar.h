// Keeps what a cluster description states about its nodes true, where the description lives: in the server.
//
//   Node ──► labels and taints follow the description where *it* changed since it was last applied; what users set
//   stays a Node that was made from a description and is in it no more ──► deleted
//
// What was applied last is in the annotation gangway.dev/declared, as with kubectl apply. The objects are made, and
// their status and leases written, by the agents (NodeKeeper); taints that follow from conditions are NodeLifecycle's.
// Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/node/node_spec.h"
#include "client/reconciler.h"

namespace gangway::agent {

class NodeRegistrar final : public client::Reconciler {
 public:
  explicit NodeRegistrar(std::vector<NodeSpec> nodes);

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  std::map<std::string, NodeSpec> nodes_;
};

}  // namespace gangway::agent
