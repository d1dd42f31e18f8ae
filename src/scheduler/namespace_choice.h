// Terms about other pods that mean namespaces by their labels. Which those are is not in the pod: who keeps a model of
// the cluster knows, and makes plain names of them for the planner. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "planning/shapes.h"

namespace gangway::scheduler {

struct NamespaceChoice {
  enum class Terms : std::uint8_t { kAffinity, kAntiAffinity, kPreferredAffinity };
  Terms terms = Terms::kAffinity;  // of the shape
  std::size_t index = 0;           // which of them
  planning::Selector namespaces;   // beside those that the term names
};

using NamespaceLabels = std::map<std::string, planning::Labels>;

// Adds the namespaces of all choices to the terms that they are about.
void choose_namespaces(const std::vector<NamespaceChoice>& choices, const NamespaceLabels& namespaces,
                       planning::PodShape& shape);

}  // namespace gangway::scheduler
