#include "controllers/node_lifecycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/conditions.h"
#include "api/taints.h"
#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Emit;
using client::EventType;
using client::Outcome;
using client::Patch;
using client::PatchStatus;
using client::View;
using client::WorkQueue;
using client::resources::kLeases;
using client::resources::kNodes;
using client::resources::kPods;

constexpr const char* kLeaseNamespace = "kube-node-lease";
constexpr const char* kNodeName = "spec.nodeName";
constexpr const char* kNotReady = "node.kubernetes.io/not-ready";
constexpr const char* kUnreachable = "node.kubernetes.io/unreachable";
constexpr const char* kUnschedulable = "node.kubernetes.io/unschedulable";

struct PressureTaint {
  const char* condition;
  const char* key;
};
constexpr PressureTaint kPressures[] = {{"MemoryPressure", "node.kubernetes.io/memory-pressure"},
                                        {"DiskPressure", "node.kubernetes.io/disk-pressure"},
                                        {"NetworkUnavailable", "node.kubernetes.io/network-unavailable"},
                                        {"PIDPressure", "node.kubernetes.io/pid-pressure"}};

// The taints that are ours to set and to take off.
bool is_ours(const api::Taint& taint) {
  if (taint.key == kNotReady || taint.key == kUnreachable)
    return taint.effect == "NoSchedule" || taint.effect == "NoExecute";
  if (taint.effect != "NoSchedule") return false;
  return taint.key == kUnschedulable || std::any_of(std::begin(kPressures), std::end(kPressures),
                                                    [&](const PressureTaint& each) { return taint.key == each.key; });
}

std::string_view condition_text(const json::Value& object, std::string_view type, std::string_view key) {
  const json::Object* condition = api::find_condition(object, type);
  const json::Value* value = condition == nullptr ? nullptr : condition->if_contains(key);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

std::vector<api::Taint> wanted_taints(const json::Value& node, bool may_evict) {
  std::vector<api::Taint> taints;
  const std::string_view ready = condition_text(node, "Ready", "status");
  if (ready != "True") {
    const char* key = ready == "Unknown" ? kUnreachable : kNotReady;
    taints.push_back({key, "", "NoSchedule"});
    // A node that has never said anything has no pods to lose either.
    if (may_evict && !ready.empty()) taints.push_back({key, "", "NoExecute"});
  }
  for (const PressureTaint& each : kPressures)
    if (api::condition_is_true(node, each.condition)) taints.push_back({each.key, "", "NoSchedule"});
  if (json::flag_at(node, {"spec", "unschedulable"})) taints.push_back({kUnschedulable, "", "NoSchedule"});
  return taints;
}

bool contains(const std::vector<api::Taint>& taints, const api::Taint& taint) {
  return std::any_of(taints.begin(), taints.end(), [&](const api::Taint& other) { return other.is_same_place(taint); });
}

void put_taints_right(const api::Version& node, const json::Value& tree, bool may_evict, WallTime now,
                      Outcome& outcome) {
  const std::vector<api::Taint> wanted = wanted_taints(tree, may_evict);
  const std::vector<api::Taint> present = api::read_taints(tree);
  std::vector<api::Taint> next;
  for (const api::Taint& taint : present)
    if (!is_ours(taint) || contains(wanted, taint)) next.push_back(taint);
  for (api::Taint taint : wanted) {
    if (contains(present, taint)) continue;
    taint.added = now;
    next.push_back(std::move(taint));
  }
  if (next == present) return;
  json::Array taints;
  for (const api::Taint& taint : next) taints.push_back(api::to_json(taint));
  json::Value body = json::Object();
  json::object_at(body, {"spec"})["taints"] = std::move(taints);
  outcome.allowed_now.push_back(Patch{client::target_of(kNodes, node), std::move(body)});
}

// Says of a node what it cannot say itself any more.
void declare_unknown(const api::Version& node, json::Value tree, WallTime now, Outcome& outcome) {
  const bool was_ready = api::condition_is_true(tree, "Ready");
  bool changed = false;
  for (const char* type : {"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"}) {
    const bool is_known = api::find_condition(tree, type) != nullptr;
    if (api::condition_is(tree, type, "Unknown")) continue;
    changed |= is_known
                   ? api::set_condition(
                         tree, {type, "Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."}, now)
                   : api::set_condition(
                         tree, {type, "Unknown", "NodeStatusNeverUpdated", "Kubelet never posted node status."}, now);
  }
  if (!changed) return;
  json::Value body = json::Object();
  json::object_at(body, {"status"})["conditions"] = json::array_at(tree, {"status", "conditions"});
  PatchStatus patch{client::target_of(kNodes, node), std::move(body)};
  if (was_ready) {
    patch.announce.done = Emit{client::subject_of(kNodes, "Node", node), EventType::kNormal, "NodeNotReady",
                               fmt::format("Node {} status is now: NodeNotReady", node.header->name.name)};
  }
  outcome.allowed_now.push_back(std::move(patch));
}

// A pod that became ready after its node ceased to be has been heard of since: it is left alone.
void declare_pods_unready(const std::string& node, WallTime since, const View& view, Outcome& outcome) {
  for (const api::Version& pod : view.objects(kPods).with_field(kNodeName, node)) {
    auto tree = json::parse(*pod.json);
    if (!tree || !api::condition_is_true(*tree, "Ready")) continue;
    const auto ready_since = parse_rfc3339(condition_text(*tree, "Ready", "lastTransitionTime"));
    if (ready_since && *ready_since > since) continue;
    api::set_condition(*tree,
                       {"Ready", "False", std::string(condition_text(*tree, "Ready", "reason")),
                        std::string(condition_text(*tree, "Ready", "message"))},
                       view.now());
    json::Value body = json::Object();
    json::object_at(body, {"status"})["conditions"] = json::array_at(*tree, {"status", "conditions"});
    PatchStatus patch{client::target_of(kPods, pod), std::move(body)};
    patch.announce.done =
        Emit{client::subject_of(kPods, "Pod", pod), EventType::kWarning, "NodeNotReady", "Node is not ready"};
    outcome.allowed_now.push_back(std::move(patch));
  }
}

}  // namespace

