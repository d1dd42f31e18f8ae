#include "planning/snapshot.h"

#include <algorithm>
#include <limits>

namespace gangway::planning {

std::string full_name(const Pod& pod) {
  return pod.ns + "/" + pod.name;
}

std::string full_name(const Gang& gang) {
  return gang.ns + "/" + gang.name;
}

std::string order_name(const Gang& gang) {
  return full_name(gang) + (gang.is_plain ? "" : "\x01");
}

std::int64_t priority_of(const Snapshot& snapshot, const Gang& gang) {
  std::int64_t highest = std::numeric_limits<std::int64_t>::min();
  for (const PodId member : gang.members) highest = std::max(highest, snapshot.pods[member].priority);
  return gang.members.empty() ? 0 : highest;
}

std::int64_t running_of(const Snapshot& snapshot, const Gang& gang) {
  return std::count_if(gang.members.begin(), gang.members.end(), [&](PodId member) {
    const Pod& pod = snapshot.pods[member];
    return pod.node != kNone && !pod.is_terminating;
  });
}

}  // namespace gangway::planning
