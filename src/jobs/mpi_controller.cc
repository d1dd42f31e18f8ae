#include "jobs/mpi_controller.h"

#include <utility>

#include "api/mpi.h"
#include "client/resource.h"
#include "jobs/kubeflow_look.h"
#include "jobs/mpi_access.h"
#include "jobs/mpi_exec_job.h"
#include "jobs/mpi_look.h"
#include "jobs/mpi_ssh_job.h"
#include "jobs/preemption.h"

namespace gangway::jobs {
namespace {

using client::KeySink;
using client::ObjectChange;
using client::Outcome;
using client::View;
using client::WorkQueue;
using namespace client::resources;

// Many pods are managed by a StatefulSet or a Job; their labels say whose they are.
void its_job(const ObjectChange& change, const View&, const KeySink& sink) {
  const api::Header& pod = *change.now.header;
  std::string_view job = pod.label(api::kMpiJobLabel);
  if (pod.label(api::kOperatorNameLabel).starts_with("mpi")) job = pod.label(api::kJobNameLabel);
  if (job.empty()) return;
  sink(client::key_of(mpi_jobs(), {pod.name.ns, std::string(job)}), WorkQueue::Priority::kNormal);
}

}  // namespace

const KubeflowRules* mpi_rules_of(const json::Value& job) {
  switch (api::mpi_generation(job)) {
    case api::MpiGeneration::kV1:
      return &exec_mpi_rules();
    case api::MpiGeneration::kV2Beta1:
      return &ssh_mpi_rules();
    case api::MpiGeneration::kV1Alpha1:
      break;
  }
  return nullptr;
}

std::vector<client::WatchRule> MpiController::watches() const {
  const std::string kind(kMpiKind);
  std::vector<client::WatchRule> rules{{.resource = mpi_jobs(), .keys = client::itself(mpi_jobs())},
                                       {.resource = kPods, .keys = its_job},
                                       {.resource = kAllotments, .keys = its_gang(mpi_jobs()), .required = false}};
  for (const client::Resource& made :
       {kStatefulSets, kJobs, kConfigMaps, kSecrets, kServices, kServiceAccounts, kRoles, kRoleBindings, kPodGroups})
    rules.push_back({.resource = made, .keys = client::its_controller(mpi_jobs(), kind)});
  return rules;
}

Outcome MpiController::reconcile(const api::ObjectKey& key, const View& view) const {
  const api::Version object = view.get(mpi_jobs(), key.object);
  // Of a job that is being deleted the garbage collector takes what it owns.
  if (!object || object.header->deleting_since) return {};
  auto tree = json::parse(*object.json);
  if (!tree) return {};
  if (const KubeflowRules* rules = mpi_rules_of(*tree)) {
    const KubeflowJob job(*rules, object, std::move(*tree));
    return job.policy.is_ours ? look_at(job, view) : Outcome();
  }
  const MpiJob job(object, std::move(*tree));
  return job.policy.is_ours ? look_at(job, view) : Outcome();
}

}  // namespace gangway::jobs
