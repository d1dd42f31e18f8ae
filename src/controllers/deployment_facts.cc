#include "controllers/deployment_facts.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include "controllers/int_or_percent.h"
#include "controllers/template_hash.h"

namespace gangway::controllers {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int32_t>::max();  // how Kubernetes writes "no limit"

std::int64_t share(const json::Value& tree, const char* key, std::int64_t replicas, Rounding rounding) {
  const json::Value* value = json::find(tree, {"spec", "strategy", "rollingUpdate", key});
  if (value == nullptr || value->is_null()) return 0;
  return scaled(*value, replicas, rounding).value_or(0);
}

RolloutSpec read_rollout(const json::Value& tree) {
  const std::int64_t replicas = std::max<std::int64_t>(0, json::integer_at(tree, {"spec", "replicas"}, 1));
  if (json::string_at(tree, {"spec", "strategy", "type"}) == "Recreate")
    return {.replicas = replicas, .rolling = false};
  return resolve(replicas, share(tree, "maxSurge", replicas, Rounding::kUp),
                 share(tree, "maxUnavailable", replicas, Rounding::kDown));
}

// Of several sets of the same template the oldest counts.
std::optional<std::size_t> find_newest(const std::vector<OwnedSet>& sets, const std::string& pod_template) {
  std::optional<std::size_t> found;
  const auto age = [&](std::size_t i) { return std::tie(sets[i].object.header->created, sets[i].name()); };
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (sets[i].facts->pod_template != pod_template) continue;
    if (!found || age(i) < age(*found)) found = i;
  }
  return found;
}

}  // namespace

std::vector<RolloutSet> DeploymentLook::numbers() const {
  std::vector<RolloutSet> all;
  for (std::size_t i = 0; i < sets.size(); ++i) all.push_back(sets[i].numbers(newest == i));
  return all;
}

std::int64_t DeploymentLook::last_old_revision() const {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < sets.size(); ++i)
    if (newest != i) last = std::max(last, sets[i].facts->revision());
  return last;
}

std::optional<DeploymentLook> read_deployment(const api::Version& object, std::vector<OwnedSet> sets) {
  auto tree = json::parse(*object.json);
  if (!tree) return std::nullopt;
  const json::Value* pod_template = json::find(*tree, {"spec", "template"});
  if (pod_template == nullptr) return std::nullopt;
  DeploymentLook look;
  look.object = object;
  look.spec = read_rollout(*tree);
  look.paused = json::flag_at(*tree, {"spec", "paused"});
  const std::int64_t deadline = json::integer_at(*tree, {"spec", "progressDeadlineSeconds"}, kNone);
  if (deadline != kNone) look.deadline = deadline;
  const std::int64_t limit = json::integer_at(*tree, {"spec", "revisionHistoryLimit"}, kNone);
  if (limit != kNone) look.history_limit = static_cast<std::size_t>(std::max<std::int64_t>(0, limit));
  look.collisions = json::integer_at(*tree, {"status", "collisionCount"});
  look.pod_template = canonical_template(*pod_template);
  look.newest = find_newest(sets, look.pod_template);
  look.sets = std::move(sets);
  look.tree = std::move(*tree);
  return look;
}

}  // namespace gangway::controllers
