#include "planning/schedule/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/test_snapshot.h"

namespace gangway::planning {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kNow;
using testing::TestCluster;

constexpr std::int64_t kLow = 100;
constexpr std::int64_t kHigh = 1000;

TEST(Schedule, PacksDevicesIntoTheFullestNodeThatHasRoom) {
  TestCluster cluster;
  cluster.node("a", 8).node("b", 8).node("c", 8);
  cluster.running("x", "b", {.gpus = 5}).running("y", "c", {.gpus = 7});
  cluster.waiting("p", {.gpus = 2});
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b"));
}

TEST(Schedule, SpreadsWhatNeedsNoDevices) {
  TestCluster cluster;
  cluster.node("a", 0).node("b", 0);
  cluster.running("x", "a", {.milli_cpu = 4000});
  cluster.waiting("p", {}).waiting("q", {}, 0, 50);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b", "q: q@b"));
}

TEST(Schedule, LeavesNodesWithDevicesToThoseWhoNeedThem) {
  TestCluster cluster;
  cluster.node("a", 8).node("z", 0);
  cluster.waiting("p", {});
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@z"));
}

TEST(Schedule, OrdersByPriorityThenByWaitingTime) {
  TestCluster cluster;
  cluster.node("a", 1);
  cluster.waiting("young", {.gpus = 1}, kLow, 10).waiting("old", {.gpus = 1}, kLow, 100);
  EXPECT_THAT(cluster.tickets(), ElementsAre("old: old@a"));
  cluster.waiting("urgent", {.gpus = 1}, kHigh, 1);
  EXPECT_THAT(cluster.tickets(), ElementsAre("urgent: urgent@a"));
  EXPECT_THAT(cluster.refused(), ElementsAre("old", "young"));
}

TEST(Schedule, AGangIsGrantedWholeOrNotAtAll) {
  TestCluster cluster;
  cluster.nodes("n", 2, 4);
  cluster.waiting_gang("first", 2, {.gpus = 4}, 0, 0, 100).waiting_gang("second", 2, {.gpus = 4}, 0, 0, 50);
  EXPECT_THAT(cluster.tickets(), ElementsAre("first: first-0@n0 first-1@n1"));
  EXPECT_THAT(cluster.refused(), ElementsAre("second"));
}

TEST(Schedule, AGangStaysOnOneNodeWhereItFits) {
  TestCluster cluster;
  cluster.node("a", 8).node("b", 4).node("c", 8);
  cluster.running("x", "a", {.gpus = 6});
  cluster.waiting_gang("g", 4, {.gpus = 1});
  EXPECT_THAT(cluster.tickets(), ElementsAre("g: g-0@b g-1@b g-2@b g-3@b"));
}

TEST(Schedule, AGangStaysInOneRack) {
  TestCluster cluster;
  const auto rack = [](const char* name) { return Labels{{"topology.kubernetes.io/rack", name}}; };
  cluster.node("a", 4, rack("r1")).node("b", 4, rack("r2")).node("c", 4, rack("r2")).node("d", 4, rack("r3"));
  cluster.waiting_gang("g", 2, {.gpus = 4});
  EXPECT_THAT(cluster.tickets(), ElementsAre("g: g-0@b g-1@c"));
}

TEST(Schedule, RoomIsHeldForMembersThatComeLater) {
  TestCluster cluster;
  cluster.node("a", 1, {}, {}, 4000);
  cluster.waiting_gang("g", 1, {.gpus = 1, .milli_cpu = 2000}, 0, 0, 100);
  cluster.gang("g").is_plain = false;
  cluster.gang("g").late = {{cluster.shape_of({.milli_cpu = 1500}), {}, 1}};
  cluster.waiting("p", {.milli_cpu = 1000}, 0, 10);
  EXPECT_THAT(cluster.tickets(), ElementsAre("g: g-0@a late0@a"));
  EXPECT_THAT(cluster.refused(), ElementsAre("p"));
}

// Of the gang g one runs on a, "more" waits, and one will come later. So many it cannot do without.
Gang& gang_on_its_way(TestCluster& cluster, std::int64_t minimum) {
  cluster.node("a", 1).node("b", 1).node("c", 0);
  cluster.running("g", "a", {.gpus = 1}).waiting("more", {.gpus = 1});
  cluster.gang("more") = {};
  cluster.pod("more").gang = cluster.gang_id("g");
  Gang& gang = cluster.gang("g");
  gang.members.push_back(cluster.pod_id("more"));
  gang.min_members = minimum;
  gang.size = 2;
  gang.late = {{cluster.shape_of({.milli_cpu = 1500}), {}, 1}};
  return gang;
}

TEST(Schedule, RoomForLateMembersThatIsLostWithATicketIsHeldAgain) {
  TestCluster cluster;
  Gang& gang = gang_on_its_way(cluster, 2);
  gang.ticket = OpenTicket{.places = {{cluster.pod_id("more"), cluster.node_id("b")}},
                           .holds = {{gang.late.front().shape, {}, kNone}}};
  EXPECT_THAT(cluster.tickets(), ElementsAre("g: more@b late0@b"));
}

// A launcher may be made only when all workers are there.
TEST(Schedule, AGangGrowsWhileRoomIsHeldForThoseWhoComeLater) {
  TestCluster cluster;
  Gang& gang = gang_on_its_way(cluster, 1);
  gang.ticket = OpenTicket{.holds = {{gang.late.front().shape, {}, cluster.node_id("c")}}};
  EXPECT_THAT(cluster.tickets(), ElementsAre("g: more@b; grows"));
}

TEST(Schedule, AnElasticGangStartsAtItsMinimumAndGrowsIntoWhatIsLeft) {
  TestCluster cluster;
  cluster.nodes("n", 3, 1);
  cluster.waiting_gang("e", 4, {.gpus = 1}, 0, 1, 100).waiting("p", {.gpus = 1}, 0, 10);
  EXPECT_THAT(cluster.tickets(), ElementsAre("e: e-0@n0 e-1@n2", "p: p@n1"))
      << "the minimum first, then the pod behind it, and only then more members";
}

TEST(Schedule, MembersAboveTheMinimumSayThatTheyPreemptNobody) {
  TestCluster cluster;
  cluster.nodes("n", 2, 1);
  cluster.running("low", "n1", {.gpus = 1}, kLow);
  cluster.waiting_gang("e", 2, {.gpus = 1}, kHigh, 1);
  const Plan plan = cluster.plan();
  EXPECT_THAT(cluster.tickets(plan), ElementsAre("e: e-0@n0"));
  EXPECT_EQ(plan.verdicts.front().message,
            "0/2 nodes are available: 2 Insufficient nvidia.com/gpu. preemption: not eligible: members above a group's "
            "minimum preempt nobody.");
}

TEST(Schedule, NobodyGrowsIntoRoomThatItTookOver) {
  TestCluster cluster;
  cluster.node("a", 2);
  cluster.waiting("mid", {.gpus = 2}, 500).waiting_gang("e", 2, {.gpus = 1}, kHigh, 1);
  cluster.pod("e-1").priority = kLow;
  cluster.gang("mid").ticket = OpenTicket{.places = {{cluster.pod_id("mid"), cluster.node_id("a")}}};
  EXPECT_THAT(cluster.tickets(), ElementsAre("e: e-0@a; withdraws mid"));
}

TEST(Schedule, PreemptsTheLowestPriorityFirst) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 1);
  cluster.running("mid", "a", {.gpus = 1}, 500).running("low", "b", {.gpus = 1}, kLow);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; evicts low(fail: low)"));
}

