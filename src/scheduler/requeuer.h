// Requeuer: makes pods again that were preempted and want to come back, and keeps their places in line. Pure.
//
// Keyed by RequeuedPod (see requeue.h). The pods of a group are made again together, once the last of those that had to
// go is gone. Of pods with a controller it only finds out which new pod has the place.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::scheduler {

class Requeuer final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

  // How long a controller has to make its pod again before the place is given up.
  static constexpr Duration kOwnersTime = std::chrono::minutes(10);
};

}  // namespace gangway::scheduler
