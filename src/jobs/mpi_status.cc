#include "jobs/mpi_status.h"

#include <utility>

namespace gangway::jobs {

MpiStatus::MpiStatus(const MpiJob& job, WallTime now)
    : JobStatus(job.owner(), job.tree, job.record, now),
      launcher(json::string_at(job.tree, {"status", "launcherStatus"})),
      workers(json::integer_at(job.tree, {"status", "workerReplicas"})) {}

std::vector<client::Action> MpiStatus::write() const {
  json::Object next = present();
  next.erase("launcherStatus");
  next.erase("workerReplicas");
  if (!launcher.empty()) next["launcherStatus"] = launcher;
  if (workers != 0) next["workerReplicas"] = workers;
  return JobStatus::write(std::move(next), "");
}

}  // namespace gangway::jobs
