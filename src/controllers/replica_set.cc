#include "controllers/replica_set.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "api/conditions.h"
#include "api/owner.h"
#include "client/resource.h"
#include "controllers/new_pod_names.h"
#include "controllers/owned.h"
#include "controllers/pod_ranking.h"
#include "controllers/pods.h"

namespace gangway::controllers {
namespace {

using client::Create;
using client::Delete;
using client::Emit;
using client::EventType;
using client::Outcome;
using client::PatchStatus;
using client::View;
using client::resources::kPods;
using client::resources::kReplicaSets;

constexpr std::size_t kMostDeletions = 500;
constexpr const char* kFailure = "ReplicaFailure";

struct ReplicaSet {
  const api::Version& object;
  json::Value tree;
  Owner owner{kReplicaSets, "ReplicaSet", object};

  std::size_t replicas() const {
    return static_cast<std::size_t>(std::max<std::int64_t>(0, json::integer_at(tree, {"spec", "replicas"}, 1)));
  }
  Duration min_ready() const { return std::chrono::seconds(json::integer_at(tree, {"spec", "minReadySeconds"})); }
};

void create(const ReplicaSet& set, const View& view, std::size_t missing, std::size_t present, Outcome& outcome) {
  const json::Value* pod_template = json::find(set.tree, {"spec", "template"});
  if (pod_template == nullptr) return;
  const api::Header& header = *set.object.header;
  for (const std::string& name : names_for_new_pods(view, set.object, missing, present)) {
    Create action{kPods, header.name.ns,
                  pod_from_template(*pod_template, {header.name.ns, name}, set.owner.reference()), header.uid};
    action.announce.done = Emit{set.owner.subject(), EventType::kNormal, "SuccessfulCreate", "Created pod: " + name};
    action.announce.failed = Emit{set.owner.subject(), EventType::kWarning, "FailedCreate", "Error creating: "};
    outcome.allowed_now.push_back(std::move(action));
  }
}

// Counts, for each node, the active pods of all sets that belong to the same owner as this one.
std::unordered_map<std::string_view, std::int64_t> pods_on_nodes(const ReplicaSet& set, const View& view) {
  std::vector<std::string> sets{set.object.header->uid};
  if (const auto* above = api::controller_of(*set.object.header)) {
    view.objects(kReplicaSets).for_each_owned_by(above->uid, [&](const api::Version& sibling) {
      if (sibling.header->uid != set.object.header->uid) sets.push_back(sibling.header->uid);
    });
  }
  std::unordered_map<std::string_view, std::int64_t> counts;  // names from the facts that the view keeps
  for (const std::string& uid : sets) {
    view.objects(kPods).for_each_owned_by(uid, [&](const api::Version& pod) {
      const auto facts = pod_facts(view, pod);
      if (is_active(pod, *facts) && !facts->node.empty()) ++counts[facts->node];
    });
  }
  return counts;
}

void remove(const ReplicaSet& set, const View& view, std::vector<Replica> active, std::size_t surplus,
            Outcome& outcome) {
  if (surplus < active.size()) {
    const auto counts = pods_on_nodes(set, view);
    for (Replica& replica : active) {
      const auto at = counts.find(replica.facts->node);
      replica.neighbours = at == counts.end() ? 0 : at->second;
    }
    sort_for_deletion(active, view.now());
  }
  active.resize(std::min(surplus, kMostDeletions));
  for (const Replica& replica : active) {
    Delete action{client::target_by_uid(kPods, replica.pod)};
    const std::string& name = replica.pod.header->name.name;
    action.announce.done = Emit{set.owner.subject(), EventType::kNormal, "SuccessfulDelete", "Deleted pod: " + name};
    action.announce.failed = Emit{set.owner.subject(), EventType::kWarning, "FailedDelete", "Error deleting: "};
    outcome.allowed_now.push_back(std::move(action));
  }
}

// Why pods could not be made or deleted in the last look. A lost answer is no reason: the pod may be there.
const client::Setback* refusal(const View& view) {
  for (const client::Setback& setback : view.setbacks()) {
    if (setback.resource != kPods || (setback.verb != "create" && setback.verb != "delete")) continue;
    if (setback.error.reason != Reason::kTimeout) return &setback;
  }
  return nullptr;
}

// status.conditions as they should be. The failure stays until there is nothing left to be refused.
void judge_failure(json::Value& tree, const View& view, bool settled) {
  const client::Setback* failure = refusal(view);
  if (failure == nullptr) {
    if (settled) api::remove_condition(tree, kFailure);
    return;
  }
  if (api::find_condition(tree, kFailure) != nullptr) return;
  const char* reason = failure->verb == "create" ? "FailedCreate" : "FailedDelete";
  api::set_condition(tree, {kFailure, "True", reason, failure->error.message}, view.now());
}

struct Counts {
  std::int64_t fully_labeled = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
};

Counts count(const ReplicaSet& set, const std::vector<Replica>& active, const View& view, Outcome& outcome) {
  Counts counts;
  const json::Value* labels = json::find(set.tree, {"spec", "template", "metadata", "labels"});
  const auto labeled = api::read_label_map(labels == nullptr ? json::Value(nullptr) : *labels);
  for (const Replica& replica : active) {
    if (labeled.matches(*replica.pod.header)) ++counts.fully_labeled;
    if (!replica.facts->ready) continue;
    ++counts.ready;
    const auto from = available_at(*replica.facts, set.min_ready());
    if (!from) continue;
    if (*from <= view.now()) {
      ++counts.available;
    } else {
      outcome.look_again(*from);
    }
  }
  return counts;
}

void write_status(const ReplicaSet& set, const std::vector<Replica>& active, const View& view, Outcome& outcome) {
  const Counts counts = count(set, active, view, outcome);
  const json::Array& before = json::array_at(set.tree, {"status", "conditions"});
  json::Value after = json::Object{{"status", json::Object{{"conditions", before}}}};
  judge_failure(after, view, active.size() == set.replicas());
  const std::pair<const char*, std::int64_t> numbers[] = {
      {"replicas", static_cast<std::int64_t>(active.size())},
      {"fullyLabeledReplicas", counts.fully_labeled},
      {"readyReplicas", counts.ready},
      {"availableReplicas", counts.available},
      {"observedGeneration", set.object.header->generation},
  };
  json::Object status;
  for (const auto& [key, number] : numbers)
    if (json::integer_at(set.tree, {"status", key}) != number) status[key] = number;
  const json::Array& conditions = json::array_at(after, {"status", "conditions"});
  if (conditions != before) status["conditions"] = conditions.empty() ? json::Value(nullptr) : json::Value(conditions);
  if (status.empty()) return;
  // By uid: whatever else has changed since, these are the numbers of that generation.
  outcome.allowed_now.push_back(
      PatchStatus{client::target_by_uid(kReplicaSets, set.object), json::Object{{"status", std::move(status)}}});
}

}  // namespace

std::vector<client::WatchRule> ReplicaSetController::watches() const {
  return {{.resource = kReplicaSets, .keys = client::itself(kReplicaSets)},
          {.resource = kPods, .keys = its_owners(kReplicaSets, "ReplicaSet")}};
}

Outcome ReplicaSetController::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version object = view.get(kReplicaSets, key.object);
  if (!object) return outcome;
  auto tree = json::parse(*object.json);
  if (!tree) return outcome;
  const ReplicaSet set{object, std::move(*tree)};
  Claims claims = claim(view, kPods, set.owner, *selector_of(view, kReplicaSets, object),
                        [&view](const api::Version& pod) { return is_active(pod, *pod_facts(view, pod)); });
  if (!claims.actions.empty()) {
    outcome.allowed_now = std::move(claims.actions);
    return outcome;
  }

  std::vector<Replica> active;
  active.reserve(claims.held.size());
  for (api::Version& pod : claims.held) {
    auto facts = pod_facts(view, pod);
    if (is_active(pod, *facts)) active.push_back({std::move(pod), std::move(facts)});
  }
  if (!is_terminating(object)) {
    const std::size_t wanted = set.replicas();
    if (active.size() < wanted) create(set, view, wanted - active.size(), active.size(), outcome);
    if (active.size() > wanted) remove(set, view, active, active.size() - wanted, outcome);
  }
  write_status(set, active, view, outcome);
  return outcome;
}

}  // namespace gangway::controllers