TEST(Schedule, NobodyIsPreemptedForAnEqual) {
  TestCluster cluster;
  cluster.node("a", 1);
  cluster.running("r", "a", {.gpus = 1}, kHigh);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), IsEmpty());
}

TEST(Schedule, AGangIsWorthItsHighestMemberAlsoToThoseWhoWouldEvictIt) {
  TestCluster cluster;
  cluster.nodes("n", 2, 1);
  cluster.running_gang("g", {"n0", "n1"}, {.gpus = 1}, kLow).waiting("more", {.gpus = 1}, kHigh);
  cluster.gang("more") = {};
  cluster.pod("more").gang = cluster.gang_id("g");
  cluster.gang("g").members.push_back(cluster.pod_id("more"));
  cluster.gang("g").size = 3;
  cluster.waiting("p", {.gpus = 1}, 500);
  EXPECT_THAT(cluster.tickets(), IsEmpty()) << "it would come before p again, and then be evicted again";
}

TEST(Schedule, WhoNeverPreemptsWaits) {
  TestCluster cluster;
  cluster.node("a", 1);
  cluster.running("r", "a", {.gpus = 1}, kLow);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  cluster.pod("p").never_preempts = true;
  EXPECT_THAT(cluster.tickets(), IsEmpty());
}

TEST(Schedule, ShrinksAnElasticGangBeforeItStopsAnybody) {
  TestCluster cluster;
  cluster.nodes("n", 3, 1);
  cluster.running_gang("elastic", {"n0", "n1"}, {.gpus = 1}, 500, 1).running("low", "n2", {.gpus = 1}, kLow);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@n1; evicts elastic(shrink: elastic-1)"));
}

