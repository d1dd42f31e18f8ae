// MpiController: runs MPIJobs of kubeflow.org/v1alpha1.
//
//              ┌─► Suspended: no workers, no launcher, no PodGroup ─┐ attempt + 1
//   Created ───┤◄───────────────────────────────────────────────────┘
//              └─► workers ─► all ready ─► launcher ─► Running ─┬─► Succeeded ─┐
//                     ▲                                         ├─► Failed ────┴─► workers gone, launcher kept
//                     └── queued again: attempt + 1 is written, ◄── preempted, Requeue
//                         all pods go, all are made
//
// A worker that is deleted is made again by its StatefulSet; what that means for the program, the launcher says by how
// it ends. Every object has the name that tools expect, so making it again is harmless. Keyed by job. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::jobs {

class MpiController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::jobs
