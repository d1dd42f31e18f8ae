// StatefulSet: pods with names, numbers and storage of their own.
//
//   revisions.h       which template is current, which is new: one ControllerRevision each
//   stateful_pods.h   what the pod of an ordinal looks like, and its claims
//   stateful_plan.h   which ordinals are made or deleted next
//
// A pod is made once its claims exist. A claim is taken from its owners' fate, or given to it, as the retention policy
// says, before the pod that it belongs to goes. Keyed by StatefulSet. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class StatefulSetController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::controllers
