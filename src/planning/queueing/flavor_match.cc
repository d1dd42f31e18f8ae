#include "planning/queueing/flavor_match.h"

#include <algorithm>

namespace gangway::planning::queueing {
namespace {

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  return std::any_of(tolerations.begin(), tolerations.end(),
                     [&](const Toleration& toleration) { return toleration.tolerates(taint); });
}

bool holds(const NodeTerm& term, const Labels& labels) {
  return std::all_of(term.labels.begin(), term.labels.end(), [&](const Requirement& requirement) {
    const std::string* const value = find_label(labels, requirement.key);
    return !value || requirement.matches(value);
  });
}

bool concerns(const NodeTerm& term, const Labels& labels) {
  return std::any_of(term.labels.begin(), term.labels.end(),
                     [&](const Requirement& requirement) { return find_label(labels, requirement.key) != nullptr; });
}

}  // namespace

std::optional<std::size_t> untolerated_taint(const Flavor& flavor, const PodShape& shape) {
  for (std::size_t i = 0; i < flavor.taints.size(); ++i) {
    const Taint& taint = flavor.taints[i];
    if (taint.effect == Taint::Effect::kPreferNoSchedule) continue;
    if (!tolerates(shape.tolerations, taint) && !tolerates(flavor.tolerations, taint)) return i;
  }
  return std::nullopt;
}

bool selects(const PodShape& shape, const Flavor& flavor) {
  return std::all_of(shape.required.begin(), shape.required.end(), [&](const NodeSelector& selector) {
    // One term is enough, so one that says nothing about this flavor's labels lets it pass.
    return std::any_of(selector.terms.begin(), selector.terms.end(), [&](const NodeTerm& term) {
      return !concerns(term, flavor.node_labels) || holds(term, flavor.node_labels);
    });
  });
}

}  // namespace gangway::planning::queueing
