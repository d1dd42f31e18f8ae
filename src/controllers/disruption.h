// PodDisruptionBudget status: how many of the selected pods may be evicted now.
//
//   pods selected ──► expected, from the pods or from the scale of what controls them
//                 ──► healthy: ready, not being deleted, not about to be (an eviction was granted in the last 2
//                 minutes) ──► desired: minAvailable, or expected − maxUnavailable; percentages round up ──► allowed =
//                 healthy − desired, at least 0, and 0 when nothing is expected
//   a pod whose controller cannot be found ──► SyncFailed, allowed 0
//
// Keyed by budget. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class DisruptionController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::controllers
