// What the objects of an MPIJob look like: its files, the account of its launcher and what that may do, its workers and
// its launcher. Pure; nothing here decides when they are made.
//
// The launcher reaches its workers by exec, with an account that may do that to these pods and nothing else.
#pragma once

#include <string>
#include <vector>

#include "client/api_client.h"
#include "jobs/mpi_job.h"
#include "json/value.h"

namespace gangway::jobs {

inline const client::Resource kRoles{"rbac.authorization.k8s.io", "v1", "roles"};
inline const client::Resource kRoleBindings{"rbac.authorization.k8s.io", "v1", "rolebindings"};

// The account that the launcher runs as: one of its own, unless the template names one.
std::string mpi_launcher_account(const MpiJob& job);

// Files: hostfile names the workers that there should be, discover_hosts.sh those that run.
json::Value mpi_config_map(const MpiJob& job, const std::vector<std::string>& running);
json::Value mpi_service_account(const MpiJob& job);
json::Value mpi_role(const MpiJob& job);
json::Value mpi_role_binding(const MpiJob& job);
json::Value mpi_worker_set(const MpiJob& job);
json::Value mpi_launcher_job(const MpiJob& job);

}  // namespace gangway::jobs
