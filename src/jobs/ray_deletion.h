// What of a RayJob that has finished is to be deleted, and when. Pure.
#pragma once

#include <optional>

#include "base/time.h"
#include "jobs/ray_job.h"

namespace gangway::jobs {

struct RayDeletion {
  bool deletes_workers = false;
  bool deletes_cluster = false;
  bool deletes_self = false;
  std::optional<WallTime> look_again_at;  // more is due then
};

// Requires: the job has finished.
RayDeletion ray_deletion(const RayJob& job, WallTime now);

}  // namespace gangway::jobs
