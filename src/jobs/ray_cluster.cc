#include "jobs/ray_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "api/gang.h"
#include "api/owner.h"
#include "api/ray.h"

namespace gangway::jobs {
namespace {

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int32_t>::max();

const json::Value& nothing() {
  static const json::Value kNothing = json::Object();
  return kNothing;
}

std::int64_t whole(std::string_view text, std::int64_t otherwise) {
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && failure == std::errc() && end == text.data() + text.size() ? number : otherwise;
}

RayGroup read_head(const json::Value& cluster_spec) {
  RayGroup head;
  head.name = api::kRayHeadGroup;
  head.is_head = true;
  if (const json::Value* given = json::find(cluster_spec, {"headGroupSpec"})) head.spec = *given;
  return head;
}

RayGroup read_worker(const json::Value& given) {
  RayGroup group;
  group.name = json::string_at(given, {"groupName"});
  group.is_suspended = json::flag_at(given, {"suspend"});
  group.minimum = std::max<std::int64_t>(0, json::integer_at(given, {"minReplicas"}, 0));
  group.maximum = std::max(group.minimum, json::integer_at(given, {"maxReplicas"}, kNoLimit));
  group.replicas = std::clamp(json::integer_at(given, {"replicas"}, 0), group.minimum, group.maximum);
  group.hosts = std::max<std::int64_t>(1, json::integer_at(given, {"numOfHosts"}, 1));
  for (const json::Value& pod : json::array_at(given, {"scaleStrategy", "workersToDelete"}))
    if (pod.is_string()) group.to_delete.insert(std::string(json::string_at(pod, {})));
  group.spec = given;
  return group;
}

// Those of a job's cluster are of the job's attempt.
RayClusterRecord read_record(const json::Value& cluster) {
  RayClusterRecord record;
  const std::int64_t said = whole(json::string_at(cluster, {"metadata", "annotations", api::kAttempt}), 1);
  record.attempt = std::max({std::int64_t{1}, said, json::integer_at(cluster, {"status", "gangway", "attempt"}, 1)});
  if (const auto time = parse_rfc3339(json::string_at(cluster, {"status", "gangway", "queuedAgainAt"})))
    record.queued_again = *time;
  return record;
}

}  // namespace

const client::Resource& ray_clusters() {
  static const client::Resource kResource{"ray.io", "v1", "rayclusters"};
  return kResource;
}

const client::Resource& ray_jobs() {
  static const client::Resource kResource{"ray.io", "v1", "rayjobs"};
  return kResource;
}

std::string_view RayGroup::role() const {
  return is_head ? api::kRayHead : api::kRayWorker;
}

const json::Value& RayGroup::pod_template() const {
  const json::Value* given = json::find(spec, {"template"});
  return given != nullptr && given->is_object() ? *given : nothing();
}

RayGroups::RayGroups(const json::Value& cluster_spec)
    : head(read_head(cluster_spec)), is_autoscaled(json::flag_at(cluster_spec, {"enableInTreeAutoscaling"})) {
  for (const json::Value& group : json::array_at(cluster_spec, {"workerGroupSpecs"}))
    workers.push_back(read_worker(group));
}

GangWish RayGroups::gang_wish(OnPreempt on_preempt) const {
  std::int64_t all = 1;
  std::int64_t fewest = 1;
  for (const RayGroup& group : workers) {
    all += group.pods();
    fewest += group.fewest_pods();
  }
  // Limits alone do not say that it can do with fewer: every group has some.
  const bool is_elastic = is_autoscaled || on_preempt == OnPreempt::kShrink;
  return {.minimum = is_elastic ? fewest : all, .maximum = all};
}

RayCluster::RayCluster(api::Version cluster, json::Value document)
    : version(std::move(cluster)),
      tree(std::move(document)),
      groups(spec()),
      record(read_record(tree)),
      is_suspended(json::flag_at(spec(), {"suspend"})),
      is_gang(api::gang_choice(tree).value_or(true)),
      on_preempt(on_preempt_of(tree)) {
  const std::string_view by = json::string_at(spec(), {"managedBy"});
  is_ours = by.empty() || by == api::kRayOperator;
  const api::OwnerReference* maker = api::controller_of(*version.header);
  if (maker != nullptr && maker->kind == kRayJobKind) job = maker->name;
}

const json::Value& RayCluster::spec() const {
  const json::Value* given = json::find(tree, {"spec"});
  return given != nullptr ? *given : nothing();
}

const RayGroup* RayCluster::find_group(std::string_view group) const {
  if (group == groups.head.name) return &groups.head;
  for (const RayGroup& known : groups.workers)
    if (known.name == group) return &known;
  return nullptr;
}

std::string RayCluster::head_service() const {
  return ray_head_service(spec(), name());
}

std::int64_t RayCluster::gcs_port() const {
  return whole(json::string_at(groups.head.spec, {"rayStartParams", "port"}), api::kRayGcsPort);
}

std::string ray_head_service(const json::Value& cluster_spec, std::string_view cluster) {
  const std::string_view given = json::string_at(cluster_spec, {"headGroupSpec", "headService", "metadata", "name"});
  return given.empty() ? fmt::format("{}-head-svc", cluster) : std::string(given);
}

std::string ray_head_host(std::string_view service, std::string_view ns) {
  return fmt::format("{}.{}.svc.cluster.local", service, ns);
}

std::int64_t ray_head_port(const json::Value& cluster_spec, std::string_view name, std::int64_t otherwise) {
  const json::Array& containers = json::array_at(cluster_spec, {"headGroupSpec", "template", "spec", "containers"});
  if (containers.empty()) return otherwise;
  for (const json::Value& port : json::array_at(containers.front(), {"ports"}))
    if (json::string_at(port, {"name"}) == name) return json::integer_at(port, {"containerPort"}, otherwise);
  return otherwise;
}

}  // namespace gangway::jobs
