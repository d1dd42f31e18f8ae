#include "jobs/mpi_state.h"

#include <algorithm>
#include <charconv>

#include "api/conditions.h"
#include "api/gang.h"
#include "api/owner.h"
#include "client/resource.h"
#include "jobs/replica_pods.h"

namespace gangway::jobs {
namespace {

using client::resources::kJobs;
using client::resources::kPods;
using client::resources::kStatefulSets;

std::int64_t attempt_of(const json::Value& object) {
  const std::string_view text = json::string_at(object, {"metadata", "annotations", api::kAttempt});
  std::int64_t number = 1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::optional<WallTime> time_in(std::string_view text) {
  const auto time = parse_rfc3339(text);
  if (!time) return std::nullopt;
  return *time;
}

// The object of that name when it is the job's; its tree in `tree`.
api::Version own_object(const MpiJob& job, const client::View& view, const client::Resource& resource,
                        const std::string& name, json::Value& tree) {
  api::Version found = view.get(resource, {job.ns(), name});
  if (!found || !api::is_owned_by(*found.header, job.version.header->uid)) return {};
  auto parsed = json::parse(*found.json);
  if (!parsed) return {};
  tree = std::move(*parsed);
  return found;
}

void read_workers(const MpiJob& job, const json::Value& set, MpiState& state) {
  state.set_attempt = attempt_of(set);
  state.set_size = json::integer_at(set, {"spec", "replicas"}, 1);
  const bool is_current =
      json::integer_at(set, {"status", "observedGeneration"}) >= json::integer_at(set, {"metadata", "generation"});
  if (state.set_attempt == job.record.attempt && is_current && !controllers::is_terminating(state.worker_set))
    state.ready_workers = json::integer_at(set, {"status", "readyReplicas"});
}

void read_end(const json::Value& launcher, MpiState& state) {
  for (const char* type : {"Complete", "Failed"}) {
    const json::Object* found = api::find_condition(launcher, type);
    if (found == nullptr || !api::condition_is_true(launcher, type)) continue;
    const json::Value condition(*found);
    state.launcher_ended = time_in(json::string_at(condition, {"lastTransitionTime"}));
    state.failure = json::string_at(condition, {"message"});
  }
  if (const auto at = time_in(json::string_at(launcher, {"status", "completionTime"}))) state.launcher_ended = at;
}

void read_launcher(const json::Value& launcher, MpiState& state) {
  state.launcher_attempt = attempt_of(launcher);
  state.is_active = json::integer_at(launcher, {"status", "active"}) > 0;
  state.is_launched = json::integer_at(launcher, {"status", "ready"}) > 0;
  state.has_succeeded = api::condition_is_true(launcher, "Complete");
  state.has_failed = api::condition_is_true(launcher, "Failed");
  state.launcher_started = time_in(json::string_at(launcher, {"status", "startTime"}));
  read_end(launcher, state);
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
  read(state.launcher, false);
  std::sort(state.running_workers.begin(), state.running_workers.end());
}

}  // namespace

MpiState::MpiState(const MpiJob& job, const client::View& view) {
  json::Value tree;
  worker_set = own_object(job, view, kStatefulSets, job.worker_set_name(), tree);
  if (worker_set) read_workers(job, tree, *this);
  launcher = own_object(job, view, kJobs, job.launcher_name(), tree);
  if (launcher) read_launcher(tree, *this);
  read_pods(job, view, *this);
}

}  // namespace gangway::jobs
