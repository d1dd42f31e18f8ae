// Takes pods off nodes whose NoExecute taints they do not tolerate, or no longer.
//
//   pod on a node with NoExecute taints
//     ──► one is not tolerated ──► condition DisruptionTarget, event TaintManagerEviction ──► deleted
//     ──► all are, some for so many seconds ──► the same when the first of those times is over
//     ──► the taints go before that ──► nothing happens
//
// The seconds run from the taint's timeAdded, or from when we first saw a taint that does not say; for a pod that came
// later, from when it was bound. Keyed by pod. What it remembers is since when it has seen such taints.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/taints.h"
#include "client/reconciler.h"

namespace gangway::controllers {

class TaintEviction final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  void on_node(const client::ObjectChange& change, const client::View& view, const client::KeySink& sink) const;
  void on_pod(const client::ObjectChange& change, const client::View& view, const client::KeySink& sink) const;

  // NoExecute taints by node, each with `added` set.
  mutable std::map<std::string, std::vector<api::Taint>, std::less<>> taints_;
};

// When a pod with these tolerations, bound at `bound`, must go: never for none, at once for a time that has passed.
std::optional<WallTime> eviction_time(const std::vector<api::Taint>& taints,
                                      const std::vector<api::Toleration>& tolerations, WallTime bound);

}  // namespace gangway::controllers
