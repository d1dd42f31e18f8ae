// TFJob (kubeflow.org/v1): Chief or Master, Workers, PS and Evaluators that find each other by TF_CONFIG. Pure;
// KubeflowController runs it.
#pragma once

#include <string>

#include "jobs/kubeflow_job.h"

namespace gangway::jobs {

const KubeflowRules& tf_rules();

// The text of TF_CONFIG for the pod.
std::string tf_config(const KubeflowJob& job, const ReplicaSpec& spec, std::int64_t index);

}  // namespace gangway::jobs
