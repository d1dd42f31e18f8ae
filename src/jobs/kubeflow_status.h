// KubeflowStatus: the status of a job of kubeflow.org/v1 while a look works on it. Pure.
#pragma once

#include <optional>
#include <vector>

#include "jobs/job_status.h"
#include "jobs/kubeflow_job.h"

namespace gangway::jobs {

class KubeflowStatus : public JobStatus {
 public:
  KubeflowStatus(const KubeflowJob& job, WallTime now);

  // The end, now or when somebody else says; nothing changes in the conditions after it.
  void end(std::optional<WallTime> when);
  void count(const Tallies& tallies);
  // Whoever was still active when the job succeeded has succeeded with it.
  void settle_success();

  // The write that makes it so, with what is told about it; nothing when all is as it was.
  std::vector<client::Action> write() const;

 private:
  const KubeflowJob& job_;
  json::Object counts_;  // status.replicaStatuses
};

}  // namespace gangway::jobs
