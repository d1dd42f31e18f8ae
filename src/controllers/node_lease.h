// Heartbeats of the nodes that live in this process: a Lease each in kube-node-lease, and the conditions in their
// status.
//
//   Node without Lease ──► created, owned by the Node
//   every 10 s, at the node's own moment ──► renewTime
//   every 5 min, at the node's own moment, and at once when somebody changed them ──► conditions
//
// A node's moments come from a hash of its name: 5,000 nodes are 500 small writes a second, not 5,000 at once. Pure.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class NodeLease final : public client::Reconciler {
 public:
  explicit NodeLease(std::set<std::string> nodes) : nodes_(std::move(nodes)) {}

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

  static constexpr Duration kRenewEvery = std::chrono::seconds(10);
  static constexpr Duration kReportEvery = std::chrono::minutes(5);
  static constexpr int kLeaseSeconds = 40;

 private:
  std::set<std::string> nodes_;
};

}  // namespace gangway::controllers
