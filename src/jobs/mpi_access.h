// What launcher and workers of an MPIJob have of each other: files in /etc/mpi, and the account by which the launcher
// reaches its workers and nobody else. Pure.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/api_client.h"
#include "jobs/belongings.h"
#include "jobs/kubeflow_job.h"
#include "jobs/pod_environment.h"
#include "json/value.h"

namespace gangway::jobs {

// "<job>-config" and "<job>-launcher": of the files, of the launcher, and of what it is allowed by.
std::string mpi_config_name(const std::string& job);
std::string mpi_launcher_name(const std::string& job);

json::Value mpi_config_map(const controllers::Owner& owner, json::Object files);
// Adds some of these files to the pod's first container.
void mount_mpi_files(const std::string& job, std::initializer_list<std::string_view> files, json::Value& pod);
// What runs in a worker is asked before the worker ends, unless its first container has a preStop of its own.
void add_mpi_end_hook(json::Value& worker);

// The account that the launcher runs as: one of its own, unless its template names one.
std::string mpi_launcher_account(const controllers::Owner& owner, const json::Value& pod_template);
json::Value mpi_role(const controllers::Owner& owner, const std::vector<std::string>& workers);
// The account, if it is the launcher's own, and its right to exec into these workers.
void keep_mpi_account(Belongings& belongings, const controllers::Owner& owner, const std::string& account,
                      const std::vector<std::string>& workers);

// How few and how many Workers an MPIJob of v1 or v2beta1 runs with, where annotations say it.
std::optional<Elasticity> mpi_elasticity(const json::Value& job, const std::vector<ReplicaSpec>& replicas);
// Processes for each worker, of the same.
std::int64_t mpi_slots(const json::Value& job);

// For an mpirun that reaches its workers by exec.
const Variables& mpi_exec_variables();
// Open MPI refuses to be run by root, as whom containers run unless they say otherwise.
const Variables& mpi_root_variables();
// What keeps a launcher that asked for no GPU from seeing those of its node.
const Variables& no_gpu_variables();

}  // namespace gangway::jobs
