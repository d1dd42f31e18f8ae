#include "planning/placement/refusal.h"

#include <gtest/gtest.h>

#include "planning/test_snapshot.h"

namespace gangway::planning {
namespace {

using testing::TestCluster;

constexpr std::int64_t kLow = 100;
constexpr std::int64_t kHigh = 1000;

std::string message_of(const TestCluster& cluster) {
  const Plan plan = cluster.plan();
  return plan.verdicts.size() == 1 ? plan.verdicts.front().message
                                   : "verdicts: " + std::to_string(plan.verdicts.size());
}

AffinityTerm near(const char* app, const char* topology_key) {
  return {.pods = {{{"app", Requirement::Op::kIn, {app}}}}, .namespaces = {"default"}, .topology_key = topology_key};
}

// As kube-scheduler's filters are asked in turn, and the first that objects is heard.
TEST(Refusal, PortsAreLookedAtBeforeRoom) {
  TestCluster cluster;
  cluster.node("a", 0, {}, {}, 1000).node("b", 0, {}, {}, 1000);
  const auto on_80 = [](PodShape& shape) { shape.ports = {{"0.0.0.0", "TCP", 80}}; };
  cluster.running("x", "a", {.milli_cpu = 1000}).shape("x", on_80);
  cluster.waiting("p", {.milli_cpu = 2000}).shape("p", on_80);
  EXPECT_EQ(
      message_of(cluster),
      "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't have free ports for the requested pod ports. "
      "preemption: 0/2 nodes are available: 2 No preemption victims found for incoming pod.");
}

TEST(Refusal, NobodysLeavingBringsCompany) {
  TestCluster cluster;
  cluster.node("a", 0).node("b", 0);
  cluster.running("x", "a", {}, kLow).waiting("p", {}, kHigh);
  cluster.shape("p", [](PodShape& shape) { shape.affinity = {near("db", kHostnameLabel)}; });
  EXPECT_EQ(message_of(cluster),
            "0/2 nodes are available: 2 node(s) didn't match pod affinity rules. "
            "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.");
}

TEST(Refusal, NobodysLeavingLabelsANode) {
  TestCluster cluster;
  cluster.node("a", 0, {{"zone", "a"}}, {}, 1000).node("b", 0);
  cluster.waiting("p", {.milli_cpu = 2000}, kHigh).shape("p", [](PodShape& shape) {
    shape.spread = {{.pods = {}, .topology_key = "zone"}};
  });
  EXPECT_EQ(message_of(cluster),
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match pod topology spread constraints "
            "(missing required label). preemption: 0/2 nodes are available: 1 No preemption victims found for incoming "
            "pod, 1 Preemption is not helpful for scheduling.");
}

TEST(Refusal, SaysWhatWouldStillBeInTheWayWithoutLowerPriorities) {
  TestCluster cluster;
  cluster.node("a", 0, {}, {}, 4000).node("b", 0, {}, {}, 4000);
  cluster.running("low", "a", {.milli_cpu = 1000}, kLow).running("equal", "b", {.milli_cpu = 1000}, kHigh);
  cluster.waiting("p", {.milli_cpu = 5000}, kHigh);
  EXPECT_EQ(message_of(cluster),
            "0/2 nodes are available: 2 Insufficient cpu. preemption: 0/2 nodes are available: 1 Insufficient cpu, "
            "1 No preemption victims found for incoming pod.");
}

// Room that is promised is in the way of those who cannot take it over, as a nominated pod is.
TEST(Refusal, SaysThatPromisedRoomWouldStillBeInTheWay) {
  TestCluster cluster;
  cluster.node("a", 0, {}, {}, 1000);
  cluster.running("low", "a", {.milli_cpu = 1000}, kLow).waiting("high", {.milli_cpu = 1000}, kHigh);
  cluster.pod("low").is_terminating = true;
  cluster.gang("high").ticket = {.places = {{cluster.pod_id("high"), cluster.node_id("a")}},
                                 .victims = {cluster.pod_id("low")}};
  cluster.waiting("mid", {.milli_cpu = 1000}, kLow + 1);
  const Plan plan = cluster.plan();
  ASSERT_EQ(plan.verdicts.size(), 2u) << "high waits for low to go";
  EXPECT_EQ(plan.verdicts.back().message,
            "0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes are available: 1 Insufficient cpu.");
}

TEST(Refusal, SaysThatCompanyElsewhereWouldStillBeInTheWay) {
  TestCluster cluster;
  cluster.node("a", 0, {{"zone", "a"}}).node("b", 0, {{"zone", "a"}});
  for (const char* name : {"x", "y"}) {
    cluster.running(name, name[0] == 'x' ? "a" : "b", {}, kLow);
    cluster.pod(name).labels = {{"app", "noisy"}};
  }
  cluster.waiting("p", {}, kHigh).shape("p", [](PodShape& shape) { shape.anti_affinity = {near("noisy", "zone")}; });
  EXPECT_EQ(message_of(cluster),
            "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules. "
            "preemption: 0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.");
}

}  // namespace
}  // namespace gangway::planning