TEST(Schedule, TheChiefOfAnElasticGangIsNeverShrunkAway) {
  TestCluster cluster;
  cluster.nodes("n", 2, 1);
  cluster.running_gang("elastic", {"n0", "n1"}, {.gpus = 1}, kLow, 1);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@n1; evicts elastic(shrink: elastic-1)"));
}

TEST(Schedule, ALargeGangIsNotTouchedForASmallPodWhenACheaperVictimExists) {
  TestCluster cluster;
  cluster.nodes("n", 3, 4).node("z", 1);
  cluster.running_gang("large", {"n0", "n1", "n2"}, {.gpus = 4}, kLow).running("small", "z", {.gpus = 1}, kLow);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@z; evicts small(fail: small)"));
}

TEST(Schedule, TheLeastLostWorkPays) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 1);
  cluster.running("long", "a", {.gpus = 1}, kLow, 7200).running("short", "b", {.gpus = 1}, kLow, 3600);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; evicts short(fail: short)"));
  cluster.gang("long").last_checkpoint = kNow - std::chrono::seconds(60);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@a; evicts long(fail: long)"));
  EXPECT_EQ(cluster.plan().tickets.front().lost_gpu_seconds, 60);
}

TEST(Schedule, AGangPreemptsAllThatItNeedsOrNobody) {
  TestCluster cluster;
  cluster.nodes("n", 2, 2);
  cluster.running("a", "n0", {.gpus = 1}, kLow).running("b", "n1", {.gpus = 2}, kLow);
  cluster.waiting_gang("g", 2, {.gpus = 2}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("g: g-0@n0 g-1@n1; evicts a(fail: a); evicts b(fail: b)"));
  cluster.pod("b").priority = kHigh;
  EXPECT_THAT(cluster.tickets(), IsEmpty()) << "nobody goes for a gang that does not fit";
}

TEST(Schedule, OnlyTheMembersInTheWayFail) {
  TestCluster cluster;
  cluster.nodes("n", 2, 1);
  cluster.running_gang("v", {"n0", "n1"}, {.gpus = 1}, kLow);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@n1; evicts v(fail: v-1)")) << "the chief goes last";
  cluster.gang("v").on_preempt = OnPreempt::kRequeue;
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@n1; evicts v(requeue: v-0 v-1)"));
}

TEST(Schedule, WhoIsRequeuedDoesNotGiveUpTwiceWhatItWasShrunkBy) {
  TestCluster cluster;
  cluster.node("a", 1, {}, {}, 2000).node("b", 2, {}, {}, 2000);
  cluster.running_gang("e", {"a", "b"}, {.gpus = 1}, kLow, 1);
  cluster.gang("e").on_preempt = OnPreempt::kRequeue;
  cluster.waiting("p", {.gpus = 2}, kHigh).waiting("q", {.gpus = 1, .milli_cpu = 2000}, 500);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; evicts e(shrink: e-1)", "q: q@a; evicts e(requeue: e-0)"));
}

TEST(Schedule, MinimumRuntimeProtectsButNotFromTheTop) {
  TestCluster cluster;
  cluster.node("a", 1);
  cluster.running("r", "a", {.gpus = 1}, kLow, 60);
  cluster.gang("r").min_runtime = std::chrono::minutes(5);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), IsEmpty());
  EXPECT_THAT(cluster.plan().verdicts.front().protections,
              ElementsAre("default/r is protected for the first 5m of its run"));
  cluster.policies().top_priority = kHigh;
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@a; evicts r(fail: r)"));
}

