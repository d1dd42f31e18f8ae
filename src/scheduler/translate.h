// Kubernetes' ways of saying where a pod may be, as the planner's values. Pure.
#pragma once

#include <vector>

#include "api/node_selector.h"
#include "api/selector.h"
#include "api/taints.h"
#include "json/value.h"
#include "planning/shapes.h"
#include "scheduler/namespace_choice.h"
#include "volumes/claim_limits.h"

namespace gangway::scheduler {

planning::Taint translate(const api::Taint& taint);
planning::Selector translate(const api::LabelSelector& selector);
// All of them must hold.
std::vector<planning::NodeSelector> translate(const api::NodeSelector& selector);
// Nothing, when the limit holds everywhere.
std::optional<planning::PlaceLimit> translate(const volumes::PlaceLimit& limit);

// Tolerations, selectors, affinities and spreading; not what it requests, nor its ports. Terms that mean namespaces by
// their labels are added to `choices`.
planning::PodShape read_shape(const json::Value& pod, const api::Header& header, std::vector<NamespaceChoice>& choices);

}  // namespace gangway::scheduler
