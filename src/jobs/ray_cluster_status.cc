#include "jobs/ray_cluster_status.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "api/conditions.h"
#include "base/quantity.h"
#include "client/resource.h"
#include "jobs/ray_pods.h"

namespace gangway::jobs {
namespace {

using client::resources::kServices;

constexpr std::int64_t kMostReplicas = std::numeric_limits<std::int32_t>::max();

// In as many steps as the number has digits: users may ask for billions.
Quantity times(Quantity amount, std::int64_t count) {
  Quantity sum;
  for (; count > 0; count /= 2, amount += Quantity(amount))
    if (count % 2 == 1) sum += amount;
  return sum;
}

// What so many pods of the template take of each resource, as the template says it.
void add_requests(const json::Value& pod_template, std::int64_t pods, std::map<std::string, Quantity>& sums) {
  for (const json::Value& container : json::array_at(pod_template, {"spec", "containers"})) {
    json::Object amounts = json::map_at(container, {"resources", "limits"});
    for (const auto& [resource, amount] : json::map_at(container, {"resources", "requests"}))
      amounts[resource] = amount;
    for (const auto& [resource, amount] : amounts) {
      const auto parsed = amount.is_string() ? Quantity::parse(json::string_at(amount, {}))
                                             : Quantity::of(json::integer_at(amount, {}));
      if (!parsed) continue;
      const std::string_view name = resource;
      const std::string kind = name.ends_with("gpu") ? "gpu" : name == "google.com/tpu" ? "tpu" : std::string(name);
      sums[kind] += times(*parsed, pods);
    }
  }
}

}  // namespace

RayClusterStatus::RayClusterStatus(const RayCluster& cluster, WallTime now)
    : record(cluster.record),
      cluster_(cluster),
      now_(now),
      next_(json::Object{{"status", json::map_at(cluster.tree, {"status"})}}) {}

bool RayClusterStatus::is_true(std::string_view condition) const {
  return api::condition_is_true(next_, condition);
}

void RayClusterStatus::set(std::string_view condition, bool status, std::string_view reason, std::string_view message) {
  api::set_condition(next_,
                     {.type = std::string(condition),
                      .status = status ? "True" : "False",
                      .reason = std::string(reason),
                      .message = std::string(message)},
                     now_);
}

void RayClusterStatus::drop(std::string_view condition) {
  api::remove_condition(next_, condition);
}

std::string_view RayClusterStatus::state() const {
  return json::string_at(next_, {"status", "state"});
}

void RayClusterStatus::set_state(std::string_view state) {
  if (state == this->state()) return;
  json::Object& status = json::object_at(next_, {"status"});
  if (state.empty()) {
    status.erase("state");
  } else {
    status["state"] = state;
    json::object_at(next_, {"status", "stateTransitionTimes"})[state] = to_rfc3339(now_);
  }
}

void RayClusterStatus::count(const RayClusterState& state) {
  std::int64_t desired = 0;
  std::int64_t fewest = 0;
  std::int64_t most = 0;
  for (const RayGroup& group : cluster_.groups.workers) {
    desired += group.pods();
    fewest += group.fewest_pods();
    if (!group.is_suspended)
      most = std::min(kMostReplicas, most + std::min(kMostReplicas, group.maximum) * group.hosts);
  }
  std::int64_t available = 0;
  std::int64_t ready = 0;
  for (const RayPod& pod : state.pods) {
    if (pod.group == cluster_.groups.head.name) continue;
    available += pod.is_running() ? 1 : 0;
    ready += pod.is_ready() ? 1 : 0;
  }
  json::Object& status = json::object_at(next_, {"status"});
  const auto put = [&](std::string_view key, std::int64_t number) {
    if (number == 0) {
      status.erase(key);
    } else {
      status[key] = number;
    }
  };
  put("desiredWorkerReplicas", desired);
  put("availableWorkerReplicas", available);
  put("readyWorkerReplicas", ready);
  put("minWorkerReplicas", fewest);
  put("maxWorkerReplicas", most);
}

void RayClusterStatus::add_amounts() {
  std::map<std::string, Quantity> sums;
  add_requests(cluster_.groups.head.pod_template(), 1, sums);
  for (const RayGroup& group : cluster_.groups.workers) add_requests(group.pod_template(), group.pods(), sums);
  json::Object& status = json::object_at(next_, {"status"});
  status["desiredCPU"] = sums["cpu"].canonical();
  status["desiredMemory"] = sums["memory"].canonical();
  status["desiredGPU"] = sums["gpu"].canonical();
  status["desiredTPU"] = sums["tpu"].canonical();
}

void RayClusterStatus::observe(const RayClusterState& state, const client::View& view) {
  count(state);
  add_amounts();
  json::Object head{{"serviceName", cluster_.head_service()}};
  const RayPod* pod = state.head();
  if (pod != nullptr) {
    head["podName"] = pod->name();
    if (!pod->facts->address.empty()) head["podIP"] = pod->facts->address;
    const bool is_ready = pod->is_ready();
    set(kRayHeadReady, is_ready,
        is_ready                        ? "HeadPodRunningAndReady"
        : pod->facts->not_ready.empty() ? "ContainersNotReady"
                                        : pod->facts->not_ready,
        "");
  } else {
    set(kRayHeadReady, false, "HeadPodNotFound", "Head Pod not found");
  }
  if (const api::Version service = view.get(kServices, {cluster_.ns(), cluster_.head_service()})) {
    const auto tree = json::parse(*service.json);
    const std::string_view address = tree ? json::string_at(*tree, {"spec", "clusterIP"}) : std::string_view();
    if (!address.empty() && address != "None") {
      head["serviceIP"] = address;
    } else if (const json::Value* same = head.if_contains("podIP")) {
      head["serviceIP"] = json::Value(*same);
    }
  }
  json::Object endpoints;
  for (const json::Value& port : ray_head_ports(cluster_.spec()))
    endpoints[json::string_at(port, {"name"})] = std::to_string(json::integer_at(port, {"port"}));
  json::Object& status = json::object_at(next_, {"status"});
  status["head"] = std::move(head);
  status["endpoints"] = std::move(endpoints);
  status["observedGeneration"] = cluster_.version.header->generation;
}

std::optional<client::Action> RayClusterStatus::write() const {
  json::Object status = json::map_at(next_, {"status"});
  json::Object own{{"attempt", record.attempt}};
  // A preemption of the same second may be a later one.
  if (record.queued_again) own["queuedAgainAt"] = to_rfc3339_micro(*record.queued_again);
  status["gangway"] = std::move(own);
  if (json::equal(json::Value(json::map_at(cluster_.tree, {"status"})), json::Value(status))) return std::nullopt;
  status["lastUpdateTime"] = to_rfc3339(now_);
  json::Value body = cluster_.tree;
  // What a server lists need not say what it is.
  body.as_object()["apiVersion"] = client::api_version(ray_clusters());
  body.as_object()["kind"] = kRayClusterKind;
  body.as_object()["status"] = std::move(status);
  return client::Update{client::target_of(ray_clusters(), cluster_.version), std::move(body), "status"};
}

}  // namespace gangway::jobs