TEST(Schedule, WhoWasPreemptedOftenIsLeftAlone) {
  TestCluster cluster;
  cluster.node("a", 1);
  cluster.running("r", "a", {.gpus = 1}, kLow);
  cluster.gang("r").max_preemptions = 2;
  cluster.gang("r").preempted = {kNow - std::chrono::minutes(50), kNow - std::chrono::minutes(70)};
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@a; evicts r(fail: r)"));
  cluster.gang("r").preempted.push_back(kNow - std::chrono::minutes(10));
  EXPECT_THAT(cluster.tickets(), IsEmpty());
}

TEST(Schedule, RespectsBudgetsWherePossible) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 1);
  cluster.running("guarded", "a", {.gpus = 1}, kLow, 10).running("other", "b", {.gpus = 1}, 500, 7200);
  cluster.pod("guarded").labels = {{"app", "guarded"}};
  cluster.snapshot().budgets = {{"default", "pdb", {{{"app", Requirement::Op::kIn, {"guarded"}}}}, 0}};
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; evicts other(fail: other)"));
}

TEST(Schedule, RoomThatVictimsLeaveIsHeldForTheirTicket) {
  TestCluster cluster;
  cluster.node("a", 2);
  cluster.running("v", "a", {.gpus = 2}, kLow);
  cluster.pod("v").is_terminating = true;
  cluster.waiting("p", {.gpus = 1}, kHigh).waiting("q", {.gpus = 1}, kHigh);
  cluster.gang("p").ticket =
      OpenTicket{.places = {{cluster.pod_id("p"), cluster.node_id("a")}}, .victims = {cluster.pod_id("v")}};
  const Plan plan = cluster.plan();
  EXPECT_THAT(cluster.tickets(plan), IsEmpty()) << "the victim's other GPU is not free before it has gone";
  EXPECT_THAT(cluster.refused(), ElementsAre("p", "q"));
}

TEST(Schedule, PodsThatEndAlreadyAreWaitedForBeforeOthersAreEvicted) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 1);
  cluster.running("ending", "b", {.gpus = 1}, kLow).running("low", "a", {.gpus = 1}, kLow);
  cluster.pod("ending").is_terminating = true;
  cluster.waiting("p", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; waits for ending"));
}

TEST(Schedule, PodsThatEndAreWaitedForEvenWhereNobodyElseRuns) {
  TestCluster cluster;
  cluster.node("a", 1);
  cluster.running("ending", "a", {.gpus = 1}, kHigh);
  cluster.pod("ending").is_terminating = true;
  cluster.waiting("p", {.gpus = 1}, kLow);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@a; waits for ending"));
}

TEST(Schedule, WhoIsWaitedForDoesNotDependOnTheOrderOfThePods) {
  for (const auto& names : {std::vector{"b", "z"}, std::vector{"z", "b"}}) {
    TestCluster cluster;
    cluster.node("a", 2);
    for (const char* name : names) cluster.running(name, "a", {.gpus = 1}, kLow).pod(name).is_terminating = true;
    cluster.waiting("p", {.gpus = 1}, kHigh);
    EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@a; waits for z"));
  }
}

TEST(Schedule, ATicketOfLowerPriorityIsTakenOver) {
  TestCluster cluster;
  cluster.node("a", 1);
  cluster.running("v", "a", {.gpus = 1}, kLow);
  cluster.pod("v").is_terminating = true;
  cluster.waiting("mid", {.gpus = 1}, 500).waiting("p", {.gpus = 1}, kHigh);
  cluster.gang("mid").ticket =
      OpenTicket{.places = {{cluster.pod_id("mid"), cluster.node_id("a")}}, .victims = {cluster.pod_id("v")}};
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@a; waits for v; withdraws mid"));
}

TEST(Schedule, WhoseTicketIsTakenOverIsServedAgain) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 2);
  cluster.waiting("mid", {.gpus = 1}, 500).waiting("p", {.gpus = 2}, kHigh);
  cluster.gang("mid").ticket = OpenTicket{.places = {{cluster.pod_id("mid"), cluster.node_id("b")}}};
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; withdraws mid", "mid: mid@a"));
  cluster.running("r", "a", {.gpus = 1}, kHigh);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; withdraws mid"));
  EXPECT_THAT(cluster.refused(), ElementsAre("mid"));
}

