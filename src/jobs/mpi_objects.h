// What the objects of an MPIJob of v1alpha1 look like: its files, its workers and its launcher. Pure; nothing here
// decides when they are made.
#pragma once

#include <string>
#include <vector>

#include "jobs/mpi_job.h"
#include "json/value.h"

namespace gangway::jobs {

// Files: hostfile names the workers that there should be, discover_hosts.sh those that run.
json::Object mpi_texts(const MpiJob& job, const std::vector<std::string>& running);
json::Value mpi_worker_set(const MpiJob& job);
json::Value mpi_launcher_job(const MpiJob& job);
// The workers; and, where it takes room, the launcher as one who comes later.
GangWish mpi_gang_wish(const MpiJob& job);

}  // namespace gangway::jobs
