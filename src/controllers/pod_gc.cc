#include "controllers/pod_gc.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/conditions.h"
#include "api/taints.h"
#include "client/resource.h"
#include "controllers/pods.h"

namespace gangway::controllers {
namespace {

using client::Delete;
using client::ObjectChange;
using client::Outcome;
using client::PatchStatus;
using client::View;
using client::WorkQueue;
using client::resources::kNodes;
using client::resources::kPods;

constexpr const char* kNodeName = "spec.nodeName";
constexpr const char* kPhase = "status.phase";
constexpr std::size_t kMostAtOnce = 500;
const api::ObjectKey kEnded = client::key_of(kPods, {"", ""});

struct NodeState {
  bool is_out_of_service = false;  // declared so, and not ready
};

NodeState read_node_state(const api::Version& node) {
  const auto tree = json::parse(*node.json);
  if (!tree || api::condition_is_true(*tree, "Ready")) return {};
  const auto taints = api::read_taints(*tree);
  return {std::any_of(taints.begin(), taints.end(),
                      [](const api::Taint& taint) { return taint.key == "node.kubernetes.io/out-of-service"; })};
}

struct EndedPod {
  bool is_evicted = false;
};

EndedPod read_ended_pod(const api::Version& pod) {
  const auto tree = json::parse(*pod.json);
  return {tree && json::string_at(*tree, {"status", "reason"}) == "Evicted"};
}

std::size_t count_ended(const View& view) {
  const auto& pods = view.objects(kPods);
  return pods.count_with_field(kPhase, "Succeeded") + pods.count_with_field(kPhase, "Failed");
}

bool is_out_of_service(const View& view, std::string_view name) {
  const auto& nodes = view.objects(kNodes);
  const api::Version node = nodes.get({"", std::string(name)});
  return node && nodes.facts(node, read_node_state)->is_out_of_service;
}

// First it is said that the pod has failed, since nobody else can say so any more.
void remove(const api::Version& pod, std::optional<api::Condition> why, WallTime now, Outcome& outcome) {
  auto tree = json::parse(*pod.json);
  if (!tree) return;
  if (!has_ended(*pod.header)) {
    if (why) api::set_condition(*tree, *why, now);
    json::Object status{{"phase", "Failed"}};
    if (why) status["conditions"] = json::array_at(*tree, {"status", "conditions"});
    outcome.allowed_now.push_back(
        PatchStatus{client::target_of(kPods, pod), json::Object{{"status", std::move(status)}}});
    return;
  }
  // What is left then waits for its finalizers.
  const bool is_going =
      pod.header->deleting_since && json::integer_at(*tree, {"metadata", "deletionGracePeriodSeconds"}) == 0;
  if (!is_going) outcome.allowed_now.push_back(Delete{client::target_by_uid(kPods, pod), {}, 0});
}

}  // namespace

std::vector<client::WatchRule> PodGc::watches() const {
  return {{.resource = kPods,
           .keys = [this](const auto& change, const auto& view, const auto& sink) { on_pod(change, view, sink); },
           .indexed_fields = {kNodeName, kPhase}},
          {.resource = kNodes,
           .keys = [this](const auto& change, const auto& view, const auto& sink) { on_node(change, view, sink); }}};
}

void PodGc::on_pod(const ObjectChange& change, const View& view, const client::KeySink& sink) const {
  if (change.type == ObjectChange::Type::kDeleted) return;
  const api::Header& pod = *change.now.header;
  if (has_ended(pod) && count_ended(view) > options_.kept) sink(kEnded, WorkQueue::Priority::kNormal);
  const std::string_view node = pod.field(kNodeName);
  const bool is_on_a_node = !node.empty() && view.objects(kNodes).contains({"", std::string(node)});
  if (is_on_a_node ? pod.deleting_since && is_out_of_service(view, node) : !node.empty() || pod.deleting_since)
    sink(client::key_of(kPods, pod.name), WorkQueue::Priority::kNormal);
}

void PodGc::on_node(const ObjectChange& change, const View& view, const client::KeySink& sink) const {
  const std::string& name = change.now.header->name.name;
  const bool is_gone = change.type == ObjectChange::Type::kDeleted;
  missed_since_.erase(name);
  if (!is_gone && !is_out_of_service(view, name)) return;
  for (const api::Version& pod : view.objects(kPods).with_field(kNodeName, name))
    sink(client::key_of(kPods, pod.header->name), WorkQueue::Priority::kNormal);
}

Outcome PodGc::look_at_ended(const View& view) const {
  Outcome outcome;
  const auto& pods = view.objects(kPods);
  const std::size_t count = count_ended(view);
  if (count <= options_.kept) return outcome;
  std::vector<api::Version> ended = pods.with_field(kPhase, "Succeeded");
  for (api::Version& pod : pods.with_field(kPhase, "Failed")) ended.push_back(std::move(pod));
  std::erase_if(ended, [](const api::Version& pod) { return pod.header->deleting_since.has_value(); });
  std::sort(ended.begin(), ended.end(), [&](const api::Version& a, const api::Version& b) {
    const bool is_first_evicted = pods.facts(a, read_ended_pod)->is_evicted;
    if (is_first_evicted != pods.facts(b, read_ended_pod)->is_evicted) return is_first_evicted;
    if (a.header->created != b.header->created) return a.header->created < b.header->created;
    return a.header->name < b.header->name;
  });
  const std::size_t too_many = std::min({count - options_.kept, kMostAtOnce, ended.size()});
  for (std::size_t i = 0; i < too_many; ++i)
    outcome.allowed_now.push_back(Delete{client::target_by_uid(kPods, ended[i]), {}, 0});
  return outcome;
}

Outcome PodGc::reconcile(const api::ObjectKey& key, const View& view) const {
  if (key == kEnded) return look_at_ended(view);
  Outcome outcome;
  const api::Version pod = view.get(kPods, key.object);
  if (!pod) return outcome;
  const std::string node(pod.header->field(kNodeName));
  if (node.empty()) {
    if (pod.header->deleting_since) remove(pod, std::nullopt, view.now(), outcome);
    return outcome;
  }
  if (view.objects(kNodes).contains({"", node})) {
    if (pod.header->deleting_since && is_out_of_service(view, node)) remove(pod, std::nullopt, view.now(), outcome);
    return outcome;
  }
  const WallTime due = missed_since_.try_emplace(node, view.now()).first->second + options_.quarantine;
  if (due > view.now()) {
    outcome.look_again(due);
  } else {
    remove(pod, api::Condition{"DisruptionTarget", "True", "DeletionByPodGC", "PodGC: node no longer exists"},
           view.now(), outcome);
  }
  return outcome;
}

}  // namespace gangway::controllers
