#include "controllers/taint_eviction.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/conditions.h"
#include "client/resource.h"
#include "controllers/pods.h"

namespace gangway::controllers {
namespace {

using client::Delete;
using client::Emit;
using client::EventType;
using client::Outcome;
using client::PatchStatus;
using client::View;
using client::WorkQueue;
using client::resources::kNodes;
using client::resources::kPods;

constexpr const char* kNodeName = "spec.nodeName";
constexpr const char* kTarget = "DisruptionTarget";

bool is_same_taint(const api::Taint& a, const api::Taint& b) {
  return a.is_same_place(b) && a.value == b.value;
}

std::vector<api::Taint> evicting_taints(const api::Version& node) {
  const auto tree = json::parse(*node.json);
  if (!tree) return {};
  std::vector<api::Taint> taints = api::read_taints(*tree);
  std::erase_if(taints, [](const api::Taint& taint) { return taint.effect != "NoExecute"; });
  return taints;
}

WallTime bound_at(const api::Version& pod, const json::Value& tree) {
  const json::Object* scheduled = api::find_condition(tree, "PodScheduled");
  if (scheduled == nullptr) return pod.header->created;
  const json::Value condition = *scheduled;
  const auto since = parse_rfc3339(json::string_at(condition, {"lastTransitionTime"}));
  return since && json::string_at(condition, {"status"}) == "True" ? *since : pod.header->created;
}

// First the pod is told why, then it goes.
void evict(const api::Version& pod, json::Value tree, WallTime now, Outcome& outcome) {
  if (api::condition_is_true(tree, kTarget)) {
    outcome.allowed_now.push_back(Delete{client::target_by_uid(kPods, pod)});
    return;
  }
  api::set_condition(
      tree, {kTarget, "True", "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint"}, now);
  json::Value body = json::Object();
  json::object_at(body, {"status"})["conditions"] = json::array_at(tree, {"status", "conditions"});
  PatchStatus patch{client::target_of(kPods, pod), std::move(body)};
  patch.announce.done = Emit{client::subject_of(kPods, "Pod", pod), EventType::kNormal, "TaintManagerEviction",
                             fmt::format("Marking for deletion Pod {}/{}", pod.header->name.ns, pod.header->name.name)};
  outcome.allowed_now.push_back(std::move(patch));
}

}  // namespace

std::optional<WallTime> eviction_time(const std::vector<api::Taint>& taints,
                                      const std::vector<api::Toleration>& tolerations, WallTime bound) {
  std::optional<WallTime> first;
  for (const api::Taint& taint : taints) {
    const WallTime since = std::max(taint.added.value_or(bound), bound);
    const api::Toleration* toleration = api::find_toleration(tolerations, taint);
    if (toleration != nullptr && !toleration->seconds) continue;
    // A century is for ever, and does not overflow.
    constexpr std::int64_t kLongest = 100LL * 365 * 24 * 3600;
    const std::int64_t seconds =
        toleration == nullptr ? 0 : std::clamp<std::int64_t>(*toleration->seconds, 0, kLongest);
    const WallTime end = toleration == nullptr ? WallTime() : since + std::chrono::seconds(seconds);
    first = std::min(first.value_or(end), end);
  }
  return first;
}

std::vector<client::WatchRule> TaintEviction::watches() const {
  return {{.resource = kNodes,
           .keys = [this](const auto& change, const auto& view, const auto& sink) { on_node(change, view, sink); }},
          {.resource = kPods,
           .keys = [this](const auto& change, const auto& view, const auto& sink) { on_pod(change, view, sink); },
           .indexed_fields = {kNodeName}}};
}

void TaintEviction::on_node(const client::ObjectChange& change, const View& view, const client::KeySink& sink) const {
  const std::string& name = change.now.header->name.name;
  std::vector<api::Taint> known;
  if (auto node = taints_.extract(name)) known = std::move(node.mapped());
  std::vector<api::Taint> now;
  if (change.type != client::ObjectChange::Type::kDeleted) now = evicting_taints(change.now);
  for (api::Taint& taint : now) {
    const auto before =
        std::find_if(known.begin(), known.end(), [&](const api::Taint& other) { return is_same_taint(other, taint); });
    if (!taint.added) taint.added = before == known.end() ? view.now() : before->added;
  }
  if (now == known) {
    if (!now.empty()) taints_.emplace(name, std::move(now));
    return;
  }
  if (!now.empty()) taints_.emplace(name, std::move(now));
  for (const api::Version& pod : view.objects(kPods).with_field(kNodeName, name))
    sink(client::key_of(kPods, pod.header->name), WorkQueue::Priority::kNormal);
}

void TaintEviction::on_pod(const client::ObjectChange& change, const View&, const client::KeySink& sink) const {
  if (change.type == client::ObjectChange::Type::kDeleted || !taints_.contains(change.now.header->field(kNodeName)))
    return;
  sink(client::key_of(kPods, change.now.header->name), WorkQueue::Priority::kNormal);
}

Outcome TaintEviction::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version pod = view.get(kPods, key.object);
  if (!pod || pod.header->deleting_since || has_ended(*pod.header)) return outcome;
  const auto taints = taints_.find(pod.header->field(kNodeName));
  if (taints == taints_.end()) return outcome;
  auto tree = json::parse(*pod.json);
  if (!tree) return outcome;
  const auto due = eviction_time(taints->second, api::read_tolerations(*tree), bound_at(pod, *tree));
  if (!due) return outcome;
  if (*due > view.now()) {
    outcome.look_again(*due);
  } else {
    evict(pod, std::move(*tree), view.now(), outcome);
  }
  return outcome;
}

}  // namespace gangway::controllers
