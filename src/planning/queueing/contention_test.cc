// Several heads in one cycle that want the same room or the same victims.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"
#include "planning/queueing/verify.h"

namespace gangway::planning::queueing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::TestQueues;

class Contention : public ::testing::Test {
 protected:
  std::vector<std::string> decisions() {
    const Plan plan = queues_.plan();
    EXPECT_THAT(verify(queues_.snapshot(), queues_.options(), plan), IsEmpty());
    return queues_.decisions(plan);
  }
  const Decision& decision(const std::string& name) {
    plan_ = queues_.plan();
    return *queues_.find(plan_, name);
  }
  TestQueues queues_;
  Plan plan_;
};

// Both reclaim from o; the first takes the only one that both would take, and the room it leaves is enough for both.
TEST_F(Contention, OneVictimLeavesRoomForBoth) {
  queues_.queue("q1", "c", "cpu 4", "rWC=Any").queue("q2", "c", "cpu 4", "rWC=Any").queue("o", "c", "cpu 4");
  queues_.held("o: x(0,12)").waiting("q1: a(1,4); q2: b(0,4)");
  EXPECT_THAT(decisions(),
              ElementsAre("a: preempts x[REC]", "b: waits WaitingForPreemptedWorkloads, fits after others, in line"));
  EXPECT_EQ(queues_.message("b"),
            "Workload has overlapping preemption targets with another workload, but will fit after these preemptions "
            "complete");
}

// The second finds victims of its own when those of the first are counted as gone: y, since o still has 8 of 4.
TEST_F(Contention, TheSecondFindsOthers) {
  queues_.queue("q1", "c", "cpu 4", "rWC=Any").queue("q2", "c", "cpu 4", "rWC=Any").queue("o", "c", "cpu 4");
  queues_.held("o: x(0,4) y(0,4) z(0,4)").waiting("q1: a(1,4); q2: b(0,4)");
  EXPECT_THAT(decisions(), ElementsAre("a: preempts x[REC]", "b: preempts y[REC]"));
}

// x is all that can go: when a has taken its room nothing is left for b, which has no other victims.
TEST_F(Contention, TheSecondFindsNobodyElse) {
  queues_.queue("q1", "c", "cpu 4", "rWC=LP").queue("q2", "c", "cpu 4", "rWC=LP").queue("o", "c", "cpu 0");
  queues_.held("o: x(0,4) y(9,4)").waiting("q1: a(2,4); q2: b(1,4)");
  EXPECT_THAT(decisions(), ElementsAre("a: preempts x[REC]", "b: waits WaitingForQuota, overlaps, in line"));
  EXPECT_EQ(queues_.message("b"), "Workload has overlapping preemption targets with another workload");
}

// The room of victims who are still there is not given away: 2 are free, a's victim of 8 leaves more than a needs, and
// both others would fit once it has gone. One of them fits now.
TEST_F(Contention, NobodyGetsWhatAVictimStillHas) {
  queues_.queue("q", "c", "cpu 10", "rWC=Any").queue("o", "c", "cpu 0");
  queues_.queue("p1", "c", "cpu 0").queue("p2", "c", "cpu 0");
  queues_.held("o: v(0,8)").waiting("q: a(0,3); p1: b(1,2); p2: c(0,2)");
  EXPECT_THAT(decisions(), ElementsAre("a: preempts v[REC]", "b: admitted main x1 cpu@default",
                                       "c: waits WaitingForQuota, no longer fits, in line"));
}

// Both preempt in their own queues: neither is in the other's way.
TEST_F(Contention, VictimsOfDifferentQueues) {
  queues_.queue("q1", "c", "cpu 4", "wCQ=LP").queue("q2", "c", "cpu 4", "wCQ=LP");
  queues_.held("q1: x(0,4); q2: y(0,4)").waiting("q1: a(1,2); q2: b(1,2)");
  EXPECT_THAT(decisions(), ElementsAre("a: preempts x[ICQ]", "b: preempts y[ICQ]"));
}

// Those that were evicted in an earlier cycle and are still there are counted on again, and nobody else goes.
TEST_F(Contention, VictimsThatAreStillGoing) {
  queues_.queue("q", "", "cpu 4", "wCQ=LP").held("q: x(0,2) y(0,2)").waiting("q: a(1,2)");
  queues_.workload("y").admission->is_evicted = true;
  EXPECT_THAT(decisions(), ElementsAre("a: preempts y[ICQ]"));
}

