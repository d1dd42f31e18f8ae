// The laws of planning on generated clusters. RC_PARAMS="max_success=100000" runs them longer.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "planning/placement/verify.h"
#include "planning/schedule/schedule.h"
#include "planning/test_generated.h"
#include "planning/test_snapshot.h"

namespace gangway::planning {
namespace {

using testing::carry_out;
using testing::come_to_rest;
using testing::Kitchen;
using testing::lines_of;
using testing::Recipe;
using testing::shuffled;

// RapidCheck's own number, 100, is small for all that a cluster can be. It is read when the first property runs.
[[maybe_unused]] const int kManyCases = setenv("RC_PARAMS", "max_success=500", /*overwrite=*/0);

std::string text(const std::vector<std::string>& lines) {
  return fmt::format("{}", fmt::join(lines, "\n"));
}

// Whether what others do can make a place good that was not: somebody wants to be near others, or apart from them in
// numbers.
bool anybody_looks_around(const Snapshot& snapshot) {
  const auto looks_around = [](const PodShape& shape) { return !shape.affinity.empty() || !shape.spread.empty(); };
  for (const Pod& pod : snapshot.pods)
    if (pod.shape && looks_around(*pod.shape)) return true;
  for (const Gang& gang : snapshot.gangs)
    for (const LateMembers& late : gang.late)
      if (looks_around(*late.shape)) return true;
  return false;
}

// Packing members of several kinds is done by rules of thumb, which may find in one state what they miss in another.
bool has_kinds(const Snapshot& snapshot, const Gang& gang) {
  return !gang.late.empty() || std::any_of(gang.members.begin(), gang.members.end(), [&](PodId member) {
    const Pod& pod = snapshot.pods[member];
    const Pod& first = snapshot.pods[gang.members.front()];
    return pod.shape != first.shape || pod.ends != first.ends;
  });
}

// A gang that took room over from others gets no more in the same step than it needs; it grows in the next.
bool grows_after_taking_over(const Plan& plan, const Plan& again) {
  const Ticket& growth = again.tickets.front();
  return growth.is_growth && std::any_of(plan.tickets.begin(), plan.tickets.end(), [&](const Ticket& ticket) {
           return ticket.gang == growth.gang && !ticket.withdrawn.empty();
         });
}

RC_GTEST_PROP(ScheduleLaws, EveryPlanKeepsThem, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  const Plan plan = schedule(kitchen.snapshot(), kitchen.policies());
  RC_LOG(text(lines_of(kitchen.snapshot(), plan)));
  RC_ASSERT(text(verify(kitchen.snapshot(), kitchen.policies(), plan)) == "");
}

RC_GTEST_PROP(ScheduleLaws, TheSameSnapshotGivesTheSamePlan, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  RC_ASSERT(schedule(kitchen.snapshot(), kitchen.policies()) == schedule(kitchen.snapshot(), kitchen.policies()));
}

RC_GTEST_PROP(ScheduleLaws, TheOrderOfEventsDoesNotMatter, (const Recipe& recipe, std::uint32_t seed)) {
  const Kitchen kitchen(recipe);
  const Snapshot other = shuffled(kitchen.snapshot(), seed);
  RC_ASSERT(text(lines_of(kitchen.snapshot(), schedule(kitchen.snapshot(), kitchen.policies()))) ==
            text(lines_of(other, schedule(other, kitchen.policies()))));
}

// A group may be called like a pod: equal choices must not break on what they have in common.
TEST(ScheduleLaws, AGroupThatIsCalledLikeAPodIsNotTakenForIt) {
  testing::TestCluster waiting;
  waiting.node("n0", 4).waiting("same", {.gpus = 4}).waiting_gang("g", 1, {.gpus = 4});
  waiting.gang("g").name = "same";
  testing::TestCluster running;
  running.nodes("n", 2, 4).running("same", "n0", {.gpus = 4}).running_gang("g", {"n1"}, {.gpus = 4});
  running.gang("g").name = "same";
  running.waiting_gang("high", 2, {.gpus = 4}, 100);
  for (const Snapshot* snapshot : {&waiting.snapshot(), &running.snapshot()}) {
    const std::string plan = text(lines_of(*snapshot, schedule(*snapshot, {})));
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      const Snapshot other = shuffled(*snapshot, seed);
      EXPECT_EQ(text(lines_of(other, schedule(other, {}))), plan);
    }
  }
}

RC_GTEST_PROP(ScheduleLaws, PlanningAgainChangesNothingAndEndsInRest, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  Snapshot snapshot = kitchen.snapshot();
  const bool may_find_more = anybody_looks_around(snapshot);
  const auto is_quiet = [](const Plan& plan) { return plan.tickets.empty() && plan.taken_back.empty(); };
  const std::size_t rounds = snapshot.gangs.size() + 2;
  for (std::size_t round = 0;; ++round) {
    const Plan plan = schedule(snapshot, kitchen.policies());
    RC_LOG(text(lines_of(snapshot)) + "\n=>\n" + text(lines_of(snapshot, plan)) + "\n");
    RC_ASSERT(text(verify(snapshot, kitchen.policies(), plan)) == "");
    if (is_quiet(plan)) break;
    RC_ASSERT(round < rounds);
    carry_out(snapshot, plan);
    if (!may_find_more) {
      const Plan again = schedule(snapshot, kitchen.policies());
      RC_LOG("again:\n" + text(lines_of(snapshot, again)) + "\n");
      RC_ASSERT(again.taken_back.empty());
      // What follows the first of them may be its consequence. Where a reservation moves with what is bound now, the
      // nodes that it has left are there for others.
      const GangId first = again.tickets.empty() ? kNone : again.tickets.front().gang;
      const bool has_moved =
          plan.reservation && plan.reservation != again.reservation && plan.reservation->gang != first;
      if (first != kNone && !has_moved && !grows_after_taking_over(plan, again))
        RC_ASSERT(has_kinds(snapshot, snapshot.gangs[first]));
    }
    come_to_rest(snapshot);
  }
}

// Says without any of the planner's means whether some node has room for a pod with no wishes, once those have gone of
// whom `may_go` says so.
template <class MayGo>
bool has_room(const Snapshot& snapshot, const PodShape& shape, MayGo may_go) {
  return std::any_of(snapshot.nodes.begin(), snapshot.nodes.end(), [&](const Node& node) {
    if (node.name.empty() || node.traits->is_unschedulable) return false;
    for (const Taint& taint : node.traits->taints)
      if (taint.effect != Taint::Effect::kPreferNoSchedule) return false;
    Amounts left = node.allocatable;
    for (const Pod& pod : snapshot.pods)
      if (pod.node != kNone && &snapshot.nodes[pod.node] == &node && !may_go(pod)) subtract(left, pod.shape->request);
    return std::all_of(shape.request.begin(), shape.request.end(),
                       [&](const auto& wanted) { return amount_of(left, wanted.first) >= wanted.second; });
  });
}

// A pod that is alone: nobody else wants anything, has been promised anything, or says who may be near.
Snapshot with_one_pod(Snapshot snapshot, const PodShape& shape, std::int64_t priority) {
  for (Pod& pod : snapshot.pods) {
    if (pod.node == kNone) pod.is_gated = true;
    if (!pod.shape) continue;
    PodShape bare;
    bare.request = pod.shape->request;
    bare.ns = pod.ns;
    pod.shape = std::make_shared<const PodShape>(std::move(bare));
  }
  for (Gang& gang : snapshot.gangs) gang.ticket.reset();
  Pod pod;
  pod.ns = "default";
  pod.name = "the-pod";
  pod.shape = std::make_shared<const PodShape>(shape);
  pod.gang = static_cast<GangId>(snapshot.gangs.size());
  pod.priority = priority;
  snapshot.gangs.push_back(
      {.ns = "default", .name = "the-pod", .uid = "", .members = {static_cast<PodId>(snapshot.pods.size())}});
  snapshot.pods.push_back(pod);
  return snapshot;
}

PodShape some_shape(ResourceId gpu) {
  const auto [gpus, cpus, memory] = *rc::gen::tuple(
      rc::gen::inRange<std::int64_t>(0, 9), rc::gen::inRange<std::int64_t>(1, 5), rc::gen::inRange<std::int64_t>(1, 5));
  PodShape shape;
  shape.ns = "default";
  shape.request = {{kCpu, 1000 * cpus}, {kMemory, memory << 30}, {kPods, 1}};
  if (gpus > 0) shape.request.emplace_back(gpu, gpus);
  return shape;
}

RC_GTEST_PROP(ScheduleLaws, APodIsPlacedIfAndOnlyIfANodeHasRoom, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  const PodShape shape = some_shape(kFirstExtended);
  Snapshot snapshot = with_one_pod(kitchen.snapshot(), shape, 0);
  snapshot.pods.back().never_preempts = true;
  const Plan plan = schedule(snapshot, kitchen.policies());
  RC_LOG(text(lines_of(snapshot)) + "\n=>\n" + text(lines_of(snapshot, plan)) + "\n");
  const bool fits = has_room(snapshot, shape, [](const Pod&) { return false; });
  RC_ASSERT(fits == !plan.tickets.empty());
  RC_ASSERT(fits == plan.verdicts.empty());
}

RC_GTEST_PROP(ScheduleLaws, APodPreemptsIfAndOnlyIfThatMakesRoom, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  const PodShape shape = some_shape(kFirstExtended);
  const auto priority = *rc::gen::element<std::int64_t>(100, 300, 500, 2000);
  const Snapshot snapshot = with_one_pod(kitchen.snapshot(), shape, priority);
  const Plan plan = schedule(snapshot, kitchen.policies());
  RC_LOG(text(lines_of(snapshot)) + "\n=>\n" + text(lines_of(snapshot, plan)) + "\n");
  const auto may_go = [&](const Pod& pod) {
    if (pod.is_terminating) return true;
    const Gang& gang = snapshot.gangs[pod.gang];
    if (priority_of(snapshot, gang) >= priority) return false;
    if (priority >= kitchen.policies().top_priority) return true;
    WallTime started = snapshot.now;
    for (const PodId member : gang.members)
      if (snapshot.pods[member].node != kNone && !snapshot.pods[member].is_terminating)
        started = std::min(started, snapshot.pods[member].since);
    const auto recent = std::count_if(gang.preempted.begin(), gang.preempted.end(),
                                      [&](WallTime at) { return snapshot.now - at < std::chrono::hours(1); });
    return snapshot.now - started >= gang.min_runtime && recent < gang.max_preemptions;
  };
  RC_ASSERT(has_room(snapshot, shape, may_go) == !plan.tickets.empty());
  const bool fits = has_room(snapshot, shape, [](const Pod&) { return false; });
  if (fits) RC_ASSERT(plan.tickets.front().is_immediate());
}

}  // namespace
}  // namespace gangway::planning
