// A job of kubeflow.org/v1 as a Trainable. Pure.
#pragma once

#include <vector>

#include "jobs/kubeflow_job.h"
#include "jobs/trainable.h"

namespace gangway::jobs {

Trainable kubeflow_trainable(const KubeflowRules& rules, const api::Version& job, const json::Value& tree,
                             const std::vector<api::Version>& pods);

}  // namespace gangway::jobs
