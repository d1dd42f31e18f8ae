#include "jobs/batch_gangs.h"

#include <utility>

#include "api/conditions.h"
#include "client/resource.h"
#include "controllers/job_gang.h"
#include "jobs/batch_job.h"
#include "jobs/pod_groups.h"

namespace gangway::jobs {
namespace {

using client::Outcome;
using client::View;
using client::resources::kJobs;
using client::resources::kPodGroups;

bool needs_a_group(const json::Value& job) {
  return controllers::is_gang(job) && !json::flag_at(job, {"spec", "suspend"}) &&
         !api::condition_is_true(job, "Complete") && !api::condition_is_true(job, "Failed");
}

}  // namespace

std::vector<client::WatchRule> BatchGangs::watches() const {
  return {{.resource = kJobs, .keys = client::itself(kJobs)},
          {.resource = kPodGroups, .keys = client::its_controller(kJobs, "Job")}};
}

Outcome BatchGangs::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version job = view.get(kJobs, key.object);
  if (!job || job.header->deleting_since) return outcome;
  const auto tree = json::parse(*job.json);
  if (!tree) return outcome;
  const controllers::Owner owner{kJobs, "Job", job};
  if (!needs_a_group(*tree)) {
    outcome.allowed_now = drop_pod_group(view, owner);
  } else if (auto action = keep_pod_group(view, owner, *tree, batch_gang_wish(*tree))) {
    outcome.allowed_now.push_back(std::move(*action));
  }
  return outcome;
}

}  // namespace gangway::jobs
