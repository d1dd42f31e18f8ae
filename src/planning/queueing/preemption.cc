#include "planning/queueing/preemption.h"

namespace gangway::planning::queueing {

std::vector<Chosen> VictimFinder::find(Usage& usage, const PreemptionRequest& request) {
  if (last_.usage == &usage && last_.request == request) return last_.victims;
  last_ = {&usage, request, board_.options.fair_sharing ? fair_.find(usage, request) : classical_.find(usage, request)};
  return last_.victims;
}

}  // namespace gangway::planning::queueing
