#include "agent/cluster_id.h"

#include <fmt/format.h>

namespace gangway::agent {

std::string cluster_short_id(std::string_view data_dir) {
  const auto hash = fnv1a(data_dir);
  return fmt::format("gw{:08x}", static_cast<std::uint32_t>(hash ^ (hash >> 32U)));
}

}  // namespace gangway::agent
