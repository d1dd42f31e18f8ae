#include "jobs/mpi_state.h"

#include <algorithm>

#include "client/resource.h"
#include "jobs/replica_pods.h"

namespace gangway::jobs {
namespace {

using client::resources::kPods;
using client::resources::kStatefulSets;

void read_workers(const MpiJob& job, const json::Value& set, MpiState& state) {
  state.set_attempt = attempt_of(set);
  state.set_size = json::integer_at(set, {"spec", "replicas"}, 1);
  const bool is_current =
      json::integer_at(set, {"status", "observedGeneration"}) >= json::integer_at(set, {"metadata", "generation"});
  if (state.set_attempt == job.record.attempt && is_current && !controllers::is_terminating(state.worker_set))
    state.ready_workers = json::integer_at(set, {"status", "readyReplicas"});
}

void read_pods(const MpiJob& job, const client::View& view, MpiState& state) {
  const client::ObjectCache& cache = view.objects(kPods);
  const auto read = [&](const api::Version& maker, bool are_workers) {
    if (!maker) return;
    cache.for_each_owned_by(maker.header->uid, [&](const api::Version& pod) {
      const auto facts = cache.facts(pod, read_replica_pod);
      if (facts->attempt != job.record.attempt) return;
      const bool is_going = controllers::is_terminating(pod);
      if (is_going && facts->is_disrupted) state.preempted_pod = pod.header->uid;
      if (are_workers && !is_going && facts->phase == controllers::PodPhase::kRunning)
        state.running_workers.push_back(pod.header->name.name);
    });
  };
  read(state.worker_set, true);
  read(state.launcher.object, false);
  std::sort(state.running_workers.begin(), state.running_workers.end());
}

}  // namespace

MpiState::MpiState(const MpiJob& job, const client::View& view) {
  json::Value tree;
  worker_set = own_object(view, job.owner(), kStatefulSets, job.worker_set_name(), tree);
  if (worker_set) read_workers(job, tree, *this);
  launcher = read_launcher_job(view, job.owner(), job.launcher_name());
  read_pods(job, view, *this);
}

}  // namespace gangway::jobs
