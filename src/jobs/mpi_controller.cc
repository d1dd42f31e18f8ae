#include "jobs/mpi_controller.h"

#include <utility>

#include "api/mpi.h"
#include "client/resource.h"
#include "jobs/mpi_look.h"
#include "jobs/mpi_objects.h"

namespace gangway::jobs {
namespace {

using client::KeySink;
using client::ObjectChange;
using client::Outcome;
using client::View;
using client::WorkQueue;
using namespace client::resources;

// Pods are managed by a StatefulSet or a Job; their label says whose they are.
void its_job(const ObjectChange& change, const View&, const KeySink& sink) {
  const std::string_view job = change.now.header->label(api::kMpiJobLabel);
  if (job.empty()) return;
  sink(client::key_of(mpi_jobs(), {change.now.header->name.ns, std::string(job)}), WorkQueue::Priority::kNormal);
}

// An Allotment concerns the job that its gang is called after.
void its_gang(const ObjectChange& change, const View&, const KeySink& sink) {
  const auto tree = json::parse(*change.now.json);
  if (!tree || json::string_at(*tree, {"spec", "gang", "kind"}) != "PodGroup") return;
  sink(client::key_of(mpi_jobs(),
                      {change.now.header->name.ns, std::string(json::string_at(*tree, {"spec", "gang", "name"}))}),
       WorkQueue::Priority::kNormal);
}

}  // namespace

std::vector<client::WatchRule> MpiController::watches() const {
  const std::string kind(kMpiKind);
  std::vector<client::WatchRule> rules{{.resource = mpi_jobs(), .keys = client::itself(mpi_jobs())},
                                       {.resource = kPods, .keys = its_job},
                                       {.resource = kAllotments, .keys = its_gang, .required = false}};
  for (const client::Resource& made :
       {kStatefulSets, kJobs, kConfigMaps, kServiceAccounts, kRoles, kRoleBindings, kPodGroups})
    rules.push_back({.resource = made, .keys = client::its_controller(mpi_jobs(), kind)});
  return rules;
}

Outcome MpiController::reconcile(const api::ObjectKey& key, const View& view) const {
  const api::Version object = view.get(mpi_jobs(), key.object);
  // Of a job that is being deleted the garbage collector takes what it owns.
  if (!object || object.header->deleting_since) return {};
  auto tree = json::parse(*object.json);
  if (!tree) return {};
  const MpiJob job(object, std::move(*tree));
  if (!job.policy.is_ours) return {};
  return look_at(job, view);
}

}  // namespace gangway::jobs