TEST(Schedule, AGrantThatIsHalfDoneIsNotTakenOver) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 1);
  cluster.running("g", "a", {.gpus = 1}, kLow).waiting("more", {.gpus = 1}, kLow).waiting("p", {.gpus = 1}, kHigh);
  cluster.gang("more") = {};
  cluster.pod("more").gang = cluster.gang_id("g");
  cluster.gang("g").members.push_back(cluster.pod_id("more"));
  cluster.gang("g").min_members = cluster.gang("g").size = 2;
  cluster.gang("g").min_runtime = std::chrono::hours(2);
  cluster.gang("g").ticket = OpenTicket{.places = {{cluster.pod_id("more"), cluster.node_id("b")}}};
  EXPECT_THAT(cluster.tickets(), IsEmpty());
}

TEST(Schedule, WhoIsEvictedNoLongerCountsForItsGang) {
  TestCluster cluster;
  cluster.node("a", 2).node("b", 1);
  cluster.running("g", "a", {.gpus = 2}, kLow).waiting("more", {.gpus = 1}, kLow).waiting("p", {.gpus = 2}, kHigh);
  cluster.gang("more") = {};
  cluster.pod("more").gang = cluster.gang_id("g");
  cluster.gang("g").members.push_back(cluster.pod_id("more"));
  cluster.gang("g").min_members = cluster.gang("g").size = 2;
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@a; evicts g(fail: g)")) << "one member alone is not a gang";
  EXPECT_THAT(cluster.refused(), ElementsAre("g"));
}

TEST(Schedule, ATicketInTheWayOfWhatAGangSaysOfOthersIsTakenOver) {
  TestCluster cluster;
  cluster.node("a", 0).node("b", 4);
  cluster.waiting("mid", {}, 500).waiting_gang("g", 2, {.gpus = 1}, kHigh);
  cluster.pod("mid").labels = {{"app", "mid"}};
  cluster.gang("mid").ticket = OpenTicket{.places = {{cluster.pod_id("mid"), cluster.node_id("b")}}};
  for (const char* name : {"g-0", "g-1"})
    cluster.shape(name, [](PodShape& shape) {
      shape.anti_affinity = {{.pods = {{{"app", Requirement::Op::kIn, {"mid"}}}},
                              .namespaces = {"default"},
                              .topology_key = kHostnameLabel}};
    });
  EXPECT_THAT(cluster.tickets(), ElementsAre("g: g-0@b g-1@b; withdraws mid", "mid: mid@a"));
}

// Or a gang of lower priority, for which the whole cluster is looked at, would count on it first.
TEST(Schedule, AnEndThatHelpsFromAnotherNodeIsWaitedFor) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 4);
  for (const char* node : {"a", "b"}) {
    const NodeTraits zone{{{"topology.kubernetes.io/zone", "z"}}, {}, std::string_view(node) == "a"};
    cluster.node_of(node).traits = std::make_shared<const NodeTraits>(zone);
  }
  cluster.running("ending", "a", {.gpus = 1}, kLow).waiting("p", {.gpus = 1}, kHigh);
  cluster.waiting_gang("g", 2, {.gpus = 1}, kLow);
  cluster.pod("ending").is_terminating = true;
  for (const char* name : {"p", "g-0", "g-1"}) cluster.pod(name).labels = {{"app", "p"}};
  cluster.shape("ending", [](PodShape& shape) {
    shape.anti_affinity = {{.pods = {{{"app", Requirement::Op::kIn, {"p"}}}},
                            .namespaces = {"default"},
                            .topology_key = "topology.kubernetes.io/zone"}};
  });
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; waits for ending"));
}

