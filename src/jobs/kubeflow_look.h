// One look at a job of Kubeflow's: what is to be done for it now. Pure; kubeflow_controller.h draws the states.
#pragma once

#include "client/reconciler.h"
#include "jobs/kubeflow_job.h"

namespace gangway::jobs {

client::Outcome look_at(const KubeflowJob& job, const client::View& view);

}  // namespace gangway::jobs
