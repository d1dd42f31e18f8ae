// MPIJob of kubeflow.org/v2beta1: workers as plain pods, which have names in the DNS, and a launcher made by a batch/v1
// Job, which starts processes in them by ssh with a key of the job's own. Pure; MpiController runs it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jobs/kubeflow_job.h"
#include "jobs/pod_environment.h"

namespace gangway::jobs {

const KubeflowRules& ssh_mpi_rules();

// The question whose answer is a new key, {"private": PEM, "public": a line for authorized_keys}: see SshKeyProbe.
inline constexpr std::string_view kNewSshKey = "ssh-key";

// What tells the launcher's mpirun of its hosts.
Variables ssh_mpi_variables(const KubeflowJob& job);
// Its files: hostfile names the hosts that there should be, discover_hosts.sh those that run.
json::Object ssh_mpi_texts(const KubeflowJob& job, const std::vector<std::string>& running);

}  // namespace gangway::jobs
