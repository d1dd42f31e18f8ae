// MpiState: the objects of an MPIJob as one look finds them. Pure.
//
// The workers' StatefulSet and the launcher's Job say of which attempt they are. Those of an earlier one count for
// nothing: they only have to go, with all of their pods, before those of the next are made.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/view.h"
#include "jobs/launcher_job.h"
#include "jobs/mpi_job.h"

namespace gangway::jobs {

struct MpiState {
  MpiState(const MpiJob& job, const client::View& view);

  api::Version worker_set;  // null: there is none
  std::int64_t set_attempt = 0;
  std::int64_t set_size = 0;
  std::int64_t ready_workers = 0;  // of the present attempt
  std::vector<std::string> running_workers;

  LauncherJob launcher;

  std::string preempted_pod;  // uid of one of the present attempt that has not gone yet
};

}  // namespace gangway::jobs
