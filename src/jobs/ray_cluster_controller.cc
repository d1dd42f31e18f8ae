#include "jobs/ray_cluster_controller.h"

#include <utility>

#include "client/resource.h"
#include "jobs/belongings.h"
#include "jobs/preemption.h"
#include "jobs/ray_cluster.h"
#include "jobs/ray_cluster_look.h"

namespace gangway::jobs {
namespace {

using client::KeySink;
using client::ObjectChange;
using client::Outcome;
using client::View;
using client::WorkQueue;
using namespace client::resources;

// A PodGroup is the cluster's own, or that of the job it was made for: its pods wait for it.
void its_clusters(const ObjectChange& change, const View& view, const KeySink& sink) {
  for (const api::OwnerReference& owner : change.now.header->owners) {
    if (owner.kind == kRayClusterKind)
      sink(client::key_of(ray_clusters(), {change.now.header->name.ns, owner.name}), WorkQueue::Priority::kNormal);
    if (owner.kind != kRayJobKind) continue;
    view.objects(ray_clusters()).for_each_owned_by(owner.uid, [&](const api::Version& cluster) {
      sink(client::key_of(ray_clusters(), cluster.header->name), WorkQueue::Priority::kNormal);
    });
  }
}

}  // namespace

std::vector<client::WatchRule> RayClusterController::watches() const {
  const std::string kind(kRayClusterKind);
  std::vector<client::WatchRule> rules{{.resource = ray_clusters(), .keys = client::itself(ray_clusters())},
                                       {.resource = kPodGroups, .keys = its_clusters},
                                       {.resource = kAllotments, .keys = its_gang(ray_clusters()), .required = false}};
  for (const client::Resource& made : {kPods, kServices, kServiceAccounts, kRoles, kRoleBindings})
    rules.push_back({.resource = made, .keys = client::its_controller(ray_clusters(), kind)});
  return rules;
}

Outcome RayClusterController::reconcile(const api::ObjectKey& key, const View& view) const {
  const api::Version object = view.get(ray_clusters(), key.object);
  // Of a cluster that is being deleted the garbage collector takes what it owns.
  if (!object || object.header->deleting_since) return {};
  auto tree = json::parse(*object.json);
  if (!tree) return {};
  const RayCluster cluster(object, std::move(*tree));
  if (!cluster.is_ours) return {};
  return look_at(cluster, view);
}

}  // namespace gangway::jobs
