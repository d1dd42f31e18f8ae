// BatchGangs: makes the PodGroups of the batch/v1 Jobs whose pods are one gang (controllers/job_gang.h). Keyed by Job.
// Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::jobs {

class BatchGangs final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::jobs
