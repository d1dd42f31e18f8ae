// Names by which tools find the pods of an MPIJob of kubeflow.org/v1alpha1, and where its files are in its containers.
#pragma once

#include <string_view>

namespace gangway::api {

inline constexpr std::string_view kMpiGroupLabel = "group_name";  // always "kubeflow.org"
inline constexpr std::string_view kMpiJobLabel = "mpi_job_name";
inline constexpr std::string_view kMpiRoleLabel = "mpi_role_type";  // "launcher" or "worker"
inline constexpr std::string_view kMpiLauncher = "launcher";
inline constexpr std::string_view kMpiWorker = "worker";

inline constexpr std::string_view kMpiFolder = "/etc/mpi";

}  // namespace gangway::api
