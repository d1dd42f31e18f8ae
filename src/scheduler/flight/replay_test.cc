#include "scheduler/flight/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/test_snapshot.h"

namespace gangway::scheduler::flight {
namespace {

using planning::testing::TestCluster;
using ::testing::HasSubstr;
using ::testing::Not;

CycleRecord recorded(TestCluster& cluster) {
  CycleRecord record{.number = 17};
  record.frame = "{" + frame_text(cluster.snapshot().now, cluster.policies(), {}) + "}";
  record.snapshot = lines_of(cluster.snapshot());
  record.plan = lines_of(cluster.snapshot(), cluster.plan());
  return record;
}

// A node with 4 GPUs that a low pod holds, and a high one that takes two of them; a third fits nowhere.
TestCluster a_preemption() {
  TestCluster cluster;
  cluster.node("n0", 4).running("low", "n0", {.gpus = 4}).waiting("high", {.gpus = 2}, 1000);
  cluster.waiting("huge", {.gpus = 8}, 500);
  return cluster;
}

TEST(Replay, ARecordedPlanIsPlannedAgain) {
  TestCluster cluster = a_preemption();
  const auto again = replay(recorded(cluster));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_same());
  EXPECT_EQ(again->broken, std::vector<std::string>{});
  const std::string text = report(*again);
  EXPECT_THAT(text, HasSubstr("Cycle 17 of 2023-11-14T22:13:20Z: 1 nodes, 3 pods, 0 groups\n"));
  // 4 GPUs for the hour since its start.
  EXPECT_THAT(text, HasSubstr("pod default/high gets default/high on n0\n"
                              "    evicts pod default/low (fail): default/low\n"
                              "    throws away 14400 GPU-seconds of work\n"));
  EXPECT_THAT(text, HasSubstr("pod default/huge waits: Unschedulable\n    0/1 nodes are available: "));
  EXPECT_THAT(text, HasSubstr("The plan is the same as recorded.\n"));
  const json::Value tree = report_json(*again);
  EXPECT_EQ(tree.at("cycle"), 17);
  EXPECT_EQ(tree.at("same"), true);
  EXPECT_EQ(tree.at("plan").at(0).at("ticket"), "pod default/high");
  EXPECT_FALSE(tree.as_object().contains("recorded"));
}

TEST(Replay, AnotherPlanIsShownBesideTheRecordedOne) {
  TestCluster cluster = a_preemption();
  CycleRecord record = recorded(cluster);
  std::string& step = record.plan.steps.at(0);
  step.replace(step.find("\"node\":\"n0\""), 11, "\"node\":\"n9\"");
  const auto again = replay(record);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_FALSE(again->is_same());
  const std::string text = report(*again);
  EXPECT_THAT(text, HasSubstr("The plan is NOT the same as recorded"));
  EXPECT_THAT(text, HasSubstr("- pod default/high gets default/high on n9\n-     evicts pod default/low"));
  EXPECT_THAT(text, HasSubstr("+ pod default/high gets default/high on n0\n+     evicts pod default/low"));
  // Who waits does so in both.
  EXPECT_THAT(text, Not(HasSubstr("- pod default/huge")));
  EXPECT_EQ(report_json(*again).at("recorded").at(0).at("places").at(0).at("node"), "n9");
}

TEST(Replay, TheOrderOfTicketsCounts) {
  TestCluster cluster;
  cluster.nodes("n", 2, 4).waiting("a", {.gpus = 1}).waiting("b", {.gpus = 1});
  CycleRecord record = recorded(cluster);
  ASSERT_EQ(record.plan.steps.size(), 2u);
  std::swap(record.plan.steps[0], record.plan.steps[1]);
  const auto again = replay(record);
  ASSERT_TRUE(again);
  EXPECT_FALSE(again->is_same());
  EXPECT_THAT(report(*again), HasSubstr("the same tickets in another order:\n- pod default/b gets"));
}

TEST(Replay, ARecordThatMakesNoSenseIsRefusedWithItsCycle) {
  TestCluster cluster = a_preemption();
  CycleRecord record = recorded(cluster);
  record.snapshot.erase(record.snapshot.find("node\":\"n0"));
  const auto again = replay(record);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, "cycle 17: pod \"default/low\": node: there is no node \"n0\"");
}

}  // namespace
}  // namespace gangway::scheduler::flight
