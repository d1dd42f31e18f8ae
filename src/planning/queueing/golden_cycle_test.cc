// Whole cycles over the heads of several queues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"

namespace gangway::planning::queueing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TestQueues;

TestQueues fixture() {
  TestQueues queues;
  queues.queue("sales", "", "cpu 50", "strict")
      .queue("alpha", "eng", "on-demand: cpu 50 bl 50; spot: cpu 100 bl 0", "strict")
      .queue("beta", "eng", "on-demand: cpu 50 bl 10; spot: cpu 0 bl 100 | model-a: gpu 20 bl 0",
             "strict rWC=Any wCQ=LP");
  return queues;
}

// 10 of 50 are left, 11 are wanted. A strict queue keeps its head in line.
TEST(GoldenCycle, D1) {
  TestQueues queues = fixture();
  queues.held("sales: old(0,40)").waiting("sales: new(0,11x1)");
  EXPECT_THAT(queues.decisions(), ElementsAre("new: waits WaitingForQuota, in line"));
  EXPECT_EQ(
      queues.message("new"),
      "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed");
}

// Both are met at once; beta borrows 5 of what alpha leaves.
TEST(GoldenCycle, D3) {
  TestQueues queues = fixture();
  queues.waiting("alpha: one(0,45); beta: two(0,55)");
  EXPECT_THAT(queues.decisions(),
              ElementsAre("one: admitted main x1 cpu@on-demand", "two: admitted main x1 cpu@on-demand"));
}

// alpha has borrowed 10 of beta's 50; with that one gone beta is at 40 + 20, so its own lowest goes as well.
TEST(GoldenCycle, D5) {
  TestQueues queues = fixture();
  queues.held("alpha: spots(0,100@spot) borrower(0,60@on-demand); beta: low1(-1,30@on-demand) low2(-2,10@on-demand)")
      .waiting("beta: in(0,20)");
  EXPECT_THAT(queues.decisions(), ElementsAre("in: preempts borrower[REC] low2[ICQ]"));
  EXPECT_EQ(queues.message("in"),
            "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor on-demand, 20 more "
            "needed, insufficient unused quota for cpu in flavor spot, 20 more needed. Pending the preemption of 2 "
            "workload(s)");
  const Plan plan = queues.plan();
  EXPECT_EQ(queues.find(plan, "in")->reason, PendingReason::kWaitingForPreemptedWorkloads);
}

// 50 pods of 2 would be 100; 25 of them fit into 50.
TEST(GoldenCycle, D7) {
  TestQueues queues = fixture();
  queues.waiting("sales: new(0,20-50x2)");
  EXPECT_THAT(queues.decisions(), ElementsAre("new: admitted main x25 cpu@default"));
}

// 3 are more than alpha's 2, and nothing lets it preempt while it borrows.
TEST(GoldenCycle, D11) {
  TestQueues queues;
  queues.queue("alpha", "c", "cpu 2", "rWC=Any wCQ=LP").queue("beta", "c", "cpu 2");
  queues.held("alpha: a1(-1,1); beta: b1(-1,1)").waiting("alpha: in(1,3)");
  EXPECT_THAT(queues.decisions(), ElementsAre("in: waits WaitingForQuota, aside"));
  EXPECT_THAT(queues.message("in"), HasSubstr("1 more needed"));
}

// A flavor that needs victims is passed over for one that does not.
TEST(GoldenCycle, D15) {
  TestQueues queues;
  queues.queue("cq", "", "on-demand: cpu 1; spot: cpu 1", "wCQ=LP preempt=next");
  queues.held("cq: low(50,1@on-demand)").waiting("cq: in(100,1)");
  EXPECT_THAT(queues.decisions(), ElementsAre("in: admitted main x1 cpu@spot"));
}

// 30 in all: one of both takes 16, the higher priority, and 14 are not enough for the other.
TEST(GoldenCycle, D21) {
  TestQueues queues;
  for (const char* name : {"q1", "q2", "q3"}) queues.queue(name, "c", "r1 10 bl 10");
  queues.waiting("q1: low(-2,16r1); q2: high(-1,16r1)");
  EXPECT_THAT(queues.decisions(),
              ElementsAre("high: admitted main x1 r1@default", "low: waits WaitingForQuota, no longer fits, in line"));
  EXPECT_EQ(queues.message("low"), "Workload no longer fits after processing another workload");
}

// 5 are left of 110. With them alpha borrows 5 and beta 6: the lower share goes first, however long the other waits.
TEST(GoldenCycle, D23) {
  TestQueues queues = fixture().fair();
  queues.queue("shared", "eng", "on-demand: cpu 10");
  queues.held("alpha: a1(0,50@on-demand); beta: b1(0,55@on-demand)").waiting("beta: b(0,1); alpha: a(0,5)");
  queues.workload("b").queued -= std::chrono::hours(1);
  EXPECT_THAT(queues.decisions(),
              ElementsAre("a: admitted main x1 cpu@on-demand", "b: waits WaitingForQuota, no longer fits, in line"));
}

// Both shares are infinite; c would use 4 of 8 and b all.
TEST(GoldenCycle, D25) {
  TestQueues queues;
  queues.cohort("all", "", "cpu 8").fair();
  queues.queue("b", "all", "cpu 0", "weight=0").queue("c", "all", "cpu 0", "weight=0");
  queues.held("b: b1(0,4)").waiting("b: b2(9001,4); c: c1(0,4)");
  EXPECT_THAT(queues.decisions(),
              ElementsAre("b2: waits WaitingForQuota, no longer fits, in line", "c1: admitted main x1 cpu@default"));
}

// The local queue that has used less is served first, before who is older.
TEST(GoldenCycle, D27) {
  TestQueues queues;
  queues.queue("cq", "", "cpu 8", "afs").waiting("cq: a(0,8) b(0,8)");
  queues.snapshot().local_queues = {{"default", "lq-a", 8000}, {"default", "lq-b", 2000}};
  queues.workload("a").local_queue = 0;
  queues.workload("a").queued -= std::chrono::hours(1);
  queues.workload("b").local_queue = 1;
  EXPECT_THAT(queues.decisions(), ElementsAre("b: admitted main x1 cpu@default"));
}

}  // namespace
}  // namespace gangway::planning::queueing
