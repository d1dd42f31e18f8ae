#include "planning/placement/judge.h"

#include <algorithm>

namespace gangway::planning {
namespace {

// One taint that a pod would rather avoid outweighs any wish it may have.
constexpr std::int64_t kUnwanted = 1'000'000;

const Taint* untolerated(const PodShape& shape, const NodeTraits& traits) {
  for (const Taint& taint : traits.taints) {
    if (taint.effect == Taint::Effect::kPreferNoSchedule) continue;
    if (std::none_of(shape.tolerations.begin(), shape.tolerations.end(),
                     [&](const Toleration& toleration) { return toleration.tolerates(taint); }))
      return &taint;
  }
  return nullptr;
}

bool asks_for_names(const NodeTerm& term) {
  return !term.names.empty() || std::any_of(term.labels.begin(), term.labels.end(),
                                            [](const Requirement& r) { return r.key == kHostnameLabel; });
}

bool asks_for_names(const NodeSelector& selector) {
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [](const NodeTerm& term) { return asks_for_names(term); });
}

const std::string* label_of(const Node& node, const std::string& key) {
  if (key == kHostnameLabel) return node.hostname.empty() ? nullptr : &node.hostname;
  return find_label(node.traits->labels, key);
}

// A cordon is a taint to those who tolerate it.
bool tolerates_cordon(const PodShape& shape) {
  const Taint cordon{"node.kubernetes.io/unschedulable", "", Taint::Effect::kNoSchedule};
  return std::any_of(shape.tolerations.begin(), shape.tolerations.end(),
                     [&](const Toleration& toleration) { return toleration.tolerates(cordon); });
}

}  // namespace

bool asks_for_names(const PodShape& shape) {
  return std::any_of(shape.required.begin(), shape.required.end(),
                     [](const NodeSelector& selector) { return asks_for_names(selector); }) ||
         std::any_of(shape.preferred.begin(), shape.preferred.end(),
                     [](const PreferredNodes& preferred) { return asks_for_names(preferred.term); }) ||
         std::any_of(shape.limits.begin(), shape.limits.end(),
                     [](const PlaceLimit& limit) { return asks_for_names(limit.nodes); });
}

bool selects(const NodeTerm& term, const Node& node) {
  if (term.labels.empty() && term.names.empty()) return false;  // as in Kubernetes: an empty term selects nothing
  return std::all_of(term.labels.begin(), term.labels.end(),
                     [&](const Requirement& r) { return r.matches(label_of(node, r.key)); }) &&
         std::all_of(term.names.begin(), term.names.end(), [&](const Requirement& r) { return r.matches(&node.name); });
}

bool selects(const NodeSelector& selector, const Node& node) {
  return std::any_of(selector.terms.begin(), selector.terms.end(),
                     [&](const NodeTerm& term) { return selects(term, node); });
}

bool selects_node(const PodShape& shape, const Node& node) {
  return std::all_of(shape.required.begin(), shape.required.end(),
                     [&](const NodeSelector& selector) { return selects(selector, node); });
}

bool tolerates_taints(const PodShape& shape, const NodeTraits& traits) {
  return !untolerated(shape, traits);
}

std::string why_not(const PodShape& shape, const Node& node) {
  if (node.traits->is_unschedulable && !tolerates_cordon(shape)) return "node(s) were unschedulable";
  if (const Taint* taint = untolerated(shape, *node.traits))
    return "node(s) had untolerated taint {" + taint->key + ": " + taint->value + "}";
  if (!selects_node(shape, node)) return "node(s) didn't match Pod's node affinity/selector";
  for (const PlaceLimit& limit : shape.limits)
    if (!selects(limit.nodes, node)) return limit.reason;
  return {};
}

std::int64_t preference_for(const PodShape& shape, const Node& node) {
  std::int64_t preference = 0;
  for (const PreferredNodes& preferred : shape.preferred)
    if (selects(preferred.term, node)) preference += preferred.weight;
  for (const Taint& taint : node.traits->taints) {
    if (taint.effect == Taint::Effect::kPreferNoSchedule &&
        std::none_of(shape.tolerations.begin(), shape.tolerations.end(),
                     [&](const Toleration& toleration) { return toleration.tolerates(taint); }))
      preference -= kUnwanted;
  }
  return preference;
}

}  // namespace gangway::planning
