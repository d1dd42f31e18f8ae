// MpiController: runs MPIJobs of all three generations, which are one resource. Those of v1 and v2beta1 live as
// kubeflow_controller.h draws it; those of v1alpha1:
//
//              ┌─► Suspended: no workers, no launcher, no PodGroup ─┐ attempt + 1
//   Created ───┤◄───────────────────────────────────────────────────┘
//              └─► workers ─► all ready ─► launcher ─► Running ─┬─► Succeeded ─┐
//                     ▲                                         ├─► Failed ────┴─► workers gone, launcher kept
//                     └── queued again: attempt + 1 is written, ◄── preempted, Requeue
//                         all pods go, all are made
//
// A worker that is deleted is made again; what that means for the program, the launcher says by how it ends. Every
// object has the name that tools expect, so making it again is harmless. Keyed by job. Pure; keys for ssh are asked for
// by a probe (SshKeyProbe).
#pragma once

#include <vector>

#include "client/reconciler.h"
#include "jobs/kubeflow_job.h"

namespace gangway::jobs {

// The rules of a job of v1 or v2beta1; null: it is of v1alpha1.
const KubeflowRules* mpi_rules_of(const json::Value& job);

class MpiController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::jobs