NodeLifecycle::NodeLifecycle(NodeLifecycleOptions options) : options_(options), time_(options.tick) {}

std::vector<client::WatchRule> NodeLifecycle::watches() const {
  return {{.resource = kNodes,
           .keys = [this](const auto& change, const auto& view, const auto& sink) { on_node(change, view, sink); }},
          {.resource = kLeases,
           .keys = [this](const auto& change, const auto& view, const auto&) { on_lease(change, view); }},
          {.resource = kPods, .indexed_fields = {kNodeName}}};
}

void NodeLifecycle::on_node(const client::ObjectChange& change, const View& view, const client::KeySink& sink) const {
  const std::string& name = change.now.header->name.name;
  const bool was_anybody_ready = !ready_.empty();
  ready_.erase(name);
  if (change.type == client::ObjectChange::Type::kDeleted) {
    seen_.erase(name);
  } else if (const auto tree = json::parse(*change.now.json); tree && api::condition_is_true(*tree, "Ready")) {
    ready_.insert(name);
  }
  if (change.type == client::ObjectChange::Type::kAdded)
    sink(client::key_of(kNodes, {"", ""}), WorkQueue::Priority::kUrgent);
  sink(client::key_of(kNodes, {"", name}), WorkQueue::Priority::kNormal);
  if (was_anybody_ready == !ready_.empty()) return;
  for (const auto& [other, version] : view.objects(kNodes).all())
    sink(client::key_of(kNodes, other), WorkQueue::Priority::kNormal);
}

// No look: the one that was made an appointment for finds that it is not due yet.
void NodeLifecycle::on_lease(const client::ObjectChange& change, const View& view) const {
  if (change.now.header->name.ns != kLeaseNamespace || change.type == client::ObjectChange::Type::kDeleted) return;
  seen_[change.now.header->name.name].renewed = time_.at(view.now());
}

Duration NodeLifecycle::patience_left(const std::string& node, const json::Value& tree, WallTime now) const {
  const WallTime own = time_.at(now);
  auto [at, is_new] = seen_.try_emplace(node);
  Seen& seen = at->second;
  // Who says that it is well again is heard, whether it says when or not.
  std::string said =
      fmt::format("{} {}", condition_text(tree, "Ready", "lastHeartbeatTime"), condition_text(tree, "Ready", "status"));
  if (is_new || seen.said != said) {
    seen.said = std::move(said);
    seen.renewed = own;
  }
  return std::max(Duration::zero(), seen.renewed + options_.grace - own);
}

Outcome NodeLifecycle::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const std::string& name = key.object.name;
  if (name.empty()) {
    time_.at(view.now());
    if (view.objects(kNodes).size() > 0) outcome.look_again(view.now() + options_.tick);
    return outcome;
  }
  const api::Version node = view.get(kNodes, key.object);
  if (!node || node.header->deleting_since) return outcome;
  const auto tree = json::parse(*node.json);
  if (!tree) return outcome;

  const Duration patience = patience_left(name, *tree, view.now());
  if (patience > Duration::zero()) {
    outcome.look_again(view.now() + patience);
  } else {
    declare_unknown(node, *tree, view.now(), outcome);
    // The rest follows from what the node is then.
    if (!outcome.allowed_now.empty()) return outcome;
  }
  put_taints_right(node, *tree, !ready_.empty(), view.now(), outcome);
  const auto since = parse_rfc3339(condition_text(*tree, "Ready", "lastTransitionTime"));
  if (since && !api::condition_is_true(*tree, "Ready")) declare_pods_unready(name, *since, view, outcome);
  return outcome;
}

}  // namespace gangway::controllers
