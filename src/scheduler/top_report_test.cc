#include "scheduler/top_report.h"

#include <gtest/gtest.h>

#include "planning/test_snapshot.h"

namespace gangway::scheduler {
namespace {

using planning::testing::TestCluster;

TEST(Top, ShowsWhoHoldsWhichGpusAndWhoWaits) {
  TestCluster cluster;
  cluster.node("n1", 4).node("n0", 2, {}, {{"node.kubernetes.io/not-ready", "", planning::Taint::Effect::kNoExecute}});
  cluster.running_gang("train", {"n0", "n1"}, {1}).running("alone", "n1", {2}).running("web", "n1", {0});
  cluster.waiting("late", {4}, 0, 60).waiting_gang("big", 2, {4}, 7, 0, 30);
  EXPECT_EQ(
      to_text(top_of(cluster.snapshot(), cluster.plan())),
      "2023-11-14T22:13:20Z   2 nodes   4 of 6 GPUs in use   2 waiting for 12 GPUs\n"
      "\n"
      "NODE   STATE       GPUS            CPU      MEMORY      HELD BY\n"
      "n0     not-ready   1/2    [B.]     1.0/64   1Gi/256Gi   B default/train (1)\n"
      "n1     ready       3/4    [AAB.]   3.0/64   3Gi/256Gi   A default/alone (2) B default/train (1) and 1 pod\n"
      "\n"
      "IN LINE   WAITING        PODS   GPUS   PRIORITY   SINCE   WHY\n"
      "1         default/big    2      8      7          30s     all 2 pods of the group must fit at once: 0/2 "
      "nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint "
      "{node.kubernetes.io/not-ready: }.\n"
      "2         default/late   1      4      0          60s     0/2 nodes are available: 1 Insufficient "
      "nvidia.com/gpu, 1 node(s) had untolerated taint {node.kubernetes.io/not-ready: }.\n");
}

TEST(Top, LinesAreCutToTheTerminal) {
  TestCluster cluster;
  cluster.node("n0", 1);
  const std::string text = to_text(top_of(cluster.snapshot(), cluster.plan()), 20);
  EXPECT_NE(text.find("\nNODE   STATE   GPUS \n"), std::string::npos) << text;
}

}  // namespace
}  // namespace gangway::scheduler
