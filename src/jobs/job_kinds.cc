#include "jobs/job_kinds.h"

#include "client/resource.h"
#include "jobs/batch_job.h"
#include "jobs/kubeflow_trainable.h"
#include "jobs/mpi_job.h"
#include "jobs/mpi_trainable.h"
#include "jobs/pytorch_job.h"
#include "jobs/ray_cluster.h"
#include "jobs/ray_trainable.h"
#include "jobs/tf_job.h"

namespace gangway::jobs {
namespace {

template <const KubeflowRules& (*rules)()>
Trainable read_kubeflow(const api::Version& job, const json::Value& tree, const std::vector<api::Version>& pods) {
  return kubeflow_trainable(rules(), job, tree, pods);
}

}  // namespace

std::span<const JobKind> job_kinds() {
  static const JobKind kKinds[] = {
      {pytorch_rules().resource, pytorch_rules().kind.kind, read_kubeflow<pytorch_rules>},
      {tf_rules().resource, tf_rules().kind.kind, read_kubeflow<tf_rules>},
      {mpi_jobs(), kMpiKind, mpi_trainable},
      {ray_jobs(), kRayJobKind, ray_job_trainable},
      {ray_clusters(), kRayClusterKind, ray_cluster_trainable},
      {client::resources::kJobs, "Job", batch_trainable},
  };
  return kKinds;
}

const JobKind* find_job_kind(std::string_view group, std::string_view kind) {
  for (const JobKind& known : job_kinds())
    if (known.resource.group == group && known.kind == kind) return &known;
  return nullptr;
}

}  // namespace gangway::jobs
