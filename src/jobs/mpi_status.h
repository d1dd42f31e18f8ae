// MpiStatus: the status of an MPIJob of v1alpha1 while a look works on it. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobs/job_status.h"
#include "jobs/mpi_job.h"

namespace gangway::jobs {

class MpiStatus : public JobStatus {
 public:
  MpiStatus(const MpiJob& job, WallTime now);

  std::string launcher;      // Active, Succeeded or Failed; empty before it is made
  std::int64_t workers = 0;  // that are ready

  // The write that makes it so, with what is told about it; nothing when all is as it was.
  std::vector<client::Action> write() const;
};

}  // namespace gangway::jobs
