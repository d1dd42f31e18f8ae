// For every law a plan that breaks it, made by hand from one that keeps it.
#include "planning/queueing/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"

namespace gangway::planning::queueing {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using testing::TestQueues;

class QueueVerifyTest : public ::testing::Test {
 protected:
  std::vector<std::string> problems(const Plan& plan) { return verify(queues_.snapshot(), queues_.options(), plan); }
  // The planner's own plan, which keeps the laws, changed by hand.
  template <class Change>
  void expect_refused(const char* law, Change change) {
    Plan plan = queues_.plan();
    EXPECT_THAT(problems(plan), IsEmpty());
    change(plan);
    EXPECT_THAT(problems(plan), Contains(StartsWith(law)));
  }
  // A head that is admitted, and room for more.
  void admitted() { queues_.queue("q", "", "spot: cpu 8; other: cpu 8").waiting("q: in(1,2-4x1) behind(0,1)"); }
  // in takes low; mid could not go for it alone.
  void preempting(const char* policies = "wCQ=LP rWC=Any") {
    queues_.queue("q", "c", "cpu 4", policies).queue("o", "c", "cpu 4", "rWC=LP");
    queues_.held("q: low(-1,2) high(5,2); o: mine(0,4)").waiting("q: in(1,2)");
  }
  Decision& only(Plan& plan) { return plan.decisions.front(); }

