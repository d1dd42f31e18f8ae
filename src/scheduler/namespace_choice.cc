#include "scheduler/namespace_choice.h"

#include <algorithm>

namespace gangway::scheduler {
namespace {

planning::AffinityTerm& term_of(planning::PodShape& shape, const NamespaceChoice& choice) {
  switch (choice.terms) {
    case NamespaceChoice::Terms::kAffinity:
      return shape.affinity[choice.index];
    case NamespaceChoice::Terms::kAntiAffinity:
      return shape.anti_affinity[choice.index];
    case NamespaceChoice::Terms::kPreferredAffinity:
      break;
  }
  return shape.preferred_affinity[choice.index];
}

}  // namespace

void choose_namespaces(const std::vector<NamespaceChoice>& choices, const NamespaceLabels& namespaces,
                       planning::PodShape& shape) {
  for (const NamespaceChoice& choice : choices) {
    std::vector<std::string>& names = term_of(shape, choice).namespaces;
    for (const auto& [name, labels] : namespaces)
      if (choice.namespaces.matches(labels)) names.push_back(name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
}

}  // namespace gangway::scheduler
