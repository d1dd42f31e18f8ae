// Which flavors a workload gets: eligibility, fungibility, groups of resources, several podsets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"

namespace gangway::planning::queueing {
namespace {

using ::testing::ElementsAre;
using testing::TestQueues;

// Two queues of one cohort, both with 4 in each of two flavors. The head of q asks for 3.
struct FungibilityCase {
  const char* name;
  const char* policies;
  const char* held;
  const char* want;
};

class Fungibility4 : public ::testing::TestWithParam<FungibilityCase> {};

TEST_P(Fungibility4, Decision) {
  TestQueues queues;
  queues.queue("q", "c", "one: cpu 4; two: cpu 4", GetParam().policies).queue("o", "c", "one: cpu 4; two: cpu 4");
  queues.held(GetParam().held).waiting("q: in(1,3)");
  EXPECT_THAT(queues.decisions(), ElementsAre(std::string("in: ") + GetParam().want));
}

const FungibilityCase kCases[] = {
    {"TheFirstThatFits", "", "", "admitted main x1 cpu@one"},
    // whenCanBorrow: MayStopSearch is the default.
    {"BorrowingStopsTheSearch", "", "q: x(0,4@one)", "admitted main x1 cpu@one"},
    {"OrTheNextIsTried", "borrow=next", "q: x(0,4@one)", "admitted main x1 cpu@two"},
    // Both would borrow: the earlier one stays.
    {"EqualsKeepTheEarlier", "borrow=next", "q: x(0,4@one) y(0,4@two)", "admitted main x1 cpu@one"},
    // whenCanPreempt: TryNextFlavor is the default; two is free.
    {"PreemptingTriesTheNext", "wCQ=LP", "q: low(-1,4@one); o: o1(0,4@one)", "admitted main x1 cpu@two"},
    {"OrStopsTheSearch", "wCQ=LP preempt=stop", "q: low(-1,4@one); o: o1(0,4@one)", "preempts low[ICQ]"},
    // One: low would go. Two: nobody, but 3 are borrowed. A fit is better than a preemption.
    {"BorrowingOverPreemption", "wCQ=LP borrow=next", "q: low(-1,4@one) y(5,4@two); o: o1(0,4@one)",
     "admitted main x1 cpu@two"},
    {"PreemptionOverBorrowing", "wCQ=LP borrow=next prefer=preemption", "q: low(-1,4@one) y(5,4@two); o: o1(0,4@one)",
     "preempts low[ICQ]"},
    // One: own low. Two: the 4 that o has borrowed. To reclaim is better than to preempt one's own.
    {"ReclaimOverPreemption", "wCQ=LP rWC=Any", "q: low(-1,4@one); o: o1(0,4@one) o2(0,8@two)", "preempts o2[REC]"},
    // One: nobody can go. Two: own low can.
    {"NoCandidatesLose", "wCQ=LP", "q: high(5,4@one) low(-1,4@two); o: o1(0,4@one) o2(0,4@two)", "preempts low[ICQ]"},
    // Neither has candidates: it waits, set aside.
    {"NobodyCanGo", "wCQ=LP", "q: high(5,4@one) higher(6,4@two); o: o1(0,4@one) o2(0,4@two)",
     "waits WaitingForQuota, aside"},
    // Both fit, one by borrowing of o's 4 and two by its own; with default rules the first stops the search.
    {"BorrowedFirstStaysFirst", "", "q: x(0,3@one)", "admitted main x1 cpu@one"},
    // whenCanBorrow TryNextFlavor, and two needs a preemption: the fit by borrowing in one is better.
    {"BorrowingBeatsPreemptingLater", "wCQ=LP borrow=next", "q: x(0,3@one) low(-1,4@two); o: o2(0,4@two)",
     "admitted main x1 cpu@one"},
    // Prefer preemption: two at level 0 with a victim is better than one at level 1.
    {"PreemptingLaterBeatsBorrowing", "wCQ=LP borrow=next prefer=preemption",
     "q: x(0,3@one) low(-1,4@two); o: o2(0,4@two)", "preempts low[ICQ]"},
};

INSTANTIATE_TEST_SUITE_P(Table, Fungibility4, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

class Flavors : public ::testing::Test {
 protected:
  Flavors() { queues_.queue("q", "", "one: cpu 4; two: cpu 4").waiting("q: in(0,2)"); }
  TestQueues queues_;
};

TEST_F(Flavors, TaintsKeepPodsOff) {
  queues_.flavor("one").taints = {{"spot", "true"}};
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@two"));
  queues_.flavor("two").taints = {{"gpu", "", Taint::Effect::kNoExecute}};
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: waits NoMatchingFlavor, aside"));
  EXPECT_EQ(queues_.message("in"),
            "couldn't assign flavors to pod set main: untolerated taint gpu:NoExecute in flavor two, untolerated taint "
            "spot=true:NoSchedule in flavor one");
}

TEST_F(Flavors, TaintsThatAreTolerated) {
  queues_.flavor("one").taints = {{"spot", "true"}};
  queues_.shape("in", [](PodShape& shape) { shape.tolerations = {{.key = "spot", .exists = true}}; });
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@one"));
}

TEST_F(Flavors, AFlavorToleratesItsOwnTaints) {
  queues_.flavor("one").taints = {{"spot", "true"}};
  queues_.flavor("one").tolerations = {{.key = "spot", .exists = true}};
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@one"));
}

TEST_F(Flavors, PreferNoScheduleKeepsNobodyOff) {
  queues_.flavor("one").taints = {{"old", "", Taint::Effect::kPreferNoSchedule}};
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@one"));
}

TEST_F(Flavors, NodeSelectorsChoose) {
  queues_.flavor("one").node_labels = {{"disk", "hdd"}};
  queues_.flavor("two").node_labels = {{"disk", "ssd"}};
  const Requirement ssd{.key = "disk", .values = {"ssd"}};
  queues_.shape("in", [&](PodShape& shape) { shape.required = {{.terms = {{.labels = {ssd}}}}}; });
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@two"));
  queues_.flavor("two").node_labels = {{"disk", "tape"}};
  EXPECT_EQ(queues_.message("in"),
            "couldn't assign flavors to pod set main: flavor one doesn't match node affinity, flavor two doesn't match "
            "node affinity");
}

// A label that the flavor does not speak of may be on its nodes.
TEST_F(Flavors, OnlyOwnLabelsAreJudged) {
  queues_.flavor("one").node_labels = {{"zone", "a"}};
  const Requirement ssd{.key = "disk", .values = {"ssd"}};
  queues_.shape("in", [&](PodShape& shape) { shape.required = {{.terms = {{.labels = {ssd}}}}}; });
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@one"));
}

// Terms are alternatives: the second says nothing about one's labels.
TEST_F(Flavors, ATermWithoutSuchAKeyMatches) {
  queues_.flavor("one").node_labels = {{"disk", "hdd"}};
  const Requirement ssd{.key = "disk", .values = {"ssd"}};
  const Requirement zone{.key = "zone", .values = {"a"}};
  queues_.shape("in", [&](PodShape& shape) { shape.required = {{.terms = {{.labels = {ssd}}, {.labels = {zone}}}}}; });
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@one"));
}

// Selector and affinity must both hold.
TEST_F(Flavors, AllSelectorsMustHold) {
  queues_.flavor("one").node_labels = {{"disk", "ssd"}, {"zone", "b"}};
  queues_.flavor("two").node_labels = {{"disk", "ssd"}, {"zone", "a"}};
  const Requirement ssd{.key = "disk", .values = {"ssd"}};
  const Requirement not_b{.key = "zone", .op = Requirement::Op::kNotIn, .values = {"b"}};
  queues_.shape("in", [&](PodShape& shape) {
    shape.required = {{.terms = {{.labels = {ssd}}}}, {.terms = {{.labels = {not_b}}}}};
  });
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@two"));
}

TEST_F(Flavors, AMissingFlavorIsPassedOver) {
  queues_.flavor("one").exists = false;
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@two"));
  queues_.flavor("two").exists = false;
  EXPECT_EQ(queues_.message("in"),
            "couldn't assign flavors to pod set main: flavor one not found, flavor two not found");
}

TEST_F(Flavors, WhatNoGroupCoversIsNotThere) {
  queues_.queue("g", "", "cpu 4").waiting("g: gpus(0,1cpu+1gpu)");
  EXPECT_EQ(queues_.message("gpus"),
            "couldn't assign flavors to pod set main: resource gpu unavailable in ClusterQueue");
}

// Of alternatives the mildest reason counts: one will never take it, two has never so much, three is only in use.
TEST_F(Flavors, TheMildestReasonOfAGroup) {
  queues_.queue("g", "", "one: cpu 4; two: cpu 1; three: cpu 4").held("g: x(0,3@three)").waiting("g: on(0,2)");
  queues_.flavor("one").exists = false;
  const Plan plan = queues_.plan();
  EXPECT_EQ(queues_.find(plan, "on")->reason, PendingReason::kWaitingForQuota);
  queues_.workload("x").admission.reset();
  queues_.workload("x").is_inadmissible = true;
  queues_.snapshot().queues[1].groups[0].flavors.pop_back();
  const Plan again = queues_.plan();
  EXPECT_EQ(queues_.find(again, "on")->reason, PendingReason::kExceedsMaxQuota);
}

// Across groups the most severe: memory waits, gpus exceed.
TEST_F(Flavors, TheWorstReasonOfAllGroups) {
  queues_.queue("g", "", "default: memory 4 | gpus: gpu 1", "wCQ=LP").held("g: x(9,3memory)");
  queues_.waiting("g: on(0,2memory+2gpu)");
  const Plan plan = queues_.plan();
  EXPECT_EQ(queues_.find(plan, "on")->reason, PendingReason::kExceedsMaxQuota);
  EXPECT_EQ(queues_.message("on"),
            "couldn't assign flavors to pod set main: insufficient quota for gpu in flavor gpus, previously considered "
            "podsets requests (0) + current podset request (2) > maximum capacity (1), insufficient unused quota for "
            "memory in flavor default, 1 more needed");
}

TEST_F(Flavors, EveryGroupHasAFlavorOfItsOwn) {
  queues_.queue("g", "", "one: cpu 1; two: cpu 4 | a: gpu 0; b: gpu 2").waiting("g: on(0,2cpu+1gpu)");
  EXPECT_THAT(queues_.decisions(), ::testing::Contains("on: admitted main x1 cpu@two gpu@b"));
}

// All resources of a group: one has the cpus but not the memory.
TEST_F(Flavors, AGroupIsServedByOneFlavor) {
  queues_.queue("g", "", "one: cpu 4, memory 1; two: cpu 4, memory 4").waiting("g: on(0,2cpu+2memory)");
  EXPECT_THAT(queues_.decisions(), ::testing::Contains("on: admitted main x1 cpu@two memory@two"));
}

// Where a queue counts pods, each is one.
TEST_F(Flavors, PodsAreCountedWhereTheyAreCovered) {
  queues_.queue("g", "", "cpu 9, pods 3").waiting("g: on(0,3x1)");
  EXPECT_THAT(queues_.decisions(), ::testing::Contains("on: admitted main x3 cpu@default pods@default"));
  queues_.queue("h", "", "cpu 9, pods 3").waiting("h: off(0,4x1)");
  EXPECT_EQ(queues_.message("off"),
            "couldn't assign flavors to pod set main: insufficient quota for pods in flavor default, previously "
            "considered podsets requests (0) + current podset request (4) > maximum capacity (3)");
}

// Earlier podsets of the workload count.
TEST_F(Flavors, PodsetsAddUp) {
  queues_.queue("g", "", "cpu 4").waiting("g: on(0,1)").podset("on", "workers", "4x1");
  EXPECT_EQ(queues_.message("on"),
            "couldn't assign flavors to pod set workers: insufficient quota for cpu in flavor default, previously "
            "considered podsets requests (1) + current podset request (4) > maximum capacity (4)");
  queues_.queue("h", "", "cpu 5").waiting("h: in2(0,1)").podset("in2", "workers", "4x1");
  EXPECT_THAT(queues_.decisions(), ::testing::Contains("in2: admitted main x1 cpu@default workers x4 cpu@default"));
}

TEST_F(Flavors, PodsetsMayHaveDifferentFlavors) {
  queues_.queue("g", "", "one: cpu 2; two: cpu 4").waiting("g: on(0,2)").podset("on", "workers", "3x1");
  EXPECT_THAT(queues_.decisions(), ::testing::Contains("on: admitted main x1 cpu@one workers x3 cpu@two"));
}

// Amounts are written as users write them.
TEST_F(Flavors, QuantitiesInMessages) {
  queues_.queue("g", "", "cpu 1, memory 1073741824").held("g: x(0,0.5cpu+536870912memory)");
  queues_.waiting("g: on(0,0.75cpu+1073741824memory)");
  EXPECT_EQ(queues_.message("on"),
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 250m more "
            "needed, insufficient unused quota for memory in flavor default, 512Mi more needed");
}

// The search goes on behind the flavor where it stopped last time; when all have been tried it begins anew.
TEST_F(Flavors, ProgressIsKept) {
  queues_.workload("in").progress = {{1}};
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@two"));
  queues_.workload("in").progress = {{2}};
  EXPECT_THAT(queues_.decisions(), ElementsAre("in: admitted main x1 cpu@one"));
}

// Both heads nominate the first flavor; the one who loses has the second left to try, and stays in line for it.
TEST_F(Flavors, WhoLosesTriesTheNextFlavor) {
  TestQueues queues;
  for (const char* name : {"q1", "q2"}) queues.queue(name, "c", "one: cpu 10; two: cpu 10");
  queues.waiting("q1: a(1,16); q2: b(0,16)");
  const Plan plan = queues.plan();
  EXPECT_THAT(queues.decisions(plan),
              ElementsAre("a: admitted main x1 cpu@one", "b: waits WaitingForQuota, no longer fits, in line"));
  EXPECT_EQ(queues.find(plan, "b")->progress, (ScanProgress{{1}}));
}

}  // namespace
}  // namespace gangway::planning::queueing
