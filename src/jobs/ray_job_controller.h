// RayJobController: runs RayJobs of ray.io/v1.
//
//   New ─► Initializing ─► Running ─┬─► Complete ─┐
//    ▲      │  └─► Waiting ──┘ │    ├─► Failed ───┴─► the cluster goes, where it is to; the submitter stays for its log
//    │      │   (Interactive)  │    └─► Retrying: failed and to be tried again, or preempted with Requeue
//    │      └──────┬───────────┘             │ cluster and submitter are gone
//    │             ▼                         │
//    │         Suspending ─► Suspended ──┐   │
//    └──────────── attempt + 1 ──────────┴───┘
//
// What the program does is asked of the dashboard of the cluster's head (ray_dashboard.h): a Probe, every three seconds
// while it runs. Each step is in the status before it is taken. Keyed by job. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::jobs {

class RayJobController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::jobs
