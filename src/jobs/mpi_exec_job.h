// MPIJob of kubeflow.org/v1: a launcher and workers as plain pods, made at once; the launcher starts processes in the
// workers by exec. Pure; MpiController runs it.
#pragma once

#include <string>
#include <vector>

#include "jobs/kubeflow_job.h"

namespace gangway::jobs {

const KubeflowRules& exec_mpi_rules();

// Its files: hostfile names the hosts that there should be, discover_hosts.sh those that run.
json::Object exec_mpi_texts(const KubeflowJob& job, const std::vector<std::string>& running);

}  // namespace gangway::jobs
