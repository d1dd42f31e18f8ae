#include "jobs/ray_job_controller.h"

#include <utility>

#include "api/owner.h"
#include "api/ray.h"
#include "client/resource.h"
#include "jobs/preemption.h"
#include "jobs/ray_job.h"
#include "jobs/ray_job_look.h"

namespace gangway::jobs {
namespace {

using client::KeySink;
using client::ObjectChange;
using client::Outcome;
using client::View;
using client::WorkQueue;
using namespace client::resources;

// A pod is managed by a cluster, and that by a job.
void its_job(const ObjectChange& change, const View& view, const KeySink& sink) {
  const api::OwnerReference* owner = api::controller_of(*change.now.header);
  if (owner == nullptr || owner->kind != kRayClusterKind) return;
  const api::Version cluster = view.get(ray_clusters(), {change.now.header->name.ns, owner->name});
  const api::OwnerReference* job = cluster ? api::controller_of(*cluster.header) : nullptr;
  if (job == nullptr || job->kind != kRayJobKind) return;
  sink(client::key_of(ray_jobs(), {change.now.header->name.ns, job->name}), WorkQueue::Priority::kNormal);
}

}  // namespace

std::vector<client::WatchRule> RayJobController::watches() const {
  const std::string kind(kRayJobKind);
  std::vector<client::WatchRule> rules{{.resource = ray_jobs(), .keys = client::itself(ray_jobs())},
                                       {.resource = kPods, .keys = its_job},
                                       {.resource = kNodes},
                                       {.resource = kAllotments, .keys = its_gang(ray_jobs()), .required = false}};
  for (const client::Resource& made : {ray_clusters(), kJobs, kServices, kPodGroups})
    rules.push_back({.resource = made, .keys = client::its_controller(ray_jobs(), kind)});
  return rules;
}

Outcome RayJobController::reconcile(const api::ObjectKey& key, const View& view) const {
  const api::Version object = view.get(ray_jobs(), key.object);
  if (!object) return {};
  auto tree = json::parse(*object.json);
  if (!tree) return {};
  const RayJob job(object, std::move(*tree));
  if (!job.is_ours) return {};
  return look_at(job, view);
}

}  // namespace gangway::jobs
