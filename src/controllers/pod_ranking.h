// Which of equal pods goes first when there are too many. Kubernetes' order, so that scaling down takes the pods that
// its users expect. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "api/object.h"
#include "base/time.h"
#include "controllers/pods.h"

namespace gangway::controllers {

struct Replica {
  api::Version pod;
  std::shared_ptr<const PodFacts> facts;
  std::int64_t neighbours = 0;  // active pods of the same workload on its node
};

// The first to go first: without a node, pending before unknown before running, not ready, of the lower
// pod-deletion-cost, with more neighbours, ready for a shorter time, with more restarts, younger. Times count by their
// order of magnitude, and what is equal then goes in the order of uids: the oldest are not always the ones that stay.
void sort_for_deletion(std::vector<Replica>& replicas, WallTime now);

}  // namespace gangway::controllers
