#include "planning/queueing/queues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"
#include "planning/queueing/wake.h"

namespace gangway::planning::queueing {
namespace {

using ::testing::ElementsAre;
using testing::TestQueues;

class QueuesTest : public ::testing::Test {
 protected:
  QueuesTest() {
    queues_.queue("q", "", "cpu 8, memory 8").held("q: x(3,2cpu+1memory) y(1,1)").waiting("q: a(0,1) b(1,1) c(2,1)");
    sorted_ = Queues(queues_.snapshot());
  }
  template <class Rows>
  std::vector<std::string> names(const Rows& rows) {
    std::vector<std::string> names;
    for (const auto& row : rows) names.push_back(queues_.snapshot().workloads[row.workload].name);
    return names;
  }
  void put(const char* name) { sorted_.put(queues_.snapshot(), queues_.workload_id(name)); }
  TestQueues queues_;
  Queues sorted_;
};

TEST_F(QueuesTest, SortsWhoWaitsAndWhoHolds) {
  EXPECT_THAT(names(sorted_.pending(0)), ElementsAre("c", "b", "a"));
  EXPECT_THAT(names(sorted_.holders(0)), ElementsAre("y", "x"));  // the lowest priority goes first
  EXPECT_EQ(sorted_.usage(0).at({kCpu, 0}), 3000);
  EXPECT_EQ(sorted_.usage(0).at({kMemory, 0}), 1);
}

TEST_F(QueuesTest, FollowsChanges) {
  queues_.workload("a").priority = 9;
  put("a");
  EXPECT_THAT(names(sorted_.pending(0)), ElementsAre("a", "c", "b"));
  queues_.workload("c").is_inadmissible = true;
  put("c");
  EXPECT_THAT(names(sorted_.pending(0)), ElementsAre("a", "b"));
  EXPECT_THAT(names(sorted_.inadmissible(0)), ElementsAre("c"));
  queues_.workload("x").admission.reset();
  put("x");
  EXPECT_THAT(names(sorted_.holders(0)), ElementsAre("y"));
  EXPECT_EQ(sorted_.usage(0).at({kCpu, 0}), 1000);
  EXPECT_FALSE(sorted_.usage(0).contains({kMemory, 0}));
  sorted_.remove(queues_.workload_id("b"));
  sorted_.remove(queues_.workload_id("b"));  // is nowhere any more
  EXPECT_THAT(names(sorted_.pending(0)), ElementsAre("a", "x"));
}

TEST_F(QueuesTest, KnowsWhoIsAlike) {
  queues_.workload("a").likeness = queues_.workload("b").likeness = 5;
  put("a");
  put("b");
  EXPECT_THAT(sorted_.alike(0, 5), ElementsAre(queues_.workload_id("a"), queues_.workload_id("b")));
  queues_.workload("a").is_inadmissible = true;
  put("a");
  EXPECT_THAT(sorted_.alike(0, 5), ElementsAre(queues_.workload_id("b")));
}

TEST_F(QueuesTest, EvictedOnesComeFirstAmongHolders) {
  queues_.workload("x").admission->is_evicted = true;
  put("x");
  EXPECT_THAT(names(sorted_.holders(0)), ElementsAre("x", "y"));
}

// Reserved later goes earlier among equals.
TEST_F(QueuesTest, TheLatestComesFirstAmongEqualHolders) {
  queues_.workload("x").priority = 1;
  queues_.workload("x").admission->reserved += std::chrono::seconds(1);
  put("x");
  EXPECT_THAT(names(sorted_.holders(0)), ElementsAre("x", "y"));
}

// What one queue gives up can help all of its tree, and nobody else.
TEST(Wake, TheWholeTreeAndNobodyElse) {
  TestQueues queues;
  queues.cohort("r").cohort("c", "r").cohort("x", "y").cohort("y", "x");
  queues.queue("q", "c", "cpu 1").queue("o", "r", "cpu 1").queue("alone", "", "cpu 1").queue("other", "d", "cpu 1");
  queues.queue("circle", "x", "cpu 1").queue("round", "y", "cpu 1");
  queues.waiting("q: a(0,2) b(0,2); o: c(0,2); alone: d(0,2); other: e(0,2); circle: f(0,2); round: g(0,2)");
  for (Workload& workload : queues.snapshot().workloads) workload.is_inadmissible = workload.name != "b";
  const Queues sorted(queues.snapshot());
  const auto woken = [&](const char* queue) {
    std::string names;
    for (const WorkloadId id : to_wake(queues.snapshot(), sorted, queues.queue_id(queue)))
      names += queues.snapshot().workloads[id].name;
    return names;
  };
  EXPECT_EQ(woken("o"), "ac");
  EXPECT_EQ(woken("q"), "ac");
  EXPECT_EQ(woken("alone"), "d");
  EXPECT_EQ(woken("other"), "e");
  EXPECT_EQ(woken("circle"), "fg");
}

}  // namespace
}  // namespace gangway::planning::queueing
