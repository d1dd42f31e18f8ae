#include "planning/resources.h"

#include <algorithm>

namespace gangway::planning {

ResourceId ResourceNames::id_of(std::string_view name) {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at != names_.end()) return static_cast<ResourceId>(at - names_.begin());
  names_.emplace_back(name);
  return static_cast<ResourceId>(names_.size() - 1);
}

bool ResourceNames::is_gpu(ResourceId id) const {
  return id >= kFirstExtended && name_of(id).ends_with("/gpu");
}

std::int64_t amount_of(const Request& request, ResourceId id) {
  for (const auto& [resource, amount] : request)
    if (resource == id) return amount;
  return 0;
}

void add(Amounts& sum, const Request& request) {
  for (const auto& [id, amount] : request) {
    if (id >= sum.size()) sum.resize(id + std::size_t{1});
    sum[id] += amount;
  }
}

void subtract(Amounts& sum, const Request& request) {
  for (const auto& [id, amount] : request) {
    if (id >= sum.size()) sum.resize(id + std::size_t{1});
    sum[id] -= amount;
  }
}

}  // namespace gangway::planning