TEST(Schedule, NobodyIsEvictedWhomTheNewcomerWantsToBeNear) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 1);
  cluster.running_gang("v", {"a", "b"}, {.gpus = 1}, kLow).waiting("p", {.gpus = 1}, kHigh);
  cluster.pod("v-0").labels = cluster.pod("v-1").labels = {{"app", "v"}};
  const auto near_v = [](PodShape& shape) {
    shape.affinity = {{.pods = {{{"app", Requirement::Op::kIn, {"v"}}}},
                       .namespaces = {"default"},
                       .topology_key = "topology.kubernetes.io/zone"}};
  };
  NodeTraits zone{{{"topology.kubernetes.io/zone", "z"}}, {}, false};
  cluster.node_of("a").traits = cluster.node_of("b").traits = std::make_shared<const NodeTraits>(zone);
  cluster.shape("p", near_v);
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; evicts v(fail: v-1)"));
  cluster.gang("v").on_preempt = OnPreempt::kRequeue;
  EXPECT_THAT(cluster.tickets(), IsEmpty()) << "all of v would go";
}

TEST(Schedule, ATicketWhoseNodeIsCordonedIsTakenBack) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 1);
  cluster.waiting("p", {.gpus = 1}, kHigh);
  cluster.gang("p").ticket = OpenTicket{.places = {{cluster.pod_id("p"), cluster.node_id("a")}}};
  EXPECT_THAT(cluster.tickets(), IsEmpty());
  NodeTraits cordoned = *cluster.node_of("a").traits;
  cordoned.is_unschedulable = true;
  cluster.node_of("a").traits = std::make_shared<const NodeTraits>(cordoned);
  const Plan plan = cluster.plan();
  EXPECT_THAT(plan.taken_back, ElementsAre(cluster.gang_id("p")));
  EXPECT_THAT(cluster.tickets(plan), ElementsAre("p: p@b"));
}

TEST(Schedule, ATicketWhoseNodeHasGoneIsTakenBack) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 1);
  cluster.running("r", "a", {}).waiting("p", {.gpus = 1}, kHigh).waiting("q", {.gpus = 1}, kLow);
  for (const char* name : {"r", "p"})
    cluster.shape(name, [](PodShape& shape) {
      shape.anti_affinity = {{.pods = {{{"app", Requirement::Op::kIn, {"x"}}}}, .topology_key = kHostnameLabel}};
    });
  cluster.gang("p").ticket = OpenTicket{.places = {{cluster.pod_id("p"), cluster.node_id("a")}}};
  cluster.node_of("a") = {};
  EXPECT_THAT(cluster.plan().taken_back, ElementsAre(cluster.gang_id("p")));
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b"));
  cluster.gang("p").ticket->places.front().node = kNone;
  EXPECT_THAT(cluster.plan().taken_back, ElementsAre(cluster.gang_id("p")));
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b"));
}

TEST(Schedule, VictimsOfATicketThatIsTakenBackAreWaitedForByOthers) {
  TestCluster cluster;
  cluster.node("a", 1).node("b", 1);
  cluster.running("v", "b", {.gpus = 1}, kLow);
  cluster.pod("v").is_terminating = true;
  cluster.waiting_gang("g", 2, {.gpus = 1}, kHigh).waiting("p", {.gpus = 1}, kLow);
  cluster.gang("g").ticket =
      OpenTicket{.places = {{cluster.pod_id("g-0"), kNone}, {cluster.pod_id("g-1"), cluster.node_id("b")}},
                 .victims = {cluster.pod_id("v")}};
  EXPECT_THAT(cluster.tickets(), ElementsAre("g: g-0@a g-1@b; waits for v"));
}

TEST(Schedule, ABlockedGangIsNotStarvedBySmallPods) {
  TestCluster cluster;
  cluster.nodes("n", 2, 2);
  cluster.running("r0", "n0", {.gpus = 1}).running("r1", "n1", {.gpus = 1});
  cluster.waiting_gang("g", 2, {.gpus = 2}, 0, 0, 3600).waiting("small", {.gpus = 1}, 0, 10);
  EXPECT_THAT(cluster.tickets(), IsEmpty()) << "what is free on its nodes is kept";
  ASSERT_TRUE(cluster.plan().reservation);
  EXPECT_EQ(cluster.plan().reservation->starts, std::nullopt);
}

