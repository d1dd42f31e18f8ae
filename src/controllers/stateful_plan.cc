#include "controllers/stateful_plan.h"

#include <optional>

namespace gangway::controllers {
namespace {

using Pods = std::map<std::int64_t, StatefulPod>;

const StatefulPod* find(const Pods& pods, std::int64_t ordinal) {
  const auto at = pods.find(ordinal);
  return at == pods.end() ? nullptr : &at->second;
}

// Makes and replaces what the range lacks. False when nothing else may be done before that has had its effect.
bool fill(const StatefulSpec& spec, const Pods& pods, StatefulPlan& plan) {
  for (std::int64_t ordinal = spec.start; ordinal < spec.start + spec.replicas; ++ordinal) {
    const StatefulPod* pod = find(pods, ordinal);
    if (pod == nullptr) {
      plan.create.push_back(ordinal);
    } else if (pod->finished && !pod->terminating) {
      plan.remove.push_back(ordinal);
    }
    const bool is_settled = pod != nullptr && !pod->finished && !pod->terminating && pod->available;
    if (spec.ordered && !is_settled) return false;
  }
  return plan.create.empty() && plan.remove.empty();
}

// The unhealthy pod of the lowest ordinal above or below the range: one that is broken may go before its turn.
std::optional<std::int64_t> first_unhealthy_outside(const StatefulSpec& spec, const Pods& pods) {
  for (const auto& [ordinal, pod] : pods)
    if (!spec.contains(ordinal) && !pod.is_healthy()) return ordinal;
  return std::nullopt;
}

// False when pods outside the range are still to go.
bool shrink(const StatefulSpec& spec, const Pods& pods, StatefulPlan& plan) {
  const auto broken = first_unhealthy_outside(spec, pods);
  bool is_clear = true;
  for (auto at = pods.rbegin(); at != pods.rend(); ++at) {
    const auto& [ordinal, pod] = *at;
    if (spec.contains(ordinal)) continue;
    is_clear = false;
    if (!spec.ordered) {
      if (!pod.terminating) plan.remove.push_back(ordinal);
      continue;
    }
    if (pod.terminating) return false;
    if (!pod.available && broken != ordinal) return false;
    plan.remove.push_back(ordinal);
    return false;
  }
  return is_clear;
}

void update(const StatefulSpec& spec, const Pods& pods, StatefulPlan& plan) {
  if (spec.on_delete) return;
  for (std::int64_t ordinal = spec.start + spec.replicas - 1; ordinal >= spec.start + spec.partition; --ordinal) {
    const StatefulPod* pod = find(pods, ordinal);
    if (pod == nullptr) return;
    if (!pod->updated && !pod->terminating) {
      plan.remove.push_back(ordinal);
      return;
    }
    if (pod->terminating || !pod->available) return;
  }
}

}  // namespace

StatefulPlan plan(const StatefulSpec& spec, const Pods& pods) {
  StatefulPlan plan;
  const bool filled = fill(spec, pods, plan);
  // All at once means that too many go while others are made.
  if (spec.ordered && !filled) return plan;
  if (!shrink(spec, pods, plan) && spec.ordered) return plan;
  if (filled) update(spec, pods, plan);
  return plan;
}

}  // namespace gangway::controllers
