#include "jobs/ray_cluster_state.h"

#include <algorithm>
#include <charconv>

#include "api/conditions.h"
#include "api/gang.h"
#include "api/owner.h"
#include "api/ray.h"
#include "client/resource.h"

namespace gangway::jobs {
namespace {

using client::resources::kPods;

std::int64_t whole(std::string_view text, std::int64_t otherwise) {
  std::int64_t number = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A container that is not started again leaves the pod behind while others in it run on.
bool has_lost_ray(const json::Value& pod) {
  if (json::string_at(pod, {"spec", "restartPolicy"}) != "Never") return false;
  const json::Array& containers = json::array_at(pod, {"spec", "containers"});
  if (containers.empty()) return false;
  const std::string_view name = json::string_at(containers.front(), {"name"});
  for (const json::Value& status : json::array_at(pod, {"status", "containerStatuses"}))
    if (json::string_at(status, {"name"}) == name) return json::find(status, {"state", "terminated"}) != nullptr;
  return false;
}

void read_conditions(const json::Value& pod, RayPodFacts& facts) {
  if (const json::Object* found = api::find_condition(pod, "Ready")) {
    const json::Value ready(*found);
    facts.is_ready = json::string_at(ready, {"status"}) == "True";
    facts.not_ready = json::string_at(ready, {"reason"});
  }
  if (const json::Object* found = api::find_condition(pod, "DisruptionTarget")) {
    const json::Value disruption(*found);
    facts.is_disrupted = json::string_at(disruption, {"status"}) == "True" &&
                         json::string_at(disruption, {"reason"}) == "PreemptionByScheduler";
  }
}

void read_ends(const json::Value& pod, RayPodFacts& facts) {
  for (const json::Value& status : json::array_at(pod, {"status", "containerStatuses"})) {
    const json::Value* end = json::find(status, {"state", "terminated"});
    if (end == nullptr) continue;
    RayPodFacts::End& ended = facts.ended[std::string(json::string_at(status, {"name"}))];
    ended.code = json::integer_at(*end, {"exitCode"});
    if (const auto at = parse_rfc3339(json::string_at(*end, {"finishedAt"}))) ended.at = *at;
  }
}

}  // namespace

RayPodFacts read_ray_pod(const api::Version& version) {
  RayPodFacts facts;
  const auto pod = json::parse(*version.json);
  if (!pod) return facts;
  facts.phase = controllers::read_pod(version).phase;
  facts.address = json::string_at(*pod, {"status", "podIP"});
  facts.node = json::string_at(*pod, {"spec", "nodeName"});
  facts.attempt = whole(json::string_at(*pod, {"metadata", "annotations", api::kAttempt}), 1);
  facts.has_lost_ray = has_lost_ray(*pod);
  read_conditions(*pod, facts);
  read_ends(*pod, facts);
  return facts;
}

RayClusterState::RayClusterState(const RayCluster& cluster, const client::View& view) {
  const client::ObjectCache& cache = view.objects(kPods);
  cache.for_each_owned_by(cluster.uid(), [&](const api::Version& version) {
    if (!api::is_controlled_by(*version.header, cluster.uid())) return;
    RayPod pod{version, cache.facts(version, read_ray_pod), version.header->label(api::kRayGroupLabel)};
    const RayGroup* group = cluster.find_group(pod.group);
    const std::int64_t hosts = group == nullptr ? 1 : group->hosts;
    pod.slot = whole(version.header->label(api::kRayReplicaIndexLabel), 0) * hosts +
               whole(version.header->label(api::kRayHostIndexLabel), 0);
    (pod.facts->attempt == cluster.record.attempt ? pods : old).push_back(std::move(pod));
  });
}

const RayPod* RayClusterState::head() const {
  for (const RayPod& pod : pods)
    if (pod.group == api::kRayHeadGroup && pod.is_living()) return &pod;
  return nullptr;
}

std::vector<const RayPod*> RayClusterState::of_group(std::string_view group) const {
  std::vector<const RayPod*> found;
  for (const RayPod& pod : pods)
    if (pod.group == group) found.push_back(&pod);
  return found;
}

bool RayClusterState::is_complete(const RayCluster& cluster) const {
  const bool is_elastic = cluster.is_gang && cluster.groups.gang_wish(cluster.on_preempt).is_elastic();
  const auto has_enough = [&](const RayGroup& group) {
    const auto ready = std::count_if(pods.begin(), pods.end(),
                                     [&](const RayPod& pod) { return pod.group == group.name && pod.is_ready(); });
    return ready >= (is_elastic && !group.is_head ? group.fewest_pods() : group.pods());
  };
  return has_enough(cluster.groups.head) &&
         std::all_of(cluster.groups.workers.begin(), cluster.groups.workers.end(), has_enough);
}

const RayPod* RayClusterState::preempted() const {
  const auto at = std::find_if(pods.begin(), pods.end(), [](const RayPod& pod) { return pod.is_preempted(); });
  return at == pods.end() ? nullptr : &*at;
}

}  // namespace gangway::jobs