TEST(Schedule, WhatAVictimLeavesOnKeptNodesIsKeptToo) {
  TestCluster cluster;
  cluster.node("a", 2).node("b", 1);
  cluster.running("low", "a", {.gpus = 2}, kLow).running("other", "b", {.gpus = 1}, kLow, 7200);
  cluster.waiting("first", {.gpus = 2}, kHigh).waiting("p", {.gpus = 1}, 500);
  cluster.pod("first").never_preempts = true;
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b; evicts other(fail: other)"));
  EXPECT_EQ(cluster.plan().reservation->gang, cluster.gang_id("first"));
}

TEST(Schedule, RoomThatIsPromisedToATicketIsNotKeptForAnother) {
  TestCluster cluster;
  cluster.node("a", 2).node("b", 2);
  cluster.running("v", "a", {.gpus = 2}, kLow).running("r", "b", {.gpus = 2}, kHigh, 60);
  cluster.pod("v").is_terminating = true;
  cluster.waiting("p", {.gpus = 2}, kHigh).waiting("next", {.gpus = 2}, 500);
  cluster.gang("p").ticket =
      OpenTicket{.places = {{cluster.pod_id("p"), cluster.node_id("a")}}, .victims = {cluster.pod_id("v")}};
  const Plan plan = cluster.plan();
  ASSERT_TRUE(plan.reservation);
  EXPECT_EQ(plan.reservation->places.front().node, cluster.node_id("b"));
}

TEST(Schedule, SmallPodsUseOtherNodesOrEndInTime) {
  TestCluster cluster;
  cluster.nodes("n", 2, 2).node("other", 1);
  cluster.running("r0", "n0", {.gpus = 1}).running("r1", "n1", {.gpus = 1});
  cluster.pod("r0").ends = kNow + std::chrono::minutes(30);
  cluster.pod("r1").ends = kNow + std::chrono::minutes(60);
  cluster.waiting_gang("g", 2, {.gpus = 2}, 0, 0, 3600);
  cluster.waiting("a", {.gpus = 1}, 0, 30).waiting("b", {.gpus = 1}, 0, 20).waiting("short", {.gpus = 1}, 0, 10);
  cluster.pod("short").ends = kNow + std::chrono::minutes(59);
  EXPECT_THAT(cluster.tickets(), ElementsAre("a: a@other", "short: short@n0"));
  EXPECT_EQ(cluster.plan().reservation->starts, kNow + std::chrono::minutes(60));
}

TEST(Schedule, AGangThatAnEmptyClusterCouldNotHostHoldsNothing) {
  TestCluster cluster;
  cluster.nodes("n", 2, 2);
  cluster.waiting_gang("g", 3, {.gpus = 2}, kHigh, 0, 3600).waiting("small", {.gpus = 1});
  EXPECT_THAT(cluster.tickets(), ElementsAre("small: small@n0"));
  EXPECT_EQ(cluster.plan().reservation, std::nullopt);
}

TEST(Schedule, AfterACutNothingIsGrantedUntilItIsMadeGood) {
  TestCluster cluster;
  cluster.node("a", 4);
  cluster.running("r", "a", {.gpus = 4});
  cluster.node_of("a").allocatable[cluster.gpu()] = 2;
  cluster.waiting("p", {.gpus = 1});
  EXPECT_THAT(cluster.tickets(), IsEmpty());
}

TEST(Schedule, ATicketThatMakesACutGoodIsKept) {
  TestCluster cluster;
  cluster.node("a", 4);
  cluster.running("v", "a", {.gpus = 4}, kLow);
  cluster.node_of("a").allocatable[cluster.gpu()] = 2;
  cluster.pod("v").is_terminating = true;
  cluster.waiting("p", {.gpus = 1}, kHigh);
  cluster.gang("p").ticket =
      OpenTicket{.places = {{cluster.pod_id("p"), cluster.node_id("a")}}, .victims = {cluster.pod_id("v")}};
  EXPECT_THAT(cluster.plan().taken_back, IsEmpty()) << "two devices are left when its victim has gone";
  cluster.node_of("a").allocatable[cluster.gpu()] = 0;
  EXPECT_THAT(cluster.plan().taken_back, ElementsAre(cluster.gang_id("p")));
}

