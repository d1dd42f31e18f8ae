// A batch/v1 Job as a Trainable. Pure. controllers/job.h runs it.
#pragma once

#include <vector>

#include "jobs/trainable.h"

namespace gangway::jobs {

Trainable batch_trainable(const api::Version& job, const json::Value& tree, const std::vector<api::Version>& pods);

// What its PodGroup should say: all pods that are to run at once and have not succeeded.
GangWish batch_gang_wish(const json::Value& job);

}  // namespace gangway::jobs
