// Makes the Node objects of a cluster description, and keeps what the description states about them true.
//
//   no Node ──► created with labels, taints and status
//   Node ──► labels and taints follow the description where *it* changed since it was last applied; what users set
//   stays
//        ──► the machine's own facts (host name, architecture, capacity, addresses, version) are always put right
//   a Node that was made from a description and is in it no more ──► deleted
//
// What was applied last is in the annotation gangway.dev/declared, as with kubectl apply. Heartbeats are NodeLease's.
// Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/reconciler.h"
#include "controllers/node_spec.h"

namespace gangway::controllers {

class NodeRegistrar final : public client::Reconciler {
 public:
  NodeRegistrar(std::vector<NodeSpec> nodes, NodeSystem system);

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

  // The keys to enqueue at start: nodes that do not exist yet have no change that would lead to a look.
  std::vector<api::ObjectKey> keys() const;

 private:
  std::map<std::string, NodeSpec> nodes_;
  NodeSystem system_;
};

}  // namespace gangway::controllers