// A scheduler that dies between the grant that takes another's victim over and the end of that other's leaves both.
TEST(Schedule, OfTwoTicketsThatCountOnOneVictimTheLesserIsTakenBack) {
  TestCluster cluster;
  cluster.node("a", 1);
  cluster.running("v", "a", {.gpus = 1}, kLow);
  cluster.pod("v").is_terminating = true;
  cluster.waiting("p", {.gpus = 1}, kHigh);
  cluster.waiting("q", {.gpus = 1}, kHigh + 1);
  for (const char* name : {"p", "q"})
    cluster.gang(name).ticket =
        OpenTicket{.places = {{cluster.pod_id(name), cluster.node_id("a")}}, .victims = {cluster.pod_id("v")}};
  EXPECT_THAT(cluster.plan().taken_back, ElementsAre(cluster.gang_id("p")));
  EXPECT_THAT(cluster.tickets(), IsEmpty()) << "its room is still the other's";
}

AffinityTerm term_of(const char* app, const char* key) {
  return {.pods = {{{"app", Requirement::Op::kIn, {app}}}}, .namespaces = {"default"}, .topology_key = key};
}

TEST(Schedule, CompanyIsWhoAllTermsOfAnAffinityAskFor) {
  TestCluster cluster;
  cluster.node("a", 1, {{"rack", "r"}, {"zone", "z"}});
  cluster.running("r", "a", {}).waiting("p", {});
  cluster.pod("r").labels = {{"app", "r"}};
  cluster.pod("p").labels = {{"app", "p"}};
  cluster.shape("p", [](PodShape& shape) { shape.affinity = {term_of("r", "rack"), term_of("p", "zone")}; });
  EXPECT_THAT(cluster.tickets(), IsEmpty()) << "nobody is both, and neither is it";
  cluster.shape("p", [](PodShape& shape) { shape.affinity = {term_of("r", "rack"), term_of("r", "zone")}; });
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@a"));
}

TEST(Schedule, SpreadingCountsOnlyOnNodesThatThePodCouldUse) {
  TestCluster cluster;
  cluster.node("a", 0, {{"zone", "y"}}).node("b", 1, {{"disk", "ssd"}, {"zone", "y"}});
  cluster.node("c", 1, {{"disk", "ssd"}, {"zone", "z"}}).node("d", 1, {{"disk", "ssd"}});
  cluster.running("r", "a", {}).running("full", "c", {.gpus = 1}).waiting("p", {.gpus = 1});
  cluster.pod("r").labels = cluster.pod("p").labels = {{"app", "p"}};
  cluster.shape("p", [](PodShape& shape) {
    shape.required = {{{{.labels = {{"disk", Requirement::Op::kIn, {"ssd"}}}}}}};
    shape.spread = {{.pods = term_of("p", "").pods, .topology_key = "zone"}};
  });
  EXPECT_THAT(cluster.tickets(), ElementsAre("p: p@b")) << "the pod on a is none of its business";
  cluster.shape("p", [](PodShape& shape) { shape.spread.front().honors_node_affinity = false; });
  EXPECT_THAT(cluster.tickets(), IsEmpty());
}

TEST(Schedule, AnIncompleteGangSaysHowManyAreMissing) {
  TestCluster cluster;
  cluster.nodes("n", 3, 1);
  cluster.waiting_gang("g", 2, {.gpus = 1});
  cluster.gang("g").min_members = 3;
  const Plan plan = cluster.plan();
  EXPECT_THAT(plan.tickets, IsEmpty());
  EXPECT_EQ(plan.verdicts.front().message, "the pod group has 2 of the 3 pods that it needs to start");
}

TEST(Schedule, SaysWhyInTheWordsOfKubeScheduler) {
  TestCluster cluster;
  cluster.nodes("n", 3, 1).node("m0", 0, {}, {{"node-role.kubernetes.io/master"}});
  cluster.running("a", "n0", {.gpus = 1}, kHigh).running("b", "n1", {.gpus = 1}, kHigh);
  cluster.running("c", "n2", {.gpus = 1}, kHigh);
  cluster.waiting("p", {.gpus = 1}, kLow);
  EXPECT_EQ(cluster.plan().verdicts.front().message,
            "0/4 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/master: }, "
            "3 Insufficient nvidia.com/gpu. preemption: 0/4 nodes are available: "
            "1 Preemption is not helpful for scheduling, 3 No preemption victims found for incoming pod.");
}

}  // namespace
}  // namespace gangway::planning
