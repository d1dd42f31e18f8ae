// What keeps a pod off a node whatever room there is: cordons, taints, selectors, volumes. Pure; the words are those of
// kube-scheduler.
#pragma once

#include <cstdint>
#include <string>

#include "planning/snapshot.h"

namespace gangway::planning {

// Whether the answer may differ between two nodes of equal traits: something asks for a node by its name.
bool asks_for_names(const PodShape& shape);

bool selects(const NodeTerm& term, const Node& node);
bool selects(const NodeSelector& selector, const Node& node);
// All that the pod itself requires of nodes: not their taints.
bool selects_node(const PodShape& shape, const Node& node);
bool tolerates_taints(const PodShape& shape, const NodeTraits& traits);

// Empty when nothing does.
std::string why_not(const PodShape& shape, const Node& node);

// How much the pod would like the node: its preferences, less the taints that it would rather avoid.
std::int64_t preference_for(const PodShape& shape, const Node& node);

}  // namespace gangway::planning
