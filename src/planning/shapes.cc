#include "planning/shapes.h"

#include <algorithm>

namespace gangway::planning {
namespace {

bool is_every_address(const std::string& ip) {
  return ip.empty() || ip == "0.0.0.0";
}

}  // namespace

bool Toleration::tolerates(const Taint& taint) const {
  if (effect && *effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  if (exists) return true;
  return !key.empty() && value == taint.value;
}

bool AffinityTerm::selects(const std::string& ns, const Labels& labels) const {
  return (all_namespaces || std::binary_search(namespaces.begin(), namespaces.end(), ns)) && pods.matches(labels);
}

bool HostPort::collides_with(const HostPort& other) const {
  return port == other.port && protocol == other.protocol &&
         (is_every_address(ip) || is_every_address(other.ip) || ip == other.ip);
}

}  // namespace gangway::planning
