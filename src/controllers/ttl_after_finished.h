// Deletes Jobs that have finished and say how long they are worth keeping (spec.ttlSecondsAfterFinished), at exactly
// that time, with their pods. Keyed by Job. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class TtlAfterFinished final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::controllers
