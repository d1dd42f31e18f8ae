#include "jobs/ray_job_state.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "api/conditions.h"
#include "api/gang.h"
#include "api/owner.h"
#include "api/ray.h"
#include "client/resource.h"
#include "jobs/ray_cluster_state.h"
#include "jobs/ray_job_objects.h"

namespace gangway::jobs {
namespace {

using client::resources::kJobs;
using client::resources::kNodes;

struct NodeRuntime {
  bool is_simulated = false;
};
NodeRuntime read_runtime(const api::Version& node) {
  const auto tree = json::parse(*node.json);
  return {tree &&
          json::string_at(*tree, {"status", "nodeInfo", "containerRuntimeVersion"}).starts_with("simulated://")};
}

std::int64_t attempt_of(const json::Value& object) {
  const std::string_view text = json::string_at(object, {"metadata", "annotations", api::kAttempt});
  std::int64_t number = 1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// The submitter beside the head.
void read_sidecar(const RayPodFacts& head, RaySubmitter& submitter) {
  const auto end = head.ended.find(kRaySubmitterContainer);
  submitter.is_running = end == head.ended.end();
  if (submitter.is_running) return;
  submitter.has_succeeded = end->second.code == 0;
  submitter.has_failed = !submitter.has_succeeded;
  submitter.message = fmt::format("the container {} ended with {}", kRaySubmitterContainer, end->second.code);
  submitter.ended = end->second.at;
}

void read_cluster(const RayJob& job, const client::View& view, RayJobState& state) {
  if (job.record.cluster.empty()) return;
  const api::Version found = view.get(ray_clusters(), {job.ns(), job.record.cluster});
  if (!found) return;
  // One of the name that is not the job's own is only of use to who asked for it.
  if (job.selected_cluster.empty() && !api::is_controlled_by(*found.header, job.uid())) return;
  auto tree = json::parse(*found.json);
  if (!tree) return;
  const RayCluster cluster(found, *tree);
  const RayClusterState pods(cluster, view);
  state.cluster = found;
  state.cluster_tree = std::move(*tree);
  state.is_cluster_ready =
      json::string_at(state.cluster_tree, {"status", "state"}) == "ready" && !controllers::is_terminating(found);
  state.has_all_pods = pods.is_complete(cluster);
  if (const RayPod* lost = pods.preempted()) state.preempted_pod = lost->version.header->uid;
  const RayPod* head = pods.head();
  if (head != nullptr && job.submission == RaySubmission::kSidecar) read_sidecar(*head->facts, state.submitter);
  if (head == nullptr || !head->is_running() || head->facts->address.empty()) return;
  state.head = RayHeadAddress{head->facts->address, ray_head_port(cluster.spec(), "dashboard", api::kRayDashboardPort)};
  if (const api::Version node = view.get(kNodes, {"", head->facts->node}))
    state.is_simulated = view.objects(kNodes).facts(node, read_runtime)->is_simulated;
}

void read_submitter(const RayJob& job, const client::View& view, RaySubmitter& submitter) {
  const api::Version found = view.get(kJobs, {job.ns(), job.name()});
  if (!found || !api::is_controlled_by(*found.header, job.uid())) return;
  const auto tree = json::parse(*found.json);
  if (!tree) return;
  submitter.version = found;
  submitter.is_of_attempt = attempt_of(*tree) == job.record.attempt;
  submitter.is_running = json::integer_at(*tree, {"status", "ready"}) > 0;
  submitter.has_succeeded = api::condition_is_true(*tree, "Complete");
  submitter.has_failed = api::condition_is_true(*tree, "Failed");
  for (const char* type : {"Complete", "Failed"}) {
    const json::Object* condition = api::find_condition(*tree, type);
    if (condition == nullptr || !api::condition_is_true(*tree, type)) continue;
    const json::Value end(*condition);
    submitter.message = json::string_at(end, {"message"});
    if (const auto at = parse_rfc3339(json::string_at(end, {"lastTransitionTime"}))) submitter.ended = *at;
  }
}

}  // namespace

RayJobState::RayJobState(const RayJob& job, const client::View& view) {
  read_cluster(job, view, *this);
  if (job.submission != RaySubmission::kSidecar) read_submitter(job, view, submitter);
}

}  // namespace gangway::jobs
