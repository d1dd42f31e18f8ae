// Job: runs pods until enough of them have succeeded.
//
//   one look: claim pods ──► count (job_state.h) ──► judge (job_verdict.h)
//     goes on ──► too few: made, after the back-off of those that failed; too many, or suspended: taken back
//     fails ──► active pods deleted; they count as failed
//     succeeds ──► active pods taken back
//     ──► what is on record is let go of ──► status (job_status.h)
//
// Taking a pod back is two steps, so that it counts as nothing: its finalizer comes off, then it is deleted. A pod that
// lost its finalizer otherwise gets it again. Pods whose Job is gone are let go of.
//
// Keyed by Job, and by pod for those without one. What it remembers is when pods failed that are not there any more.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/reconciler.h"
#include "controllers/job_attempts.h"

namespace gangway::controllers {

class JobController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

 private:
  class Look;

  mutable std::map<std::string, FailureHistory> failures_;  // by the Job's uid
};

}  // namespace gangway::controllers
