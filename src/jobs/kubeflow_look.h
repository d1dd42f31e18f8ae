// One look at a job of kubeflow.org/v1: what is to be done for it now. Pure; kubeflow_controller.h draws the states.
#pragma once

#include <vector>

#include "client/reconciler.h"
#include "jobs/kubeflow_job.h"
#include "jobs/replica_pods.h"

namespace gangway::jobs {

client::Outcome look_at(const KubeflowJob& job, const std::vector<ReplicaPod>& pods, const client::View& view);

}  // namespace gangway::jobs
