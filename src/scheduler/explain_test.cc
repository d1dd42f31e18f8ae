#include "scheduler/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/test_snapshot.h"
#include "scheduler/explain_subject.h"

namespace gangway::scheduler {
namespace {

using namespace std::chrono_literals;
using planning::testing::kNow;
using planning::testing::TestCluster;
using ::testing::ElementsAre;

const std::vector<PriorityClass> kClasses{{"high", 100}, {"higher", 200}, {"system-node-critical", 2'000'000'000}};

std::string waits(TestCluster& cluster, const std::string& gang) {
  const GangExplainer explainer(cluster.snapshot(), cluster.policies(), kClasses);
  Explanation explanation{.kind = "Pod", .ns = "default", .name = gang, .now = kNow};
  explanation.waits = {explainer.why_waits({cluster.gang_id(gang), planning::kNone})};
  return to_text(explanation);
}

std::string runs(TestCluster& cluster, const std::string& gang) {
  const GangExplainer explainer(cluster.snapshot(), cluster.policies(), kClasses);
  Explanation explanation{.kind = "Pod", .ns = "default", .name = gang, .now = kNow};
  explanation.runs = {explainer.how_it_runs(cluster.gang_id(gang))};
  return to_text(explanation);
}

TEST(Explain, SaysWhatItNeedsWhoHoldsItAndWhatWouldHelp) {
  TestCluster cluster;
  cluster.node("n0", 8).running("b", "n0", {4}).waiting("a", {8});
  EXPECT_EQ(waits(cluster, "a"),
            "Pod default/a has waited for 60s (priority 0).\n"
            "  It needs 8 nvidia.com/gpu, 1 cpu, 1Gi memory on one node.\n"
            "  0/1 nodes are available: 1 Insufficient nvidia.com/gpu.\n"
            "  The nearest is n0, which lacks 4 nvidia.com/gpu. The room there is held by:\n"
            "    default/b (4 GPUs, priority 0, for 60m): not preempted, its priority 0 is not below 0.\n"
            "  The smallest change that lets it run:\n"
            "    delete or wait for default/b (4 GPUs)\n"
            "  Others that would:\n"
            "    lower requests nvidia.com/gpu from 8 to 4\n"
            "    use priority class high (100) (it then preempts default/b)\n");
}

TEST(Explain, SaysWhyTheHoldersAreNotPreempted) {
  TestCluster cluster;
  cluster.node("n0", 8).waiting("a", {8}, 10);
  cluster.running("young", "n0", {4}, 0, 60).running("weary", "n0", {3}, 5).running("equal", "n0", {1}, 10);
  cluster.gang("young").min_runtime = 10min;
  cluster.gang("weary").preempted = {kNow - 1min, kNow - 2min};
  cluster.gang("weary").max_preemptions = 2;
  const GangExplainer explainer(cluster.snapshot(), cluster.policies(), kClasses);
  const WaitReport report = explainer.why_waits({cluster.gang_id("a"), planning::kNone});
  std::vector<std::string> told;
  for (const Holder& holder : report.holders) told.push_back(holder.gang.name + ": " + holder.why_not);
  EXPECT_THAT(told, ElementsAre("young: default/young is protected for the first 10m of its run",
                                "weary: default/weary was preempted 2 times in the last hour, and no more are allowed",
                                "equal: its priority 10 is not below 10"));
}

TEST(Explain, SaysWhereItStandsInLineAndWhenItStarts) {
  TestCluster cluster;
  cluster.node("n0", 4).running("b", "n0", {4});
  cluster.pod("b").ends = kNow + 30min;
  cluster.waiting("first", {4}, 0, 600).waiting("second", {4}, 0, 60).waiting("urgent", {4}, 7, 10);
  cluster.pod("urgent").never_preempts = true;
  const GangExplainer explainer(cluster.snapshot(), cluster.policies(), kClasses);
  const WaitReport first = explainer.why_waits({cluster.gang_id("first"), planning::kNone});
  EXPECT_EQ(first.position, 2u);
  EXPECT_EQ(first.in_line, 3u);
  EXPECT_THAT(first.ahead, ElementsAre("default/urgent"));
  EXPECT_EQ(first.room_kept_for, "default/urgent");
  EXPECT_EQ(first.starts, std::nullopt);
  const WaitReport urgent = explainer.why_waits({cluster.gang_id("urgent"), planning::kNone});
  EXPECT_EQ(urgent.starts, kNow + 30min);
  EXPECT_THAT(urgent.ahead, ElementsAre());
  EXPECT_THAT(
      waits(cluster, "urgent"),
      ::testing::HasSubstr("  It is the first in line: it starts at 2023-11-14T22:43:20Z (in 30m) at the latest.\n"));
}

TEST(Explain, AGangWithATicketWaitsForItsVictims) {
  TestCluster cluster;
  cluster.node("n0", 4).running("b", "n0", {4}).waiting("a", {4}, 10);
  cluster.pod("b").is_terminating = true;
  planning::OpenTicket ticket;
  ticket.places = {{cluster.pod_id("a"), cluster.node_id("n0")}};
  ticket.victims = {cluster.pod_id("b")};
  cluster.gang("a").ticket = ticket;
  EXPECT_EQ(waits(cluster, "a"),
            "Pod default/a has waited for 60s (priority 10).\n"
            "  It has its place (a on n0) and starts when these have ended: default/b.\n");
}

TEST(Explain, WhatHasRoomIsSaidToHaveIt) {
  TestCluster cluster;
  cluster.node("n0", 4).waiting("a", {4});
  EXPECT_EQ(waits(cluster, "a"),
            "Pod default/a has waited for 60s (priority 0).\n"
            "  There is room for it: the scheduler's next look puts a on n0.\n");
}

TEST(Explain, AGangOfWhichNotAllExist) {
  TestCluster cluster;
  cluster.nodes("n", 3, 4).waiting_gang("g", 2, {4}, 0, 3);
  EXPECT_EQ(waits(cluster, "g"),
            "PodGroup default/g has waited for 60s (priority 0).\n"
            "  Of its pods 0 run and 2 wait (g-0, g-1); it needs 3 to start.\n"
            "  It cannot start yet: the pod group has 2 of the 3 pods that it needs to start.\n"
            "  The smallest change that lets it run:\n"
            "    create 1 more member: the gang has 2 of 3 pods\n"
            "  Others that would:\n"
            "    lower minMember of the PodGroup from 3 to 2\n");
}

TEST(Explain, SaysWhereSomethingRunsAndWhatCouldPreemptIt) {
  TestCluster cluster;
  cluster.node("n0", 4).running("b", "n0", {4}, 100, 300);
  cluster.gang("b").min_runtime = 10min;
  cluster.policies().top_priority = 200;
  cluster.snapshot().budgets = {{"default", "all", {}, 0}};
  EXPECT_EQ(
      runs(cluster, "b"),
      "Pod default/b runs on n0 since 2023-11-14T22:08:20Z (5m) (priority 100).\n"
      "  Pods of these classes may preempt it: higher (200). The pods in the way would be stopped; 20.0 GPU-minutes "
      "of work would be lost.\n"
      "  For now it is left alone by all below 200: default/b is protected for the first 10m of its run, until "
      "2023-11-14T22:18:20Z.\n"
      "  Disruption budget default/all allows 0 more disruptions: others are taken first where there is a "
      "choice.\n");
}

}  // namespace
}  // namespace gangway::scheduler
