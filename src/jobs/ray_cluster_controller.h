// RayClusterController: runs RayClusters of ray.io/v1.
//
//              ┌─► Suspending: pods go ─► suspended: no pods, no PodGroup ─┐ attempt + 1
//   created ───┤◄──────────────────────────────────────────────────────────┘
//              └─► head and workers at once; workers wait for the head ─► all ready: ready, and stays so
//                     ▲                                                     │
//                     ├── a pod that has ended is deleted, and made again ◄─┤
//                     └── queued again: attempt + 1 is written, all pods go, all are made ◄── preempted, Requeue
//
// The cluster of a RayJob belongs to the job's gang, and whether it comes back is the job's affair. Keyed by cluster.
// Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::jobs {

class RayClusterController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::jobs