TEST_F(Contention, BestEffortPreemptorsStayAtTheHead) {
  queues_.queue("q", "", "cpu 4", "wCQ=LP").queue("s", "", "cpu 4", "wCQ=LP strict");
  queues_.held("q: x(0,4); s: y(0,4)").waiting("q: a(1,2); s: b(1,2)");
  EXPECT_TRUE(decision("a").becomes_sticky);
  EXPECT_FALSE(decision("b").becomes_sticky);
  EXPECT_EQ(decision("a").requeue, Decision::Requeue::kAtOnce);
}

// a is within q1's 4 but nobody can go for it: what is left of q1's nominal is kept from the borrower b.
TEST_F(Contention, ABlockedPreemptorKeepsItsOwn) {
  queues_.queue("q1", "c", "cpu 4", "rWC=LP").queue("q2", "c", "cpu 2").queue("o", "c", "cpu 2");
  queues_.held("o: x(9,4)").waiting("q1: a(1,4); q2: b(0,4)");
  // 8 in all, 4 used, 4 free: a fits.
  EXPECT_THAT(decisions(),
              ElementsAre("a: admitted main x1 cpu@default", "b: waits WaitingForQuota, no longer fits, in line"));
  queues_.held("o: y(9,1)");
  // 3 free: a needs one more and x, y are above it. q1's 4 are unused: all of it is kept, so b's 3 are refused.
  queues_.waiting("q2: d(5,3)");
  EXPECT_THAT(decisions(),
              ElementsAre("a: waits WaitingForQuota, aside", "d: waits WaitingForQuota, no longer fits, in line"));
}

// Who may reclaim from anybody keeps nothing: it can have it back at any time.
TEST_F(Contention, WhoReclaimsFromAnybodyKeepsNothing) {
  queues_.queue("q1", "c", "cpu 4", "rWC=Any").queue("q2", "c", "cpu 2").queue("o", "c", "cpu 2");
  // q1 uses 2 and wants 3 more: beyond its 4 it cannot reclaim, and the victim's queue is within its own.
  queues_.held("q1: mine(9,2); o: x(9,2); q2: y(9,2)").waiting("q1: a(1,3); q2: d(0,2)");
  EXPECT_THAT(decisions(), ElementsAre("a: waits WaitingForQuota, aside", "d: admitted main x1 cpu@default"));
}

// A head that fits nowhere does not stop others.
TEST_F(Contention, NoFitKeepsNothing) {
  queues_.queue("q1", "c", "cpu 4").queue("q2", "c", "cpu 4").waiting("q1: a(9,20); q2: b(0,8)");
  EXPECT_THAT(decisions(), ElementsAre("a: waits ExceedsMaxQuota, aside", "b: admitted main x1 cpu@default"));
}

// Three levels of reclaiming at once: each gets its own back from the borrower.
TEST_F(Contention, ThreeReclaimAtOnce) {
  for (const char* name : {"q1", "q2", "q3"}) queues_.queue(name, "c", "cpu 2", "rWC=Any");
  queues_.queue("o", "c", "cpu 0").held("o: a(0,2) b(0,2) c(0,2)");
  queues_.waiting("q1: x(3,2); q2: y(2,2); q3: z(1,2)");
  EXPECT_THAT(decisions(), ElementsAre("x: preempts a[REC]", "y: preempts b[REC]", "z: preempts c[REC]"));
}

// The words that a victim is told.
TEST_F(Contention, WhatAVictimIsTold) {
  queues_.cohort("r").cohort("c", "r", "cpu 2");
  queues_.queue("q", "c", "cpu 0", "wCQ=LP rWC=Any").queue("o", "r", "cpu 0").held("o: x(0,2)").waiting("q: in(0,2)");
  queues_.workload("in").job_uid = "job-1";
  const Decision& made = decision("in");
  EXPECT_EQ(preemption_message(queues_.snapshot(), queues_.workload("in"), made.victims.front()),
            "Preempted to accommodate a workload (UID: uid-in, JobUID: job-1) due to reclamation within the cohort; "
            "preemptor path: /r/c/q; preemptee path: /r/o");
  EXPECT_STREQ(reason_text(made.victims.front().reason), "InCohortReclamation");
  queues_.workload("in").uid = queues_.workload("in").job_uid = "";
  EXPECT_THAT(preemption_message(queues_.snapshot(), queues_.workload("in"),
                                 {queues_.workload_id("x"), Victim::Reason::kInClusterQueue}),
              ::testing::HasSubstr("(UID: UNKNOWN, JobUID: UNKNOWN) due to prioritization in the ClusterQueue"));
}

}  // namespace
}  // namespace gangway::planning::queueing
