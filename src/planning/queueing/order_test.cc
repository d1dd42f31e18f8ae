// Who is served first: within a queue, and between the heads of queues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"

namespace gangway::planning::queueing {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TestQueues;

class HeadOrder : public ::testing::Test {
 protected:
  HeadOrder() { queues_.queue("q", "", "cpu 8").waiting("q: a(0,1) b(0,1)"); }
  TestQueues queues_;
};

TEST_F(HeadOrder, EqualsByUid) {
  EXPECT_THAT(queues_.order(), ElementsAre("a"));
  queues_.workload("b").uid = "uid-0";
  EXPECT_THAT(queues_.order(), ElementsAre("b"));
}

TEST_F(HeadOrder, TheOlderFirst) {
  queues_.workload("b").queued -= seconds(1);
  EXPECT_THAT(queues_.order(), ElementsAre("b"));
}

TEST_F(HeadOrder, PriorityBeforeAge) {
  queues_.workload("b").queued -= seconds(1);
  queues_.workload("a").priority = 1;
  EXPECT_THAT(queues_.order(), ElementsAre("a"));
}

// Whoever waits for its victims stays at the head.
TEST_F(HeadOrder, StickyBeforePriority) {
  queues_.workload("a").priority = 1;
  queues_.workload("b").is_sticky = true;
  EXPECT_THAT(queues_.order(), ElementsAre("b"));
}

// Admission fair sharing comes before everything else, where the queue wants it.
TEST_F(HeadOrder, LocalUsageBeforePriority) {
  queues_.snapshot().local_queues = {{"default", "busy", 5}, {"default", "idle", 1}};
  queues_.workload("a").local_queue = 0;
  queues_.workload("a").priority = 9;
  queues_.workload("b").local_queue = 1;
  EXPECT_THAT(queues_.order(), ElementsAre("a"));
  queues_.queue_of("q").orders_by_local_usage = true;
  EXPECT_THAT(queues_.order(), ElementsAre("b"));
}

TEST_F(HeadOrder, WhoIsSetAsideIsNotInLine) {
  queues_.workload("a").is_inadmissible = true;
  EXPECT_THAT(queues_.order(), ElementsAre("b"));
  queues_.workload("b").is_inadmissible = true;
  EXPECT_THAT(queues_.order(), IsEmpty());
}

TEST_F(HeadOrder, AQueueThatIsStoppedHasNoHead) {
  queues_.queue_of("q").is_active = false;
  EXPECT_THAT(queues_.order(), IsEmpty());
}

// A strict queue gives nothing to the second while the first does not fit; the other kind sets the first aside.
TEST_F(HeadOrder, StrictQueuesBlock) {
  queues_.queue("strict", "", "cpu 2", "strict").queue("loose", "", "cpu 2");
  queues_.waiting("strict: s1(1,3) s2(0,1); loose: l1(1,3) l2(0,1)");
  EXPECT_THAT(queues_.decisions(), ElementsAre("a: admitted main x1 cpu@default", "l1: waits ExceedsMaxQuota, aside",
                                               "s1: waits ExceedsMaxQuota, in line"));
  queues_.workload("l1").is_inadmissible = true;
  EXPECT_THAT(queues_.decisions(), ::testing::Contains("l2: admitted main x1 cpu@default"));
}

// A namespace that the queue does not take holds up nobody, not even a strict queue.
TEST_F(HeadOrder, ForeignNamespacesAreSetAside) {
  queues_.queue("strict", "", "cpu 2", "strict").waiting("strict: s1(1,1)");
  queues_.workload("s1").is_namespace_selected = false;
  EXPECT_THAT(queues_.decisions(), ::testing::Contains("s1: waits Misconfigured, aside"));
  EXPECT_EQ(queues_.message("s1"), "workload namespace doesn't match ClusterQueue selector");
}

TEST_F(HeadOrder, FailedChecksBar) {
  queues_.workload("a").has_failed_checks = true;
  EXPECT_THAT(queues_.decisions(), ElementsAre("a: waits Misconfigured, aside"));
  EXPECT_EQ(queues_.message("a"), "The workload has failed admission checks");
}

// Two queues of 4 and a third that lends 4.
class CycleOrderTest : public ::testing::Test {
 protected:
  CycleOrderTest() { queues_.queue("q1", "c", "cpu 4").queue("q2", "c", "cpu 4").queue("lender", "c", "cpu 4"); }
  TestQueues queues_;
};

TEST_F(CycleOrderTest, WhoDoesNotBorrowComesFirst) {
  // a borrows; b is within its 4, so it comes first although its priority is lower.
  queues_.waiting("q1: a(9,5); q2: b(0,4)");
  EXPECT_THAT(queues_.order(), ElementsAre("b", "a"));
}

TEST_F(CycleOrderTest, ThenPriorityThenAgeThenUid) {
  queues_.waiting("q1: a(0,1); q2: b(1,1)");
  EXPECT_THAT(queues_.order(), ElementsAre("b", "a"));
  queues_.workload("a").priority = 1;
  EXPECT_THAT(queues_.order(), ElementsAre("a", "b"));
  queues_.workload("b").queued -= seconds(1);
  EXPECT_THAT(queues_.order(), ElementsAre("b", "a"));
}

// The height of the subtree that serves it is what counts: far within its own cohort, near against root.
TEST_F(CycleOrderTest, NearBeforeFar) {
  TestQueues queues;
  queues.cohort("r", "", "cpu 9").cohort("left", "r", "cpu 2").cohort("right", "r", "cpu 2");
  queues.queue("x", "left", "cpu 0").queue("y", "right", "cpu 0");
  // a needs r's (height 2), b only right's (height 1).
  queues.waiting("x: a(9,3); y: b(0,2)");
  EXPECT_THAT(queues.order(), ElementsAre("b", "a"));
}

// Both see 4 that are left to borrow; one gets them.
TEST_F(CycleOrderTest, WhatIsGivenIsGone) {
  queues_.held("q1: x(0,4); q2: y(0,4)").waiting("q1: a(0,3); q2: b(1,3)");
  EXPECT_THAT(queues_.decisions(),
              ElementsAre("a: waits WaitingForQuota, no longer fits, in line", "b: admitted main x1 cpu@default"));
}

TEST_F(CycleOrderTest, BothWhenThereIsRoomForBoth) {
  queues_.held("q1: x(0,4); q2: y(0,4)").waiting("q1: a(0,2); q2: b(1,2)");
  EXPECT_THAT(queues_.decisions(), ElementsAre("a: admitted main x1 cpu@default", "b: admitted main x1 cpu@default"));
}

// Fair sharing: the lower share with the request counted in, not the priority.
TEST_F(CycleOrderTest, FairTheLowerShareFirst) {
  queues_.fair().held("q1: x(0,5); q2: y(0,4)").waiting("q1: a(9,1); q2: b(0,1)");
  EXPECT_THAT(queues_.order(), ElementsAre("b", "a"));
}

// Who does not borrow what it asks for comes before one with a share of 0 who would.
TEST_F(CycleOrderTest, FairNotBorrowingFirst) {
  queues_.fair().waiting("q1: a(9,5); q2: b(0,4)");
  EXPECT_THAT(queues_.order(), ElementsAre("b", "a"));
}

TEST_F(CycleOrderTest, FairEqualSharesByPriorityThenAge) {
  queues_.fair().waiting("q1: a(0,5); q2: b(1,5)");
  EXPECT_THAT(queues_.order(), ElementsAre("b", "a"));
  queues_.workload("a").priority = 1;
  queues_.workload("a").queued -= seconds(1);
  EXPECT_THAT(queues_.order(), ElementsAre("a", "b"));
}

// A weight of 2 halves the share: q1's 2 borrowed count as 1, less than q2's 2.
TEST_F(CycleOrderTest, FairWeightsCount) {
  queues_.fair().waiting("q1: a(0,6); q2: b(1,6)");
  queues_.queue_of("q1").weight = 2 * kWeightOne;
  EXPECT_THAT(queues_.order(), ElementsAre("a", "b"));
}

//   root 12 ─ left: x, y       all quota is the root's
//           └ right: z
// Of left's two x is first (2 against 5). left would have 4 + 2 = 6 with it and right 5: z first. Then x, then y.
TEST_F(CycleOrderTest, FairTournamentInATree) {
  TestQueues queues;
  queues.cohort("root", "", "cpu 12").cohort("left", "root").cohort("right", "root").fair();
  queues.queue("x", "left", "cpu 0").queue("y", "left", "cpu 0").queue("z", "right", "cpu 0");
  queues.held("y: y1(0,3) y2(0,1)").waiting("x: a(0,2); y: b(9,1); z: c(0,5)");
  EXPECT_THAT(queues.order(), ElementsAre("c", "a", "b"));
}

// What is given counts for the next: after a, left has 5 of 12; with b it would have 6, as right with c.
TEST_F(CycleOrderTest, FairSharesFollowWhatIsGiven) {
  TestQueues queues;
  queues.cohort("root", "", "cpu 20").cohort("left", "root").cohort("right", "root").fair();
  queues.queue("x", "left", "cpu 0").queue("y", "left", "cpu 0").queue("z", "right", "cpu 0");
  queues.waiting("x: a(0,4); y: b(0,2); z: c(0,5)");
  // left offers b (2 against 4): left 2, right 5: b. Then a: left 2 + 4 = 6 against 5: c. Then a.
  EXPECT_THAT(queues.order(), ElementsAre("b", "c", "a"));
}

// Trees do not stand in each other's way, and queues without a cohort come by themselves.
TEST_F(CycleOrderTest, FairTreesAreApart) {
  queues_.fair().queue("alone", "", "cpu 4").queue("other", "d", "cpu 4");
  queues_.waiting("q1: a(0,4); alone: b(0,4); other: d(0,4)");
  EXPECT_THAT(queues_.decisions(), ElementsAre("a: admitted main x1 cpu@default", "b: admitted main x1 cpu@default",
                                               "d: admitted main x1 cpu@default"));
}

}  // namespace
}  // namespace gangway::planning::queueing
