// MPIJobs: which of their generations one is of, names by which tools find the pods of those of v1alpha1, and where
// files are in their containers.
//
// Three kinds share the name, with specs of their own. An object is of one generation for life, and may be read and
// changed in any version.
#pragma once

#include <cstdint>
#include <string_view>

#include "json/value.h"

namespace gangway::api {

enum class MpiGeneration : std::uint8_t { kV1Alpha1, kV1, kV2Beta1 };
// By what its spec has. Of v2beta1 is what has a field that only that has: the server sees to it that there is one.
MpiGeneration mpi_generation(const json::Value& job);
// "v1alpha1"
std::string_view to_text(MpiGeneration generation);

inline constexpr std::string_view kMpiGroupLabel = "group_name";  // always "kubeflow.org"
inline constexpr std::string_view kMpiJobLabel = "mpi_job_name";
inline constexpr std::string_view kMpiRoleLabel = "mpi_role_type";  // "launcher" or "worker"
inline constexpr std::string_view kMpiLauncher = "launcher";
inline constexpr std::string_view kMpiWorker = "worker";

inline constexpr std::string_view kMpiFolder = "/etc/mpi";
inline constexpr std::string_view kMpiSshFolder = "/root/.ssh";  // where the job names no other

}  // namespace gangway::api
