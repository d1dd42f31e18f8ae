#include "controllers/disruption.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "api/owner.h"
#include "api/selector.h"
#include "client/resource.h"
#include "controllers/conditions.h"
#include "controllers/int_or_percent.h"
#include "controllers/pods.h"

namespace gangway::controllers {
namespace {

using client::Outcome;
using client::PatchStatus;
using client::Resource;
using client::View;
using client::resources::kDeployments;
using client::resources::kDisruptionBudgets;
using client::resources::kPods;
using client::resources::kReplicaSets;
using client::resources::kStatefulSets;

// A pod whose eviction was granted counts as disrupted this long; if it is still there then, the eviction failed.
constexpr Duration kDeletionTimeout = std::chrono::minutes(2);

struct Count {
  std::int64_t healthy = 0;
  std::int64_t desired = 0;
  std::int64_t expected = 0;
  std::int64_t allowed() const { return expected <= 0 ? 0 : std::max<std::int64_t>(0, healthy - desired); }
};

struct Scale {
  std::string uid;
  std::int64_t replicas = 0;
};

std::optional<Scale> scale_of(const Resource& resource, const api::OwnerReference& owner, const std::string& ns,
                              const View& view) {
  const api::Version found = view.get(resource, {ns, owner.name});
  if (!found || found.header->uid != owner.uid) return std::nullopt;
  const auto tree = json::parse(*found.json);
  if (!tree) return std::nullopt;
  return Scale{owner.uid, json::integer_at(*tree, {"spec", "replicas"}, 1)};
}

// A ReplicaSet of a Deployment counts as the Deployment: during a roll-out several share one scale.
std::optional<Scale> controller_scale(const api::OwnerReference& owner, const std::string& ns, const View& view) {
  if (client::group_of(owner.api_version) != "apps") return std::nullopt;
  if (owner.kind == "StatefulSet") return scale_of(kStatefulSets, owner, ns, view);
  if (owner.kind != "ReplicaSet") return std::nullopt;
  const api::Version set = view.get(kReplicaSets, {ns, owner.name});
  if (!set || set.header->uid != owner.uid) return std::nullopt;
  const api::OwnerReference* deployment = api::controller_of(*set.header);
  if (deployment != nullptr && deployment->kind == "Deployment") return scale_of(kDeployments, *deployment, ns, view);
  return scale_of(kReplicaSets, owner, ns, view);
}

Result<std::int64_t> expected_scale(const std::vector<api::Version>& pods, const View& view) {
  std::map<std::string, std::int64_t> scales;
  for (const api::Version& pod : pods) {
    const api::OwnerReference* owner = api::controller_of(*pod.header);
    if (owner == nullptr) continue;
    const auto scale = controller_scale(*owner, pod.header->name.ns, view);
    if (!scale) {
      Error error = internal_error(fmt::format("found no controllers for pod \"{}\"", pod.header->name.name));
      error.reason = Reason::kNotFound;
      return error;
    }
    scales[scale->uid] = scale->replicas;
  }
  std::int64_t sum = 0;
  for (const auto& [uid, replicas] : scales) sum += replicas;
  return sum;
}

Result<Count> expectation(const json::Value& budget, const std::vector<api::Version>& pods, const View& view) {
  Count count;
  const json::Value* most = json::find(budget, {"spec", "maxUnavailable"});
  const json::Value* least = json::find(budget, {"spec", "minAvailable"});
  if (most != nullptr && !most->is_null()) {
    GW_TRY(count.expected, expected_scale(pods, view));
    GW_TRY(const std::int64_t unavailable, scaled(*most, count.expected, Rounding::kUp));
    count.desired = std::max<std::int64_t>(0, count.expected - unavailable);
  } else if (least != nullptr && !least->is_null()) {
    if (least->is_string()) {
      GW_TRY(count.expected, expected_scale(pods, view));
    } else {
      count.expected = static_cast<std::int64_t>(pods.size());
    }
    GW_TRY(count.desired, scaled(*least, count.expected, Rounding::kUp));
  }
  return count;
}

// The evictions that were granted and whose pods are not being deleted yet.
json::Object still_disrupted(const json::Value& budget, const std::vector<api::Version>& pods, WallTime now,
                             Outcome& outcome) {
  json::Object disrupted;
  for (const api::Version& pod : pods) {
    const std::string& name = pod.header->name.name;
    const std::string_view since = json::string_at(budget, {"status", "disruptedPods", name});
    if (since.empty() || pod.header->deleting_since) continue;
    const auto begun = parse_rfc3339(since);
    if (!begun || *begun + kDeletionTimeout < now) continue;
    disrupted[name] = since;
    // The moment itself still counts; the next one does not.
    outcome.look_again(*begun + kDeletionTimeout + std::chrono::seconds(1));
  }
  return disrupted;
}

std::vector<api::Version> pods_of(const json::Value& budget, const std::string& ns, const View& view) {
  const json::Value* selector = json::find(budget, {"spec", "selector"});
  const auto wanted = selector == nullptr ? Result<api::LabelSelector>(api::LabelSelector::nothing())
                                          : api::read_label_selector(*selector);
  std::vector<api::Version> pods;
  if (!wanted) return pods;
  for (api::Version& pod : view.objects(kPods).in_namespace(ns))
    if (wanted->matches(*pod.header)) pods.push_back(std::move(pod));
  return pods;
}

void write_condition(json::Array& conditions, Condition condition, std::int64_t generation, WallTime now) {
  condition.type = "DisruptionAllowed";
  set_condition(conditions, condition, now);
  for (json::Value& item : conditions) {
    if (json::string_at(item, {"type"}) == condition.type) item.get_object()["observedGeneration"] = generation;
  }
}

// `status` in full; what it does not have any more is null in the patch.
void write_status(const api::Version& budget, const json::Value& tree, json::Object status, Outcome& outcome) {
  const json::Value* before = json::find(tree, {"status"});
  const json::Object known = before != nullptr && before->is_object() ? before->get_object() : json::Object();
  json::Object wanted = known;
  for (const auto& entry : status) wanted[entry.key()] = entry.value();
  if (const json::Value* map = wanted.if_contains("disruptedPods"); map != nullptr && map->is_object()) {
    if (map->get_object().empty()) wanted.erase("disruptedPods");
  }
  json::Object comparable = known;
  if (const json::Value* map = comparable.if_contains("disruptedPods"); map != nullptr && map->is_object()) {
    if (map->get_object().empty()) comparable.erase("disruptedPods");
  }
  if (wanted == comparable) return;
  json::Value* pods = status.if_contains("disruptedPods");
  if (pods != nullptr && known.contains("disruptedPods")) {
    for (const auto& entry : known.at("disruptedPods").as_object())
      if (!pods->get_object().contains(entry.key())) pods->get_object()[entry.key()] = nullptr;
  }
  outcome.allowed_now.push_back(
      PatchStatus{client::target_of(kDisruptionBudgets, budget), json::Object{{"status", std::move(status)}}});
}

// Every budget of a namespace that selects the pod, as it is or as it was.
void budgets_of_pod(const client::ObjectChange& change, const View& view, const client::KeySink& sink) {
  for (const api::Version& budget : view.objects(kDisruptionBudgets).in_namespace(change.now.header->name.ns)) {
    const auto tree = json::parse(*budget.json);
    const json::Value* selector = tree ? json::find(*tree, {"spec", "selector"}) : nullptr;
    if (selector == nullptr) continue;
    const auto wanted = api::read_label_selector(*selector);
    if (!wanted) continue;
    if (wanted->matches(*change.now.header) || (change.before && wanted->matches(*change.before.header)))
      sink(client::key_of(kDisruptionBudgets, budget.header->name), client::WorkQueue::Priority::kNormal);
  }
}

// A change of scale may concern any budget of the namespace; they are few.
void budgets_of_namespace(const client::ObjectChange& change, const View& view, const client::KeySink& sink) {
  const bool spec_changed = !change.before || change.before.header->generation != change.now.header->generation;
  if (!spec_changed && change.type == client::ObjectChange::Type::kModified) return;
  for (const api::Version& budget : view.objects(kDisruptionBudgets).in_namespace(change.now.header->name.ns))
    sink(client::key_of(kDisruptionBudgets, budget.header->name), client::WorkQueue::Priority::kNormal);
}

}  // namespace

std::vector<client::WatchRule> DisruptionController::watches() const {
  return {{.resource = kDisruptionBudgets, .keys = client::itself(kDisruptionBudgets)},
          {.resource = kPods, .keys = budgets_of_pod},
          {.resource = kReplicaSets, .keys = budgets_of_namespace},
          {.resource = kDeployments, .keys = budgets_of_namespace},
          {.resource = kStatefulSets, .keys = budgets_of_namespace}};
}

Outcome DisruptionController::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version budget = view.get(kDisruptionBudgets, key.object);
  if (!budget) return outcome;
  const auto tree = json::parse(*budget.json);
  if (!tree) return outcome;

