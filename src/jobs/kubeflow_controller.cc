#include "jobs/kubeflow_controller.h"

#include <utility>

#include "client/resource.h"
#include "jobs/kubeflow_look.h"
#include "jobs/preemption.h"

namespace gangway::jobs {
namespace {

using client::Outcome;
using client::View;
using client::resources::kAllotments;
using client::resources::kPodGroups;
using client::resources::kPods;
using client::resources::kServices;

}  // namespace

std::vector<client::WatchRule> KubeflowController::watches() const {
  const std::string kind(rules_.kind.kind);
  return {{.resource = rules_.resource, .keys = client::itself(rules_.resource)},
          {.resource = kPods, .keys = client::its_controller(rules_.resource, kind)},
          {.resource = kServices, .keys = client::its_controller(rules_.resource, kind)},
          {.resource = kPodGroups, .keys = client::its_controller(rules_.resource, kind)},
          {.resource = kAllotments, .keys = its_gang(rules_.resource), .required = false}};
}

Outcome KubeflowController::reconcile(const api::ObjectKey& key, const View& view) const {
  const api::Version object = view.get(rules_.resource, key.object);
  // Of a job that is being deleted the garbage collector takes what it owns.
  if (!object || object.header->deleting_since) return {};
  auto tree = json::parse(*object.json);
  if (!tree) return {};
  const KubeflowJob job(rules_, object, std::move(*tree));
  if (!job.policy.is_ours) return {};
  return look_at(job, view);
}

}  // namespace gangway::jobs
