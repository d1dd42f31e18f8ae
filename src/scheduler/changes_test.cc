#include "scheduler/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/test_snapshot.h"
#include "scheduler/describe.h"

namespace gangway::scheduler {
namespace {

using namespace std::chrono_literals;
using planning::Labels;
using planning::NodeTraits;
using planning::PodShape;
using planning::Requirement;
using planning::Taint;
using planning::testing::kNow;
using planning::testing::TestCluster;
using ::testing::ElementsAre;

const std::vector<PriorityClass> kClasses{{"high", 100}, {"low", -5}, {"system-node-critical", 2'000'000'000}};

// What would let the gang run, in words; behind it whom it would preempt.
std::vector<std::string> changes(TestCluster& cluster, const std::string& gang,
                                 const std::vector<PriorityClass>& classes = kClasses) {
  const Asker asker{cluster.gang_id(gang), planning::kNone};
  std::vector<std::string> texts;
  for (const Change& change : find_changes(cluster.snapshot(), cluster.policies(), classes, asker)) {
    std::string text;
    for (const Step& step : change.steps)
      text += (text.empty() ? "" : ", and ") + text_of(cluster.snapshot(), asker, step);
    for (const std::string& victim : change.granted.preempts) text += "; preempts " + victim;
    texts.push_back(std::move(text));
  }
  return texts;
}

void cordon(TestCluster& cluster, const std::string& node) {
  NodeTraits traits = *cluster.node_of(node).traits;
  traits.is_unschedulable = true;
  cluster.node_of(node).traits = std::make_shared<const NodeTraits>(traits);
}

void select(TestCluster& cluster, const std::string& pod, const std::string& key, const std::string& value) {
  cluster.shape(
      pod, [&](PodShape& shape) { shape.required.push_back({{{.labels = {{key, Requirement::Op::kIn, {value}}}}}}); });
}

TEST(Changes, NothingIsProposedToWhoGetsItsPlaceAnyway) {
  TestCluster cluster;
  cluster.node("n0", 4).waiting("a", {4});
  EXPECT_THAT(changes(cluster, "a"), ElementsAre());
}

TEST(Changes, TheEndOfWhoHasTheRoomComesBeforeTakingIt) {
  TestCluster cluster;
  cluster.node("n0", 4).running("b", "n0", {4}).waiting("a", {4});
  EXPECT_THAT(changes(cluster, "a"), ElementsAre("delete or wait for default/b (4 GPUs)",
                                                 "use priority class high (100); preempts default/b"));
}

TEST(Changes, AClassIsAskedForWhereNoneThatExistsWillDo) {
  TestCluster cluster;
  cluster.node("n0", 4).running("b", "n0", {4}, 500).waiting("a", {4});
  EXPECT_THAT(changes(cluster, "a"),
              ElementsAre("delete or wait for default/b (4 GPUs)",
                          "use a priority class above 500 (none that exists will do: make one); preempts default/b"));
}

TEST(Changes, TheLargestRequestThatFitsIsNamed) {
  TestCluster cluster;
  cluster.node("n0", 8).node("n1", 2).running("b", "n0", {3}).waiting("a", {8});
  EXPECT_THAT(changes(cluster, "a"),
              ElementsAre("delete or wait for default/b (3 GPUs)", "lower requests nvidia.com/gpu from 8 to 5",
                          "use priority class high (100); preempts default/b"));
}

// To the planner the large one is cheaper: it has lost the least work.
TEST(Changes, OfThoseWhoseEndSufficesTheSmallestIsNamed) {
  TestCluster cluster;
  cluster.node("n0", 4).node("n1", 5).running("large", "n0", {4}, 0, 60);
  cluster.running("small", "n1", {2}, 0, 36000).running("middle", "n1", {3}, 0, 36000).waiting("a", {2});
  EXPECT_EQ(changes(cluster, "a", {}).front(), "delete or wait for default/small (2 GPUs)");
}

TEST(Changes, SeveralMustEndWhereOneIsNotEnough) {
  TestCluster cluster;
  cluster.node("n0", 4).running("b", "n0", {2}).running("c", "n0", {2}).waiting("a", {4});
  EXPECT_EQ(changes(cluster, "a", {}).front(), "delete or wait for default/b (2 GPUs) and default/c (2 GPUs)");
}

TEST(Changes, TheEndOfSomebodyWhoseRoomOthersWouldTakeIsNotNamedAlone) {
  TestCluster cluster;
  cluster.node("n0", 4).node("n1", 4).running("b", "n0", {4}).running("c", "n1", {4});
  cluster.waiting("first", {4}, 0, 600).waiting("a", {4}, 0, 60);
  EXPECT_EQ(changes(cluster, "a", {}).front(), "delete or wait for default/b (4 GPUs) and default/c (4 GPUs)");
}

// Far behind in line, to pass the others is less than to have all of them go.
TEST(Changes, ALongLineIsNotNamedOneByOne) {
  TestCluster cluster;
  cluster.nodes("n", 4, 4);
  for (int i = 0; i < 8; ++i) cluster.running(fmt::format("r{}", i), fmt::format("n{}", i / 2), {2});
  for (int i = 0; i < 20; ++i) cluster.waiting(fmt::format("w{}", i), {4}, 0, 1000 - i);
  cluster.waiting("a", {4}, 0, 60);
  EXPECT_THAT(changes(cluster, "a"),
              ElementsAre("use priority class high (100); preempts default/r0; preempts default/r1",
                          "delete or wait for default/r0 (2 GPUs) and default/r1 (2 GPUs) and the 20 that are before "
                          "it in line"));
}

TEST(Changes, ElasticGangsLoseOnlyWhatIsNeeded) {
  TestCluster cluster;
  cluster.node("n0", 4).running_gang("e", {"n0", "n0", "n0", "n0"}, {1}, 0, 1).waiting("a", {1});
  EXPECT_EQ(changes(cluster, "a", {}).front(), "delete or wait for e-3 of default/e (1 GPU)");
}

TEST(Changes, RulesThatKeepItOffFreeRoom) {
  TestCluster selector;
  selector.node("n0", 4, {{"zone", "a"}}).waiting("a", {4});
  select(selector, "a", "zone", "b");
  EXPECT_THAT(changes(selector, "a"), ElementsAre("remove nodeSelector zone=b"));

  TestCluster cordoned;
  cordoned.node("n0", 2).node("n1", 4).waiting("a", {4});
  cordon(cordoned, "n0");
  cordon(cordoned, "n1");
  EXPECT_THAT(changes(cordoned, "a"), ElementsAre("uncordon node n1"));

  TestCluster tainted;
  tainted.node("n0", 4, {}, {{"k", "v", Taint::Effect::kNoSchedule}}).waiting("a", {4});
  EXPECT_THAT(changes(tainted, "a"), ElementsAre("tolerate taint k=v:NoSchedule"));

  TestCluster broken;
  broken.node("n0", 4, {}, {{"node.kubernetes.io/not-ready", "", Taint::Effect::kNoExecute}}).waiting("a", {4});
  EXPECT_THAT(changes(broken, "a"), ElementsAre("bring back node n0 (not-ready)"));

  TestCluster ports;
  ports.node("n0", 4).running("b", "n0", {1}).waiting("a", {1});
  for (const char* pod : {"a", "b"}) ports.shape(pod, [](PodShape& shape) { shape.ports = {{"0.0.0.0", "TCP", 80}}; });
  EXPECT_THAT(changes(ports, "a", {}), ElementsAre("remove the host ports", "delete or wait for default/b (1 GPU)",
                                                   "use a priority class above 0 (none that exists will do: make one); "
                                                   "preempts default/b"));
}

TEST(Changes, SeveralRulesAtOnceAndNoneTooMany) {
  TestCluster cluster;
  cluster.node("n0", 4, {}, {{"k", "v", Taint::Effect::kNoSchedule}}).node("n1", 1).node("n2", 1).waiting("a", {4});
  for (const char* node : {"n0", "n1", "n2"}) cordon(cluster, node);
  EXPECT_THAT(changes(cluster, "a"), ElementsAre("uncordon node n0, and tolerate taint k=v:NoSchedule"));
}

TEST(Changes, ARuleAndSomebodysEnd) {
  TestCluster cluster;
  cluster.node("n0", 4, {{"zone", "a"}}).running("b", "n0", {4}).waiting("a", {4});
  select(cluster, "a", "zone", "b");
  EXPECT_EQ(changes(cluster, "a", {}).front(), "remove nodeSelector zone=b, and delete or wait for default/b (4 GPUs)");
}

TEST(Changes, MembersThatAreMissing) {
  TestCluster cluster;
  cluster.nodes("n", 3, 4).waiting_gang("g", 2, {4}, 0, 3);
  EXPECT_THAT(changes(cluster, "g"), ElementsAre("create 1 more member: the gang has 2 of 3 pods",
                                                 "lower minMember of the PodGroup from 3 to 2"));
}

TEST(Changes, AGangThatIsTooLarge) {
  TestCluster cluster;
  cluster.nodes("n", 2, 4).waiting_gang("g", 3, {4});
  EXPECT_THAT(changes(cluster, "g"),
              ElementsAre("lower requests nvidia.com/gpu from 4 to 2", "lower minMember of the PodGroup from 3 to 2"));
}

TEST(Changes, WhatNoNodeCouldEverGive) {
  TestCluster cluster;
  cluster.node("n0", 8).waiting("a", {16});
  EXPECT_THAT(changes(cluster, "a"), ElementsAre("lower requests nvidia.com/gpu from 16 to 8"));

  TestCluster unknown;
  unknown.node("n0", 8).waiting("a", {1});
  const auto fpga = unknown.snapshot().resources.id_of("example.com/fpga");
  unknown.shape("a", [&](PodShape& shape) { shape.request.emplace_back(fpga, 1); });
  EXPECT_THAT(changes(unknown, "a"), ElementsAre("remove the request for example.com/fpga: no node has any"));

  TestCluster small;
  small.node("n0", 4, {}, {}, 2'000).waiting("a", {.gpus = 8, .milli_cpu = 16'000});
  EXPECT_THAT(changes(small, "a"),
              ElementsAre("lower requests cpu from 16 to 2, and lower requests nvidia.com/gpu from 8 to 4"));
}

TEST(Changes, MoreMachinesWhenNothingElseWillDo) {
  TestCluster cluster;
  cluster.node("n0", 0).waiting("a", {1});
  cluster.snapshot().nodes.clear();
  EXPECT_THAT(changes(cluster, "a"), ElementsAre("add 1 node with 1 nvidia.com/gpu"));
}

TEST(Changes, WhoNeverPreemptsCouldBeLetTo) {
  TestCluster cluster;
  cluster.node("n0", 4).running("b", "n0", {4}).waiting("a", {4}, 50);
  cluster.pod("a").never_preempts = true;
  EXPECT_THAT(changes(cluster, "a"),
              ElementsAre("delete or wait for default/b (4 GPUs)",
                          "let it preempt others (preemptionPolicy: PreemptLowerPriority); preempts default/b"));
}

TEST(Changes, RoomThatIsKeptForAnother) {
  TestCluster cluster;
  cluster.node("n0", 4).running("b", "n0", {2}).waiting("big", {4}, 0, 600).waiting("a", {2}, 0, 60);
  cluster.pod("b").ends = kNow + 30min;
  EXPECT_THAT(changes(cluster, "a"),
              ElementsAre("say that it runs no longer than 29m (annotation gangway.dev/expected-duration)",
                          "delete or wait for default/big (4 GPUs), which is before it in line",
                          "use priority class high (100)"));
}

TEST(Changes, ProtectedJobsAreTakenOnlyByTheTopClass) {
  TestCluster cluster;
  cluster.node("n0", 4).running("young", "n0", {4}, 0, 60).waiting("a", {4}, 10);
  cluster.gang("young").min_runtime = 10min;
  cluster.policies().top_priority = 1000;
  EXPECT_THAT(changes(cluster, "a", {{"high", 100}, {"top", 1000}}),
              ElementsAre("delete or wait for default/young (4 GPUs)",
                          "use priority class top (1000); preempts default/young"));
}

}  // namespace
}  // namespace gangway::scheduler
