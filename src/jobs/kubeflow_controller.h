// KubeflowController: runs the jobs of one kind of kubeflow.org/v1. (MPIJobs live the same life: mpi_controller.h.)
//
//              ┌─► Suspended: no pods, no Services, no PodGroup ─┐ attempt + 1
//   Created ───┤◄────────────────────────────────────────────────┘
//              └─► pods made ─► Running ─┬─► Succeeded ─┐
//                     ▲  ▲               ├─► Failed ────┴─► cleaned up ─► deleted after its time to live
//                     │  │               └─► Restarting: what failed is counted, deleted, made again ─┐
//                     │  └────────────────────────────────────────────────────────────────────────────┘
//                     └── queued again: attempt + 1 is written, all pods go, all are made ◄── preempted, Requeue
//
// Every step that must not be taken twice is written to the status first: an attempt before its pods are made, the uid
// of a failed pod before it is deleted, the end before anything is cleaned up. Pods and Services have the names that
// the kind gives them, so making them again is harmless. Keyed by job. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"
#include "jobs/kubeflow_job.h"

namespace gangway::jobs {

class KubeflowController final : public client::Reconciler {
 public:
  // `rules` must outlive the controller.
  explicit KubeflowController(const KubeflowRules& rules) : rules_(rules) {}

  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  const KubeflowRules& rules_;
};

}  // namespace gangway::jobs
