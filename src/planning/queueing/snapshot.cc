#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {

std::string full_name(const Workload& workload) {
  return workload.ns + "/" + workload.name;
}

}  // namespace gangway::planning::queueing
