// Classical preemption in trees of cohorts. Queues have no quota of their own unless a case says so, take lower
// priorities of their own and reclaim from anybody.
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"

namespace gangway::planning::queueing {
namespace {

using testing::TestQueues;

constexpr const char* kPolicies = "wCQ=LP rWC=Any";

// r above c, which has quota; queue q in c, queue o in r.
TestQueues two_levels(const char* cohort_quota, const char* queue_quota = "cpu 0") {
  TestQueues queues;
  queues.cohort("r").cohort("c", "r", cohort_quota);
  queues.queue("q", "c", queue_quota, kPolicies)
      .queue("o", "r", "cpu 0", kPolicies)
      .queue("s", "c", "cpu 0", kPolicies);
  return queues;
}

// c's own 2 hold the request, and o, outside of c, uses them.
TEST(GoldenHierarchy, B1) {
  EXPECT_EQ(two_levels("cpu 2").held("o: x(0,2)").waiting("q: in(0,2)").victims(), "x[REC]");
}

// What belongs to the subtree is reclaimed from higher priorities, too.
TEST(GoldenHierarchy, B3) {
  EXPECT_EQ(two_levels("cpu 2").held("o: x(1,1) y(2,1)").waiting("q: in(0,2)").victims(), "x[REC] y[REC]");
}

// Those who have what is the subtree's go before own ones, whatever their priority.
TEST(GoldenHierarchy, B5) {
  EXPECT_EQ(two_levels("cpu 2").held("o: x(1,1); q: own(-2,1)").waiting("q: in(0,1)").victims(), "x[REC]");
}

// q's own 4 hold the request: all others who borrow are asked, also the sibling; 3 + 3 are both needed for 4.
TEST(GoldenHierarchy, B7) {
  EXPECT_EQ(two_levels("cpu 2", "cpu 4").held("o: x(10,3); s: y(10,3)").waiting("q: in(0,4)").victims(),
            "x[REC] y[REC]");
}

// d is within its 2. x is q's sibling in c, which is full: by priority, so only if q does not borrow, and it does.
TEST(GoldenHierarchy, B9) {
  TestQueues queues;
  queues.cohort("r").cohort("c", "r", "cpu 2").cohort("d", "r", "cpu 2");
  queues.queue("q", "c", "cpu 0", kPolicies).queue("s", "c", "cpu 0", kPolicies).queue("t", "d", "cpu 0", kPolicies);
  queues.held("t: one(-10,1) two(-10,1); s: x(0,2)").waiting("q: in(0,2)");
  EXPECT_EQ(queues.victims(), "none");
}

// q keeps 1 to itself: 4 of the 5 are asked of c, which has 2 + 2; so x in r has what is c's.
TEST(GoldenHierarchy, B11) {
  EXPECT_EQ(two_levels("cpu 2", "cpu 3 ll 2").held("o: x(0,4)").waiting("q: in(-2,5)").victims(), "x[REC]");
}

//   r ─ c11 ─ c21 ─ c31: q5          every cohort but r has 4, 28 in all, 28 in use
//     │     │     └ c32: q4 4,2
//     │     ├ c22: q3 -4,-3
//     │     └ c23: q2 -9,-10
//     └ c12: q1 -6,-5
// q5 wants 7; c31 has 4, c21 has 12 of which q4 uses 5: c21 holds it. So who is outside of c21 has what is c21's: q3
// uses 7 of 4, q2 8 of 4, q1 8 of 4. The lowest: -10, then q2 is within its 4; then -6.
TEST(GoldenHierarchy, B13) {
  TestQueues queues;
  queues.cohort("r");
  for (const auto& [name, parent] : {std::pair{"c11", "r"},
                                     {"c12", "r"},
                                     {"c21", "c11"},
                                     {"c22", "c11"},
                                     {"c23", "c11"},
                                     {"c31", "c21"},
                                     {"c32", "c21"}})
    queues.cohort(name, parent, "cpu 4");
  queues.queue("q1", "c12", "cpu 0", kPolicies)
      .queue("q2", "c23", "cpu 0", kPolicies)
      .queue("q3", "c22", "cpu 0", kPolicies)
      .queue("q4", "c32", "cpu 0", kPolicies)
      .queue("q5", "c31", "cpu 0", kPolicies);
  queues.held("q1: m6(-6,4) m5(-5,4); q2: m9(-9,4) m10(-10,4); q3: m4(-4,4) m3(-3,3); q4: p4(4,2) p2(2,3)")
      .waiting("q5: in(-2,7)");
  EXPECT_EQ(queues.victims(), "m10[REC] m6[REC]");
}

// One more than c holds: c must borrow, and q by priority only: o's are not c's to reclaim from r.
TEST(GoldenHierarchy, BeyondTheSubtreeNobodyIsReclaimed) {
  TestQueues queues;
  queues.cohort("r", "", "cpu 2").cohort("c", "r", "cpu 2");
  queues.queue("q", "c", "cpu 0", kPolicies).queue("o", "r", "cpu 0", kPolicies);
  EXPECT_EQ(queues.held("o: x(-1,4)").waiting("q: in(0,3)").victims(), "none");
}

// The same with borrowWithinCohort: the root cannot meet 3 while x uses 4, and x is lower: it goes while q borrows.
TEST(GoldenHierarchy, BeyondTheSubtreeWhileBorrowing) {
  TestQueues queues;
  queues.cohort("r", "", "cpu 2").cohort("c", "r", "cpu 2");
  queues.queue("q", "c", "cpu 0", "wCQ=LP rWC=Any bWC=LP").queue("o", "r", "cpu 0", kPolicies);
  EXPECT_EQ(queues.held("o: x(-1,4)").waiting("q: in(0,3)").victims(), "x[RWB]");
}

// Cohorts bring quota to queues that have none, and to their siblings' queues.
TEST(GoldenHierarchy, QuotaOfACohortIsItsMembers) {
  EXPECT_EQ(two_levels("cpu 2").waiting("q: in(0,2)").victims(), "admitted");
  EXPECT_EQ(two_levels("cpu 2").waiting("o: in(0,2)").victims(), "admitted");
  EXPECT_EQ(two_levels("cpu 2").waiting("o: in(0,3)").victims(), "none");
}

// A cohort's lending limit keeps 2 of its 3 for its own members.
TEST(GoldenHierarchy, LendingLimitOfACohort) {
  EXPECT_EQ(two_levels("cpu 3 ll 1").waiting("o: in(0,1)").victims(), "admitted");
  EXPECT_EQ(two_levels("cpu 3 ll 1").waiting("o: in(0,2)").victims(), "none");
  EXPECT_EQ(two_levels("cpu 3 ll 1").waiting("q: in(0,3)").victims(), "admitted");
  // o has the 1 that is lent; c still has its 2, and wants the third back.
  EXPECT_EQ(two_levels("cpu 3 ll 1").held("o: x(5,1)").waiting("q: in(0,2)").victims(), "admitted");
  EXPECT_EQ(two_levels("cpu 3 ll 1").held("o: x(5,1)").waiting("q: in(0,3)").victims(), "x[REC]");
}

// A cohort's borrowing limit binds all its members together.
TEST(GoldenHierarchy, BorrowingLimitOfACohort) {
  const auto limited = [] {
    TestQueues queues;
    queues.cohort("r", "", "cpu 10").cohort("c", "r", "cpu 2 bl 3");
    queues.queue("q", "c", "cpu 0", kPolicies).queue("s", "c", "cpu 0", kPolicies).queue("o", "r", "cpu 0", kPolicies);
    return queues;
  };
  EXPECT_EQ(limited().waiting("q: in(0,5)").victims(), "admitted");
  EXPECT_EQ(limited().waiting("q: in(0,6)").victims(), "none");
  EXPECT_EQ(limited().held("s: x(0,4)").waiting("q: in(0,1)").victims(), "admitted");
  EXPECT_EQ(limited().held("s: x(0,4)").waiting("q: in(0,2)").victims(), "none");
  EXPECT_EQ(limited().held("s: x(0,5)").waiting("o: in(0,7)").victims(), "admitted");
}

// A circle of cohorts disables whoever is in it or below it, and nobody else.
TEST(GoldenHierarchy, ACircleDisablesItsMembers) {
  TestQueues queues;
  queues.cohort("x", "y", "cpu 9").cohort("y", "x").cohort("below", "x", "cpu 9");
  queues.queue("in-circle", "x", "cpu 5").queue("under", "below", "cpu 5").queue("free", "", "cpu 5");
  queues.waiting("in-circle: a(0,1); under: b(0,1); free: c(0,1)");
  EXPECT_EQ(queues.order(), std::vector<std::string>{"c"});
}

}  // namespace
}  // namespace gangway::planning::queueing
