// Node life cycle: who is silent, and what that means for the node and its pods.
//
//   Lease or status not renewed for the grace period ──► conditions Unknown ──► event NodeNotReady
//   Ready not True ──► pods that were ready before are so no more
//   conditions, spec.unschedulable ──► taints:
//     Ready False  ──► not-ready     NoSchedule + NoExecute        pressures, no network ──► NoSchedule
//     Ready Unknown ─► unreachable   NoSchedule + NoExecute        cordoned ──► unschedulable NoSchedule
//     well again   ──► none of them
//
// A renewal counts from the moment that we see it, in our own time (own_time.h): after a start every node has a full
// period, and a pause of ours is nobody's fault. While no node at all is ready it is more likely that we are cut off
// than that all of them are gone: nothing gets a NoExecute taint, and so nobody is evicted. Who is evicted when is
// TaintEviction's.
//
// Keyed by node; the key without a name is the tick. What it remembers is when it saw a renewal last.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/reconciler.h"
#include "controllers/own_time.h"

namespace gangway::controllers {

struct NodeLifecycleOptions {
  Duration grace = std::chrono::seconds(40);
  Duration tick = std::chrono::seconds(5);
};

class NodeLifecycle final : public client::Reconciler {
 public:
  explicit NodeLifecycle(NodeLifecycleOptions options = {});

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  struct Seen {
    std::string said;  // the heartbeat and status of the condition Ready
    WallTime renewed;  // in own time
  };

  void on_node(const client::ObjectChange& change, const client::View& view, const client::KeySink& sink) const;
  void on_lease(const client::ObjectChange& change, const client::View& view) const;
  // How long the node may still be silent; none is left when it has been so for too long.
  Duration patience_left(const std::string& node, const json::Value& tree, WallTime now) const;

  NodeLifecycleOptions options_;
  mutable OwnTime time_;
  mutable std::map<std::string, Seen> seen_;
  mutable std::set<std::string> ready_;  // the nodes that the mirror shows as Ready
};

}  // namespace gangway::controllers
