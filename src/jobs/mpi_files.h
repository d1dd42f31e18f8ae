// The texts of an MPIJob's files in /etc/mpi. Pure.
#pragma once

#include <string>
#include <vector>

#include "jobs/mpi_job.h"

namespace gangway::jobs {

// "<worker> slots=<n>", one line for each worker that there should be.
std::string mpi_hostfile(const MpiJob& job);
// A program that prints "<worker>:<n>" for each worker that runs.
std::string mpi_discover_hosts(const MpiJob& job, const std::vector<std::string>& running);
// The program by which mpirun starts its daemons: a worker's name, then a command for the shell there.
std::string mpi_remote_start();

}  // namespace gangway::jobs