  const auto pods = pods_of(*tree, key.object.ns, view);
  json::Array conditions = conditions_of(*tree);
  auto count = expectation(*tree, pods, view);
  if (!count) {
    // Better to allow no eviction than one too many.
    const std::int64_t observed = json::integer_at(*tree, {"status", "observedGeneration"}, 0);
    write_condition(conditions, {{}, "False", "SyncFailed", count.error().message}, observed, view.now());
    write_status(budget, *tree, {{"disruptionsAllowed", 0}, {"conditions", std::move(conditions)}}, outcome);
    return outcome;
  }

  json::Object disrupted = still_disrupted(*tree, pods, view.now(), outcome);
  for (const api::Version& pod : pods) {
    if (!pod.header->deleting_since && !disrupted.contains(pod.header->name.name) && pod_facts(view, pod)->ready)
      ++count->healthy;
  }
  const bool enough = count->allowed() > 0;
  write_condition(conditions, {{}, enough ? "True" : "False", enough ? "SufficientPods" : "InsufficientPods", ""},
                  budget.header->generation, view.now());
  write_status(budget, *tree,
               {{"currentHealthy", count->healthy},
                {"desiredHealthy", count->desired},
                {"expectedPods", count->expected},
                {"disruptionsAllowed", count->allowed()},
                {"observedGeneration", budget.header->generation},
                {"disruptedPods", std::move(disrupted)},
                {"conditions", std::move(conditions)}},
               outcome);
  return outcome;
}

}  // namespace gangway::controllers