  TestQueues queues_;
};

TEST_F(QueueVerifyTest, HeadsAreDecidedOnce) {
  admitted();
  expect_refused("heads: default/in is decided twice", [](Plan& plan) { plan.decisions.push_back(plan.decisions[0]); });
  expect_refused("heads: nothing is decided about default/in", [](Plan& plan) { plan.decisions.clear(); });
}

TEST_F(QueueVerifyTest, NobodyOvertakesTheHead) {
  admitted();
  for (const char* strategy : {"strict", "best effort"}) {
    queues_.queue_of("q").strategy =
        std::string(strategy) == "strict" ? QueueingStrategy::kStrictFifo : QueueingStrategy::kBestEffortFifo;
    expect_refused("heads: default/behind is not the head of q",
                   [&](Plan& plan) { only(plan).workload = queues_.workload_id("behind"); });
  }
}

TEST_F(QueueVerifyTest, DecisionsAreAboutThoseWhoWait) {
  preempting();
  expect_refused("heads: a decision is about a workload that does not wait",
                 [&](Plan& plan) { only(plan).workload = queues_.workload_id("low"); });
  expect_refused("heads: a decision is about a workload that does not wait",
                 [&](Plan& plan) { only(plan).workload = 99; });
}

TEST_F(QueueVerifyTest, InactiveQueuesGiveNothing) {
  admitted();
  Plan plan = queues_.plan();
  queues_.queue_of("q").is_active = false;
  EXPECT_THAT(problems(plan), Contains(StartsWith("heads: default/in is not the head of q")));
}

TEST_F(QueueVerifyTest, WholeWorkloads) {
  admitted();
  expect_refused("whole: default/in gets 0 of 1 podsets", [&](Plan& plan) { only(plan).grant.clear(); });
  expect_refused("whole: default/in gets 1 pods of main", [&](Plan& plan) {
    only(plan).grant[0].count = 1;
    only(plan).grant[0].charges[0].amount = 1000;
  });
  expect_refused("whole: default/in gets 5 pods of main", [&](Plan& plan) {
    only(plan).grant[0].count = 5;
    only(plan).grant[0].charges[0].amount = 5000;
  });
  expect_refused("whole: default/in is charged 3000 of cpu for main",
                 [&](Plan& plan) { only(plan).grant[0].charges[0].amount = 3000; });
  expect_refused("whole: default/in gets no cpu for main", [&](Plan& plan) { only(plan).grant[0].charges.clear(); });
  expect_refused("whole: default/in is charged for what it does not ask for",
                 [&](Plan& plan) { only(plan).grant[0].charges.push_back({0, kMemory, 1}); });
}

TEST_F(QueueVerifyTest, FlavorsOfTheQueueThatTakeThePods) {
  admitted();
  const FlavorId foreign = queues_.flavor_id("foreign");
  expect_refused("whole: default/in gets flavor foreign, which q does not have",
                 [&](Plan& plan) { only(plan).grant[0].charges[0].flavor = foreign; });
  expect_refused("whole: default/in gets a flavor that does not exist",
                 [&](Plan& plan) { only(plan).grant[0].charges[0].flavor = 77; });
  queues_.flavor("other").taints = {{"dedicated", "them"}};
  expect_refused("whole: default/in gets flavor other, which does not take it",
                 [&](Plan& plan) { only(plan).grant[0].charges[0].flavor = queues_.flavor_id("other"); });
}

TEST_F(QueueVerifyTest, OneFlavorForAGroup) {
  queues_.queue("q", "", "spot: cpu 8, memory 8; other: cpu 8, memory 8").waiting("q: in(0,1cpu+1memory)");
  expect_refused("whole: default/in gets resources of one group in two flavors",
                 [&](Plan& plan) { only(plan).grant[0].charges[1].flavor = queues_.flavor_id("other"); });
}

TEST_F(QueueVerifyTest, QuotaOfAQueue) {
  queues_.queue("q", "", "cpu 4").held("q: old(0,3)").waiting("q: in(0,2)");
  expect_refused("quota: ClusterQueue q", [&](Plan& plan) {
    only(plan).outcome = Decision::Outcome::kAdmit;
    only(plan).grant = {{1, {{0, kCpu, 2000}}}};
  });
}

TEST_F(QueueVerifyTest, BorrowingLimitOfAQueue) {
  queues_.queue("q", "c", "cpu 4 bl 1").queue("o", "c", "cpu 4").waiting("q: in(0,6)");
  expect_refused("quota: ClusterQueue q", [&](Plan& plan) {
    only(plan).outcome = Decision::Outcome::kAdmit;
    only(plan).grant = {{1, {{0, kCpu, 6000}}}};
  });
}

TEST_F(QueueVerifyTest, LendingLimitOfAQueue) {
  queues_.queue("q", "c", "cpu 4").queue("o", "c", "cpu 4 ll 1").waiting("q: in(0,6)");
  expect_refused("quota: Cohort c", [&](Plan& plan) {
    only(plan).outcome = Decision::Outcome::kAdmit;
    only(plan).grant = {{1, {{0, kCpu, 6000}}}};
  });
}

TEST_F(QueueVerifyTest, BorrowingLimitOfACohort) {
  queues_.cohort("r", "", "cpu 9").cohort("c", "r", "cpu 1 bl 2");
  queues_.queue("q", "c", "cpu 0").waiting("q: in(0,4)");
  expect_refused("quota: Cohort c", [&](Plan& plan) {
    only(plan).outcome = Decision::Outcome::kAdmit;
    only(plan).grant = {{1, {{0, kCpu, 4000}}}};
  });
}

TEST_F(QueueVerifyTest, VictimsHoldTheirQuotaUntilTheyHaveGone) {
  preempting();
  expect_refused("quota: Cohort c", [&](Plan& plan) {
    only(plan).outcome = Decision::Outcome::kAdmit;
    only(plan).victims.clear();
  });
}

TEST_F(QueueVerifyTest, VictimsGoByPolicy) {
  preempting();
  expect_refused("policy: default/in preempts default/high as InClusterQueue",
                 [&](Plan& plan) { only(plan).victims = {{queues_.workload_id("high")}}; });
  // o does not borrow.
  expect_refused("policy: default/in preempts default/mine as InCohortReclamation", [&](Plan& plan) {
    only(plan).victims = {{queues_.workload_id("mine"), Victim::Reason::kInCohortReclamation}};
  });
  expect_refused("policy: default/in preempts default/low as InCohortReclamation",
                 [&](Plan& plan) { only(plan).victims[0].reason = Victim::Reason::kInCohortReclamation; });
  expect_refused("policy: default/in names a victim that does not exist",
                 [&](Plan& plan) { only(plan).victims = {{99}}; });
  expect_refused("policy: default/in preempts default/in, which holds nothing",
                 [&](Plan& plan) { only(plan).victims = {{queues_.workload_id("in")}}; });
  expect_refused("policy: default/in preempts default/low, which goes already",
                 [&](Plan& plan) { only(plan).victims.push_back(only(plan).victims[0]); });
}

TEST_F(QueueVerifyTest, VictimsHaveWhatIsWanted) {
  queues_.queue("q", "", "cpu 4, memory 4", "wCQ=LP");
  queues_.held("q: cpus(-1,4) bytes(-1,1memory)").waiting("q: in(1,2)");
  expect_refused("policy: default/in preempts default/bytes, which has nothing that it wants",
                 [&](Plan& plan) { only(plan).victims.push_back({queues_.workload_id("bytes")}); });
}

TEST_F(QueueVerifyTest, BorrowersGoByTheRuleThatIsNamed) {
  queues_.queue("q", "c", "cpu 4", "rWC=Any").queue("o", "c", "cpu 4", "");
  queues_.held("o: x(0,8)").waiting("q: in(1,2)");
  for (const auto reason : {Victim::Reason::kInCohortFairSharing, Victim::Reason::kInCohortReclaimWhileBorrowing})
    expect_refused("policy: default/in preempts default/x as",
                   [&](Plan& plan) { only(plan).victims[0].reason = reason; });
}

TEST_F(QueueVerifyTest, OtherTreesAreNotTouched) {
  preempting();
  queues_.queue("far", "elsewhere", "cpu 0").queue("near", "elsewhere", "cpu 4").held("far: x(-9,4)");
  expect_refused("policy: default/in preempts default/x as InCohortReclamation", [&](Plan& plan) {
    only(plan).victims = {{queues_.workload_id("x"), Victim::Reason::kInCohortReclamation}};
  });
}

TEST_F(QueueVerifyTest, NobodyGoesInVain) {
  queues_.queue("q", "", "cpu 4", "wCQ=LP").held("q: a(-1,1) b(-1,3)").waiting("q: in(1,3)");
  // The planner takes b alone.
  expect_refused("need: default/a could stay although default/in preempts it",
                 [&](Plan& plan) { only(plan).victims.push_back({queues_.workload_id("a")}); });
  expect_refused("need: default/in has no room when its victims have gone",
                 [&](Plan& plan) { only(plan).victims = {{queues_.workload_id("a")}}; });
  expect_refused("need: default/in preempts nobody", [&](Plan& plan) { only(plan).victims.clear(); });
}

TEST_F(QueueVerifyTest, WhoWaitsKnowsWhy) {
  queues_.queue("q", "", "cpu 1").queue("s", "", "cpu 1", "strict").waiting("q: a(0,2); s: b(0,2)");
  expect_refused("why: default/a waits and does not know why",
                 [](Plan& plan) { plan.decisions[0].reason = PendingReason::kNone; });
  expect_refused("why: default/a waits and does not know why",
                 [](Plan& plan) { plan.decisions[0].shortfalls.clear(); });
  expect_refused("why: default/a waits nowhere",
                 [](Plan& plan) { plan.decisions[0].requeue = Decision::Requeue::kNone; });
  expect_refused("why: default/b is set aside in the strict queue s",
                 [](Plan& plan) { plan.decisions[1].requeue = Decision::Requeue::kInadmissible; });
}

TEST_F(QueueVerifyTest, OnlyThoseWhoAreAlikeAreMovedAlong) {
  queues_.queue("q", "", "cpu 1").waiting("q: a(0,2) b(0,2) c(0,1)");
  queues_.workload("a").likeness = queues_.workload("b").likeness = 7;
  queues_.workload("c").likeness = 8;
  EXPECT_EQ(queues_.plan().moved_along, std::vector{queues_.workload_id("b")});
  expect_refused("why: default/c is moved along with nobody like it",
                 [&](Plan& plan) { plan.moved_along.push_back(queues_.workload_id("c")); });
}

}  // namespace
}  // namespace gangway::planning::queueing
