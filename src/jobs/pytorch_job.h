// PyTorchJob (kubeflow.org/v1): a Master and Workers that find each other by MASTER_ADDR and its kin, or Workers that
// meet through torchrun and may come and go. Pure; KubeflowController runs it.
#pragma once

#include "jobs/kubeflow_job.h"
#include "jobs/pod_environment.h"

namespace gangway::jobs {

const KubeflowRules& pytorch_rules();

// The variables that every container of the pod gets, in order.
Variables pytorch_variables(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index);

}  // namespace gangway::jobs
