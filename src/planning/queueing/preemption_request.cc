#include "planning/queueing/preemption_request.h"

#include <algorithm>

namespace gangway::planning::queueing {

bool has_room(const Usage& usage, const PreemptionRequest& request, bool may_borrow) {
  const TreeNode node = QuotaForest::node_of(request.queue);
  return std::all_of(request.needs.begin(), request.needs.end(), [&](const Need& need) {
    if (!may_borrow && usage.borrows_with(node, need.slot, need.amount)) return false;
    return need.amount <= usage.available(node, need.slot);
  });
}

void spare_needless(Usage& usage, const PreemptionRequest& request, bool may_borrow, std::vector<Chosen>& victims) {
  for (std::size_t i = victims.size() - 1; i-- > 0;) {
    const Candidate& candidate = *victims[i].candidate;
    usage.add(QuotaForest::node_of(candidate.queue), candidate.uses);
    if (has_room(usage, request, may_borrow)) {
      victims.erase(victims.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      usage.remove(QuotaForest::node_of(candidate.queue), candidate.uses);
    }
  }
}

void put_back(Usage& usage, const std::vector<Chosen>& victims) {
  for (const Chosen& victim : victims) usage.add(QuotaForest::node_of(victim.candidate->queue), victim.candidate->uses);
}

}  // namespace gangway::planning::queueing
