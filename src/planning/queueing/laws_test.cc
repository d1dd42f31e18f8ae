// The laws of queueing on generated quota trees and workloads. RC_PARAMS="max_success=100000" runs them longer.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "planning/queueing/cycle.h"
#include "planning/queueing/messages.h"
#include "planning/queueing/test_generated.h"
#include "planning/queueing/usage.h"
#include "planning/queueing/verify.h"
#include "planning/queueing/verify_quota.h"

namespace gangway::planning::queueing {
namespace {

using testing::carry_out;
using testing::Kitchen;
using testing::let_go;
using testing::Recipe;
using testing::shuffled;
using testing::text_of;

[[maybe_unused]] const int kManyCases = setenv("RC_PARAMS", "max_success=500", /*overwrite=*/0);

std::string problems(const Kitchen& kitchen, const Plan& plan) {
  return fmt::format("{}", fmt::join(verify(kitchen.snapshot(), kitchen.options(), plan), "\n"));
}

RC_GTEST_PROP(QueueLaws, EveryPlanKeepsThem, (const Recipe& recipe)) {
  Kitchen kitchen(recipe);
  for (int round = 0; round < 4; ++round) {
    const Plan made = plan(kitchen.snapshot(), kitchen.options());
    RC_LOG(text_of(kitchen.snapshot()) + "=>\n" + text_of(kitchen.snapshot(), made));
    RC_ASSERT(problems(kitchen, made) == "");
    carry_out(kitchen.snapshot(), made);
    if (round % 2 == 1) let_go(kitchen.snapshot());
  }
}

RC_GTEST_PROP(QueueLaws, TheSameSnapshotGivesTheSamePlan, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  RC_ASSERT(plan(kitchen.snapshot(), kitchen.options()) == plan(kitchen.snapshot(), kitchen.options()));
}

RC_GTEST_PROP(QueueLaws, TheOrderOfTheTablesDoesNotMatter, (const Recipe& recipe, std::uint32_t seed)) {
  const Kitchen kitchen(recipe);
  const Snapshot other = shuffled(kitchen.snapshot(), seed);
  RC_ASSERT(text_of(kitchen.snapshot(), plan(kitchen.snapshot(), kitchen.options())) ==
            text_of(other, plan(other, kitchen.options())));
}

// The index that is kept by deltas is the one that is made anew.
RC_GTEST_PROP(QueueLaws, DeltasAreARebuild, (const Recipe& recipe)) {
  Kitchen kitchen(recipe);
  Queues kept(kitchen.snapshot());
  for (int round = 0; round < 4; ++round) {
    const Plan made = plan(kitchen.snapshot(), kept, kitchen.options());
    RC_ASSERT(made == plan(kitchen.snapshot(), kitchen.options()));
    carry_out(kitchen.snapshot(), made);
    if (round % 2 == 1) let_go(kitchen.snapshot());
    for (WorkloadId id = 0; id < kitchen.snapshot().workloads.size(); ++id) kept.put(kitchen.snapshot(), id);
    if (round == 2 && !kitchen.snapshot().workloads.empty()) {
      kept.remove(0);
      kitchen.snapshot().workloads[0] = {};
    }
    RC_ASSERT(kept == Queues(kitchen.snapshot()));
  }
}

// What was added and taken away in any order is what is left of it.
RC_GTEST_PROP(QueueLaws, UsageIsWhatIsHeld, (const Recipe& recipe, std::uint32_t seed)) {
  Kitchen kitchen(recipe);
  Snapshot& snapshot = kitchen.snapshot();
  const Queues all(snapshot);
  const QuotaForest forest(snapshot, all);
  Usage usage(forest, all);
  std::uint64_t state = seed;
  for (Workload& workload : snapshot.workloads) {
    if (!workload.admission || split_mix(state) % 2 == 0) continue;
    const TreeNode node = QuotaForest::node_of(workload.admission->queue);
    for (const auto& podset : workload.admission->grant)
      for (const Charge& charge : podset.charges)
        usage.remove(node, forest.slot_of(node, {charge.resource, charge.flavor}), charge.amount);
    workload.admission.reset();
  }
  const Usage anew(forest, Queues(snapshot));
  for (TreeNode node = 0; node < forest.size(); ++node)
    for (Slot slot = 0; slot < forest.slots(node).size(); ++slot)
      RC_ASSERT(usage.used(node, slot) == anew.used(node, slot));
}

// Said without the planner's means: a queue can be given what is available to it, and not a bit more.
RC_GTEST_PROP(QueueLaws, AvailableIsWhatFits, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  const Snapshot& snapshot = kitchen.snapshot();
  const Queues sorted(snapshot);
  const QuotaForest forest(snapshot, sorted);
  const Usage usage(forest, sorted);
  const verifying::Books books(snapshot);
  for (QueueId queue = 0; queue < snapshot.queues.size(); ++queue) {
    if (books.is_in_circle(queue)) continue;
    for (Slot slot = 0; slot < forest.slots(queue).size(); ++slot) {
      const verifying::What what{forest.slots(queue)[slot].flavor, forest.slots(queue)[slot].resource};
      const std::int64_t available = usage.available(queue, slot);
      RC_ASSERT(books.fits(queue, {{what, available}}));
      RC_ASSERT(!books.fits(queue, {{what, available + 1}}));
      RC_ASSERT(available <= 0 || books.exceeded_with(queue, what, available).empty());
      if (kitchen.is_cut()) continue;
      RC_ASSERT(available >= 0);
      RC_ASSERT(available <= forest.cell(queue, slot).potential);
      RC_ASSERT(!books.exceeded_with(queue, what, available + 1).empty());
    }
  }
}

// Nobody waits for whom there is room as things are: a single podset of cpus, in some flavor that takes it.
RC_GTEST_PROP(QueueLaws, NobodyWaitsBesideRoom, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  const Snapshot& snapshot = kitchen.snapshot();
  const verifying::Books books(snapshot);
  for (const Decision& decision : plan(snapshot, kitchen.options()).decisions) {
    const Workload& workload = snapshot.workloads[decision.workload];
    if (decision.outcome != Decision::Outcome::kWait || decision.remark != Remark::kNone) continue;
    if (workload.podsets.size() > 1 || !workload.progress.empty()) continue;
    // A flavor stopped the search for whose victims taken together there was no way; the next is tried in the next
    // cycle.
    if (!decision.progress.empty()) continue;
    const PodSet& podset = workload.podsets.front();
    for (const FlavorQuotas& flavor : snapshot.queues[workload.queue].groups.front().flavors) {
      if (!snapshot.flavors[flavor.flavor].taints.empty()) continue;
      verifying::Amounts wanted;
      for (const auto& [resource, amount] : podset.shape->request)
        if (resource != kPods) wanted[{flavor.flavor, resource}] = amount * podset.min_count.value_or(podset.count);
      RC_ASSERT(!books.fits(workload.queue, wanted));
    }
  }
}

// Where only lower priorities of the own queue go, whoever comes in lasts: in a bounded number of cycles nothing moves.
// Across queues that is not so, as in Kueue: the room that a victim leaves is anybody's, and one that borrows from
// nearer by is served before the preemptor, be it the victim itself.
RC_GTEST_PROP(QueueLaws, QueuesByThemselvesComeToRest, (const Recipe& recipe)) {
  Kitchen kitchen(recipe);
  RC_PRE(!kitchen.options().fair_sharing);
  Snapshot& snapshot = kitchen.snapshot();
  for (ClusterQueue& queue : snapshot.queues) {
    queue.preemption.within_queue = std::min(queue.preemption.within_queue, PreemptionPolicy::kLowerPriority);
    queue.preemption.reclaim = PreemptionPolicy::kNever;
    queue.preemption.while_borrowing = {};
  }
  const std::size_t limit = 20 * (snapshot.workloads.size() + 2);
  for (std::size_t round = 0;; ++round) {
    RC_ASSERT(round < limit);
    const Plan made = plan(snapshot, kitchen.options());
    RC_LOG(text_of(snapshot) + "=>\n" + text_of(snapshot, made));
    carry_out(snapshot, made);
    bool has_moved = let_go(snapshot);
    for (const Decision& one : made.decisions) {
      has_moved = has_moved || one.outcome != Decision::Outcome::kWait;
      // Another flavor, or whoever is next in line, is tried in the next cycle.
      has_moved = has_moved || one.requeue == Decision::Requeue::kInadmissible;
      const bool is_strict =
          snapshot.queues[snapshot.workloads[one.workload].queue].strategy == QueueingStrategy::kStrictFifo;
      has_moved = has_moved || (!is_strict && !one.progress.empty());
    }
    if (!has_moved) break;
  }
}

}  // namespace
}  // namespace gangway::planning::queueing
