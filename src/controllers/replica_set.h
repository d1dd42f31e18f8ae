// ReplicaSet: keeps a number of equal pods.
//
//   pods claimed (owned.h) ──► active: neither finished nor being deleted
//   too few   ──► created, in growing steps: no more at once than there are, so that a template that nobody admits
//                 costs one attempt and not thousands
//   too many  ──► deleted, in the order of pod_ranking.h
//   status: replicas, fullyLabeledReplicas, readyReplicas, availableReplicas; ReplicaFailure while pods are refused
//
// A pod's name follows from a number (pod_names.h). New numbers are higher than those of all pods that are or were
// there; a creation whose outcome is not known is repeated under its name, so that it cannot happen twice.
// Keyed by ReplicaSet. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class ReplicaSetController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::controllers
