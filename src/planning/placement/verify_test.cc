#include "planning/placement/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "planning/test_snapshot.h"

namespace gangway::planning {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kNow;
using ::testing::StartsWith;
using testing::TestCluster;

constexpr std::int64_t kLow = 100;
constexpr std::int64_t kHigh = 1000;

// A cluster, and a plan that is written by hand.
class VerifyTest : public ::testing::Test {
 protected:
  Ticket ticket(const std::string& gang, const std::vector<std::pair<std::string, std::string>>& places) const {
    Ticket ticket{.gang = cluster_.gang_id(gang)};
    for (const auto& [pod, node] : places) ticket.places.push_back({cluster_.pod_id(pod), cluster_.node_id(node)});
    return ticket;
  }
  Eviction eviction(const std::string& gang, const std::vector<std::string>& pods,
                    Eviction::How how = Eviction::How::kFail) const {
    Eviction eviction{.gang = cluster_.gang_id(gang), .how = how};
    for (const std::string& pod : pods) eviction.pods.push_back(cluster_.pod_id(pod));
    return eviction;
  }
  OpenTicket open(const std::vector<std::pair<std::string, std::string>>& places,
                  const std::vector<std::string>& victims = {}) const {
    OpenTicket ticket;
    for (const auto& [pod, node] : places) ticket.places.push_back({cluster_.pod_id(pod), cluster_.node_id(node)});
    for (const std::string& pod : victims) ticket.victims.push_back(cluster_.pod_id(pod));
    return ticket;
  }
  // One more member, which waits.
  void join(const std::string& gang, const std::string& pod, testing::Size size, std::int64_t priority) {
    cluster_.waiting(pod, size, priority);
    cluster_.gang(pod) = {};
    cluster_.pod(pod).gang = cluster_.gang_id(gang);
    cluster_.gang(gang).members.push_back(cluster_.pod_id(pod));
  }
  Verdict verdict(const std::string& gang) const {
    return {.gang = cluster_.gang_id(gang), .message = "0/1 nodes are available"};
  }
  std::vector<std::string> problems(const Plan& plan) { return verify(cluster_.snapshot(), cluster_.policies(), plan); }
  std::vector<std::string> problems(std::vector<Ticket> tickets) {
    return problems(Plan{.tickets = std::move(tickets)});
  }
  void expect_kept() { EXPECT_THAT(problems(cluster_.plan()), IsEmpty()) << "the planner's own plan"; }

  TestCluster cluster_;
};

TEST_F(VerifyTest, AcceptsAGoodPlan) {
  cluster_.nodes("n", 2, 2).running("low", "n0", {.gpus = 2}, kLow).running("ending", "n1", {.gpus = 1}, kHigh);
  cluster_.pod("ending").is_terminating = true;
  cluster_.waiting_gang("g", 2, {.gpus = 2}, kHigh).waiting("late", {.gpus = 2}, kLow);
  Ticket granted = ticket("g", {{"g-0", "n0"}, {"g-1", "n1"}});
  granted.evictions = {eviction("low", {"low"})};
  granted.waits_for = {cluster_.pod_id("ending")};
  EXPECT_THAT(problems(Plan{.tickets = {granted}, .verdicts = {verdict("late")}}), IsEmpty());
  expect_kept();
}

TEST_F(VerifyTest, PlacesNameWhatExists) {
  cluster_.node("n", 4).waiting("p", {.gpus = 1});
  Ticket granted = ticket("p", {{"p", "n"}});
  granted.places.front().node = 7;
  EXPECT_THAT(problems({granted}), ElementsAre("places: the ticket of default/p names a node that does not exist"));
  granted.places.front() = {7, 0};
  EXPECT_THAT(problems({granted}), ElementsAre("places: the ticket of default/p names a pod that does not exist"));
  granted.gang = 7;
  EXPECT_THAT(problems({granted}), ElementsAre("places: a ticket names a gang that does not exist"));
  EXPECT_THAT(problems(Plan{.taken_back = {0}, .verdicts = {verdict("p")}}),
              ElementsAre("places: default/p has no ticket that could be taken back"));
}

TEST_F(VerifyTest, OnlyWaitingMembersArePlacedAndOnce) {
  cluster_.node("n", 8).running("r", "n", {}).waiting("p", {}).waiting("q", {});
  EXPECT_THAT(problems({ticket("r", {{"r", "n"}}), ticket("p", {{"p", "n"}}), ticket("q", {{"q", "n"}})}),
              ElementsAre("places: default/r, placed on n, is bound already"));
  EXPECT_THAT(problems({ticket("p", {{"p", "n"}, {"p", "n"}}), ticket("q", {{"q", "n"}})}),
              ElementsAre("places: default/p, placed on n, has a place already"));
  EXPECT_THAT(problems({ticket("p", {{"p", "n"}, {"q", "n"}})}),
              ElementsAre("places: default/q, placed on n, belongs to another gang"));
  cluster_.pod("p").is_gated = true;
  cluster_.pod("q").is_terminating = true;
  EXPECT_THAT(problems({ticket("p", {{"p", "n"}}), ticket("q", {{"q", "n"}})}),
              ElementsAre("places: default/p, placed on n, is not ours to place",
                          "places: default/q, placed on n, is terminating"));
}

TEST_F(VerifyTest, Law1NoNodeIsGivenMoreThanItHas) {
  cluster_.node("n", 4).running("r", "n", {.gpus = 2}).waiting("p", {.gpus = 2}).waiting("q", {.gpus = 1});
  EXPECT_THAT(problems(Plan{.tickets = {ticket("p", {{"p", "n"}})}, .verdicts = {verdict("q")}}), IsEmpty());
  EXPECT_THAT(problems({ticket("p", {{"p", "n"}}), ticket("q", {{"q", "n"}})}),
              ElementsAre("law 1: default/p would take 1 nvidia.com/gpu too much of n",
                          "law 1: default/q would take 1 nvidia.com/gpu too much of n"));
}

TEST_F(VerifyTest, Law1RoomOfTerminatingPodsIsNotFree) {
  cluster_.node("n", 2).running("r", "n", {.gpus = 2}).waiting("p", {.gpus = 2});
  cluster_.pod("r").is_terminating = true;
  EXPECT_THAT(problems({ticket("p", {{"p", "n"}})}), Contains(StartsWith("law 1:")));
  Ticket waits = ticket("p", {{"p", "n"}});
  waits.waits_for = {cluster_.pod_id("r")};
  EXPECT_THAT(problems({waits}), IsEmpty());
}

TEST_F(VerifyTest, Law1RoomThatAnotherTicketHoldsIsNotFree) {
  cluster_.node("n", 2).waiting("holder", {.gpus = 1}).waiting("p", {.gpus = 2});
  cluster_.gang("holder").ticket = open({{"holder", "n"}});
  EXPECT_THAT(problems({ticket("p", {{"p", "n"}})}), Contains(StartsWith("law 1:")));
}

TEST_F(VerifyTest, Law1WhatOneTicketsVictimLeavesIsNotForAnother) {
  cluster_.node("n", 3).running("low", "n", {.gpus = 3}, kLow);
  cluster_.waiting("p", {.gpus = 1}, kHigh).waiting("q", {.gpus = 1}, kHigh);
  Ticket evicts = ticket("p", {{"p", "n"}});
  evicts.evictions = {eviction("low", {"low"})};
  EXPECT_THAT(problems({evicts, ticket("q", {{"q", "n"}})}),
              ElementsAre("law 1: default/q would take 1 nvidia.com/gpu too much of n"));
}

TEST_F(VerifyTest, Law1AfterACutOnlyWhoMakesItGoodIsGranted) {
  cluster_.node("n", 4).running("low", "n", {.gpus = 3}, kLow).running("r", "n", {.gpus = 1}, kLow);
  cluster_.node_of("n").allocatable[cluster_.gpu()] = 2;
  cluster_.waiting("p", {.gpus = 1}, kHigh);
  Ticket evicts = ticket("p", {{"p", "n"}});
  evicts.evictions = {eviction("r", {"r"})};
  EXPECT_THAT(problems({evicts}), ElementsAre("law 1: default/p would take 2 nvidia.com/gpu too much of n"));
  evicts.evictions = {eviction("low", {"low"})};
  EXPECT_THAT(problems({evicts}), IsEmpty());
  expect_kept();
}

TEST_F(VerifyTest, FitTheNodesOwnRules) {
  struct Case {
    const char* want;
    std::function<void(TestCluster&)> change;
  };
  const NodeTerm on_disk{.labels = {{"disk", Requirement::Op::kIn, {"ssd"}}}};
  const Case cases[] = {
      {"it is cordoned",
       [](TestCluster& cluster) {
         NodeTraits cordoned = *cluster.node_of("n").traits;
         cordoned.is_unschedulable = true;
         cluster.node_of("n").traits = std::make_shared<const NodeTraits>(cordoned);
       }},
      {"taint dedicated",
       [](TestCluster& cluster) {
         NodeTraits tainted = *cluster.node_of("n").traits;
         tainted.taints = {{"dedicated", "x", Taint::Effect::kNoExecute}};
         cluster.node_of("n").traits = std::make_shared<const NodeTraits>(tainted);
       }},
      {"node selector or affinity",
       [&](TestCluster& cluster) { cluster.shape("p", [&](PodShape& shape) { shape.required = {{{on_disk}}}; }); }},
      {"node selector or affinity",
       [](TestCluster& cluster) { cluster.shape("p", [](PodShape& shape) { shape.required = {{{NodeTerm{}}}}; }); }},
      {"node selector or affinity",
       [](TestCluster& cluster) {
         cluster.shape("p", [](PodShape& shape) {
           shape.required = {{{{.labels = {{kHostnameLabel, Requirement::Op::kIn, {"m"}}}}}}};
         });
       }},
      {"node selector or affinity",
       [](TestCluster& cluster) {
         cluster.shape("p", [](PodShape& shape) {
           shape.required = {{{{.names = {{"metadata.name", Requirement::Op::kIn, {"m"}}}}}}};
         });
       }},
      {"volume is elsewhere",
       [&](TestCluster& cluster) {
         cluster.shape("p", [&](PodShape& shape) { shape.limits = {{{{on_disk}}, "volume is elsewhere"}}; });
       }},
  };
  for (const Case& one : cases) {
    cluster_ = TestCluster();
    cluster_.node("n", 4).waiting("p", {});
    EXPECT_THAT(problems({ticket("p", {{"p", "n"}})}), IsEmpty());
    one.change(cluster_);
    EXPECT_THAT(problems({ticket("p", {{"p", "n"}})}),
                ElementsAre("fit: default/p may not be on n: " + std::string(one.want)));
  }
}

TEST_F(VerifyTest, FitHostPorts) {
  cluster_.node("n", 4).running("r", "n", {}, kLow).waiting("p", {}, kHigh).waiting("q", {}, kHigh);
  const auto with_port = [&](const char* name) {
    cluster_.shape(name, [](PodShape& shape) { shape.ports = {{"", "TCP", 80}}; });
  };
  with_port("p");
  with_port("q");
  EXPECT_THAT(problems({ticket("p", {{"p", "n"}}), ticket("q", {{"q", "n"}})}),
              ElementsAre("fit: default/q may not be on n: port 80 is taken"));
  with_port("r");
  Plan plan{.tickets = {ticket("p", {{"p", "n"}})}, .verdicts = {verdict("q")}};
  EXPECT_THAT(problems(plan), ElementsAre("fit: default/p may not be on n: port 80 is taken"));
  plan.tickets.front().evictions = {eviction("r", {"r"})};
  EXPECT_THAT(problems(plan), IsEmpty());
}

AffinityTerm near(const char* app, const char* key = "topology.kubernetes.io/zone") {
  return {.pods = {{{"app", Requirement::Op::kIn, {app}}}}, .namespaces = {"default"}, .topology_key = key};
}
Labels zone(const char* name) {
  return {{"topology.kubernetes.io/zone", name}};
}

TEST_F(VerifyTest, FitAntiAffinityWorksBothWays) {
  cluster_.node("a", 4, zone("z")).node("b", 4, zone("z")).running("r", "a", {}).waiting("p", {});
  cluster_.pod("r").labels = {{"app", "r"}};
  cluster_.pod("p").labels = {{"app", "p"}};
  cluster_.shape("p", [](PodShape& shape) { shape.anti_affinity = {near("r")}; });
  EXPECT_THAT(problems({ticket("p", {{"p", "b"}})}), ElementsAre("fit: default/p may not be on b: anti-affinity"));
  cluster_.shape("p", [](PodShape& shape) { shape.anti_affinity = {}; });
  EXPECT_THAT(problems({ticket("p", {{"p", "b"}})}), IsEmpty());
  cluster_.shape("r", [](PodShape& shape) { shape.anti_affinity = {near("p")}; });
  EXPECT_THAT(problems({ticket("p", {{"p", "b"}})}),
              ElementsAre("fit: default/p may not be on b: anti-affinity of somebody there"));
}

TEST_F(VerifyTest, FitAffinityNeedsCompanyExceptForTheFirst) {
  cluster_.node("a", 4, zone("y")).node("b", 4, zone("z")).waiting_gang("g", 2, {});
  for (const char* name : {"g-0", "g-1"}) {
    cluster_.pod(name).labels = {{"app", "g"}};
    cluster_.shape(name, [](PodShape& shape) { shape.affinity = {near("g")}; });
  }
  EXPECT_THAT(problems({ticket("g", {{"g-0", "a"}, {"g-1", "a"}})}), IsEmpty());
  EXPECT_THAT(problems({ticket("g", {{"g-0", "a"}, {"g-1", "b"}})}),
              ElementsAre("fit: default/g-1 may not be on b: affinity"));
  cluster_.pod("g-0").labels = cluster_.pod("g-1").labels = {};
  EXPECT_THAT(problems({ticket("g", {{"g-0", "a"}, {"g-1", "a"}})}),
              ElementsAre("fit: default/g-0 may not be on a: affinity"))
      << "nobody is what it asks for, not even itself";
}

TEST_F(VerifyTest, FitSpread) {
  cluster_.node("a", 4, zone("y")).node("b", 4, zone("z")).node("c", 4).waiting_gang("g", 2, {});
  for (const char* name : {"g-0", "g-1"}) {
    cluster_.pod(name).labels = {{"app", "g"}};
    cluster_.shape(name, [](PodShape& shape) {
      shape.spread = {{.pods = near("g").pods, .topology_key = near("g").topology_key}};
    });
  }
  EXPECT_THAT(problems({ticket("g", {{"g-0", "a"}, {"g-1", "b"}})}), IsEmpty());
  EXPECT_THAT(problems({ticket("g", {{"g-0", "a"}, {"g-1", "a"}})}),
              ElementsAre("fit: default/g-1 may not be on a: spread over topology.kubernetes.io/zone"));
  EXPECT_THAT(problems({ticket("g", {{"g-0", "a"}, {"g-1", "c"}})}),
              ElementsAre("fit: default/g-1 may not be on c: spread: no topology.kubernetes.io/zone"));
}

TEST_F(VerifyTest, Law2NobodyGoesForAnEqual) {
  cluster_.node("n", 1).running("r", "n", {.gpus = 1}, kHigh).waiting("p", {.gpus = 1}, kHigh);
  Ticket evicts = ticket("p", {{"p", "n"}});
  evicts.evictions = {eviction("r", {"r"})};
  EXPECT_THAT(problems({evicts}), ElementsAre("law 2: default/p (priority 1000) evicts default/r (priority 1000)"));
  cluster_.pod("r").priority = kLow;
  EXPECT_THAT(problems({evicts}), IsEmpty());
  cluster_.pod("p").never_preempts = true;
  EXPECT_THAT(problems({evicts}), ElementsAre("law 2: default/p preempts, and default/p never may"));
}

TEST_F(VerifyTest, Law2TheLeastOfAGangCountsAgainstTheMostOfItsVictim) {
  cluster_.node("n", 2).running_gang("v", {"n", "n"}, {.gpus = 1}, kLow).waiting_gang("g", 2, {.gpus = 1}, kHigh);
  cluster_.pod("v-1").priority = 500;
  cluster_.pod("g-1").priority = 500;
  Ticket evicts = ticket("g", {{"g-0", "n"}, {"g-1", "n"}});
  evicts.evictions = {eviction("v", {"v-0", "v-1"})};
  EXPECT_THAT(problems({evicts}), ElementsAre("law 2: default/g (priority 500) evicts default/v (priority 500)"));
}

TEST_F(VerifyTest, Law2ProtectionIsRespectedBelowTheTop) {
  cluster_.node("n", 1).running("r", "n", {.gpus = 1}, kLow, 60).waiting("p", {.gpus = 1}, kHigh);
  cluster_.gang("r").min_runtime = std::chrono::minutes(5);
  cluster_.gang("r").max_preemptions = 1;
  cluster_.gang("r").preempted = {kNow - std::chrono::minutes(1)};
  Ticket evicts = ticket("p", {{"p", "n"}});
  evicts.evictions = {eviction("r", {"r"})};
  EXPECT_THAT(problems({evicts}),
              ElementsAre("law 2: default/p evicts default/r, which has not had its minimum of time",
                          "law 2: default/p evicts default/r, which was preempted 1 times in an hour"));
  cluster_.policies().top_priority = kHigh;
  EXPECT_THAT(problems({evicts}), IsEmpty());
}

TEST_F(VerifyTest, Law2OnlyTicketsOfLowerPriorityAreWithdrawn) {
  cluster_.node("n", 1).waiting("mid", {.gpus = 1}, kHigh).waiting("p", {.gpus = 1}, kHigh);
  cluster_.gang("mid").ticket = open({{"mid", "n"}});
  Plan plan{.tickets = {ticket("p", {{"p", "n"}})}, .verdicts = {verdict("mid")}};
  plan.tickets.front().withdrawn = {cluster_.gang_id("mid")};
  EXPECT_THAT(problems(plan),
              ElementsAre("law 2: default/p withdraws the ticket of default/mid, which is not of lower priority"));
  cluster_.pod("mid").priority = kLow;
  EXPECT_THAT(problems(plan), IsEmpty());
  cluster_.gang("mid").ticket = std::nullopt;
  EXPECT_THAT(problems(plan), ElementsAre("places: default/p withdraws a ticket that default/mid does not have"));
}

TEST_F(VerifyTest, Law3AGangIsGrantedWhole) {
  cluster_.nodes("n", 2, 1).waiting_gang("g", 3, {.gpus = 1}, 0, 2);
  EXPECT_THAT(problems({ticket("g", {{"g-0", "n0"}, {"g-1", "n1"}})}), IsEmpty());
  EXPECT_THAT(problems(Plan{.tickets = {ticket("g", {{"g-0", "n0"}})}, .verdicts = {verdict("g")}}),
              ElementsAre("law 3: default/g would be 1 of the 2 that it needs"));
}

TEST_F(VerifyTest, Law3WhoIsEvictedNoLongerCountsForItsGang) {
  cluster_.nodes("n", 2, 1).running_gang("g", {"n0"}, {.gpus = 1}, kLow).waiting("p", {.gpus = 1}, kHigh);
  join("g", "more", {.gpus = 1}, kLow);
  cluster_.gang("g").min_members = 2;
  Ticket evicts = ticket("p", {{"p", "n0"}});
  evicts.evictions = {eviction("g", {"g-0"})};
  const Ticket half = ticket("g", {{"more", "n1"}});
  EXPECT_THAT(problems({evicts, half}), ElementsAre("law 3: default/g would be 1 of the 2 that it needs"));
  EXPECT_THAT(problems(Plan{.tickets = {half}, .verdicts = {verdict("p")}}), IsEmpty());
}

TEST_F(VerifyTest, Law3RoomForLateMembersIsHeld) {
  cluster_.node("n", 2).waiting_gang("g", 1, {.gpus = 1});
  cluster_.gang("g").late = {{cluster_.shape_of({}), {}, 2}};
  Ticket granted = ticket("g", {{"g-0", "n"}});
  granted.holds = {{0, 0}};
  EXPECT_THAT(problems({granted}), ElementsAre("law 3: default/g has room for 1 of 2 late members"));
  granted.holds = {{0, 0}, {0, 0}};
  EXPECT_THAT(problems({granted}), IsEmpty());
}

TEST_F(VerifyTest, Law3RoomForLateMembersThatIsLostWithATicketIsHeldAgain) {
  cluster_.node("n", 2).running_gang("g", {"n"}, {.gpus = 1}, kLow);
  join("g", "more", {.gpus = 1}, kLow);
  Gang& gang = cluster_.gang("g");
  gang.min_members = 2;
  gang.late = {{cluster_.shape_of({}), {}, 1}};
  Plan plan{.tickets = {ticket("g", {{"more", "n"}})}};
  EXPECT_THAT(problems(plan), IsEmpty()) << "it has had that room since its start";
  gang.ticket = open({{"more", "n"}});
  gang.ticket->holds = {{gang.late.front().shape, {}, kNone}};
  plan.taken_back = {cluster_.gang_id("g")};
  EXPECT_THAT(problems(plan), ElementsAre("law 3: default/g has room for 0 of 1 late members"));
}

TEST_F(VerifyTest, Law3NobodyGoesForNobody) {
  cluster_.node("n", 1).running("r", "n", {.gpus = 1}, kLow).waiting("p", {.gpus = 1}, kHigh);
  Ticket evicts = ticket("p", {});
  evicts.evictions = {eviction("r", {"r"})};
  EXPECT_THAT(problems({evicts}), Contains("law 3: the ticket of default/p places nobody"));
}

TEST_F(VerifyTest, Law3OnlyThoseGoWhoRunInTheVictim) {
  cluster_.node("n", 1).running("r", "n", {.gpus = 1}, kLow).waiting("p", {.gpus = 1}, kHigh);
  cluster_.waiting("w", {.gpus = 1}, kLow);
  Ticket evicts = ticket("p", {{"p", "n"}});
  evicts.evictions = {eviction("r", {})};
  EXPECT_THAT(problems({evicts}), Contains("law 3: default/p evicts nobody of default/r"));
  evicts.evictions = {eviction("r", {"r", "w"})};
  EXPECT_THAT(problems({evicts}), Contains("law 3: default/w, evicted for default/p, does not run in default/r"));
}

TEST_F(VerifyTest, Law2NobodyEvictsItsOwn) {
  cluster_.node("n", 1).running_gang("g", {"n"}, {.gpus = 1}, kLow);
  join("g", "g-1", {.gpus = 1}, kHigh);
  Ticket evicts = ticket("g", {{"g-1", "n"}});
  evicts.evictions = {eviction("g", {"g-0"})};
  EXPECT_THAT(problems({evicts}), Contains("law 2: default/g evicts its own"));
}

// Of those who evict each other in a circle, one evicts somebody who is not below it.
TEST_F(VerifyTest, Law5PreemptionHasNoCycles) {
  cluster_.node("n", 2).running_gang("a", {"n"}, {.gpus = 1}, kLow).running_gang("b", {"n"}, {.gpus = 1}, kHigh);
  join("a", "a-1", {.gpus = 1}, kLow);
  join("b", "b-1", {.gpus = 1}, kHigh);
  Ticket first = ticket("a", {{"a-1", "n"}});
  first.evictions = {eviction("b", {"b-0"})};
  Ticket second = ticket("b", {{"b-1", "n"}});
  second.evictions = {eviction("a", {"a-0"})};
  EXPECT_THAT(problems({first, second}), Contains("law 2: default/a (priority 100) evicts default/b (priority 1000)"));
}

TEST_F(VerifyTest, NobodyHasTwoTickets) {
  cluster_.nodes("n", 2, 1).waiting_gang("g", 2, {.gpus = 1});
  EXPECT_THAT(problems({ticket("g", {{"g-0", "n0"}, {"g-1", "n1"}}), ticket("g", {{"g-0", "n0"}, {"g-1", "n1"}})}),
              Contains("places: default/g has two tickets"));
}

TEST_F(VerifyTest, Law3ShrinkingLeavesTheMinimumAndTheChief) {
  cluster_.nodes("n", 3, 1).running_gang("e", {"n0", "n1", "n2"}, {.gpus = 1}, kLow, 2);
  cluster_.waiting_gang("g", 2, {.gpus = 1}, kHigh, 1);
  Ticket evicts = ticket("g", {{"g-0", "n2"}});
  evicts.evictions = {eviction("e", {"e-2"}, Eviction::How::kShrink)};
  EXPECT_THAT(problems({evicts}), IsEmpty());
  evicts.evictions = {eviction("e", {"e-1", "e-2"}, Eviction::How::kShrink)};
  EXPECT_THAT(problems({evicts}),
              ElementsAre("law 3: default/e is shrunk for default/g from 3 to 1, below its minimum of 2"));
  evicts = ticket("g", {{"g-0", "n0"}});
  evicts.evictions = {eviction("e", {"e-0"}, Eviction::How::kShrink)};
  EXPECT_THAT(problems({evicts}), ElementsAre("law 3: default/e is shrunk for default/g by its chief default/e-0"));
  cluster_.gang("e").min_members = 3;
  evicts = ticket("g", {{"g-0", "n2"}});
  evicts.evictions = {eviction("e", {"e-2"}, Eviction::How::kShrink)};
  EXPECT_THAT(problems({evicts}), Contains("law 3: default/e is shrunk for default/g and cannot be"));
}

TEST_F(VerifyTest, Law3AVictimGivesUpWhatItChose) {
  cluster_.nodes("n", 2, 1).running_gang("v", {"n0", "n1"}, {.gpus = 1}, kLow).waiting("p", {.gpus = 1}, kHigh);
  Ticket evicts = ticket("p", {{"p", "n0"}});
  evicts.evictions = {eviction("v", {"v-0", "v-1"}, Eviction::How::kRequeue)};
  EXPECT_THAT(problems({evicts}), ElementsAre("law 3: default/v is requeued for default/p and did not choose to"));
  cluster_.gang("v").on_preempt = OnPreempt::kRequeue;
  EXPECT_THAT(problems({evicts}), IsEmpty());
  evicts.evictions = {eviction("v", {"v-0"}, Eviction::How::kRequeue)};
  EXPECT_THAT(problems({evicts}), ElementsAre("law 3: default/v is requeued for default/p, but 1 of it run on"));
  evicts.evictions = {eviction("v", {"v-0"})};
  EXPECT_THAT(problems({evicts}), ElementsAre("law 3: default/v fails for default/p and chose to be requeued"));
}

TEST_F(VerifyTest, Law3AGrantThatIsHalfDoneIsNotWithdrawn) {
  cluster_.nodes("n", 2, 1).running_gang("g", {"n0"}, {.gpus = 1}, kLow);
  join("g", "more", {.gpus = 1}, kLow);
  cluster_.gang("g").min_members = 2;
  cluster_.gang("g").ticket = open({{"more", "n1"}});
  cluster_.waiting("p", {.gpus = 1}, kHigh);
  Plan plan{.tickets = {ticket("p", {{"p", "n1"}})}, .verdicts = {verdict("g")}};
  plan.tickets.front().withdrawn = {cluster_.gang_id("g")};
  EXPECT_THAT(problems(plan),
              ElementsAre("law 3: default/p withdraws the ticket of default/g, of which 1 run and 2 must"));
}

TEST_F(VerifyTest, Law4RoomIsPromisedOnce) {
  cluster_.node("n", 2).running("low", "n", {.gpus = 2}, kLow);
  cluster_.waiting("p", {.gpus = 1}, kHigh).waiting("q", {.gpus = 1}, kHigh);
  Ticket first = ticket("p", {{"p", "n"}});
  first.evictions = {eviction("low", {"low"})};
  Ticket second = ticket("q", {{"q", "n"}});
  second.evictions = {eviction("low", {"low"})};
  EXPECT_THAT(problems({first, second}),
              ElementsAre("law 4: default/q counts on the room of default/low, which is promised"));
  cluster_.pod("low").is_terminating = true;
  cluster_.gang("p").ticket = open({{"p", "n"}}, {"low"});
  second.evictions.clear();
  second.waits_for = {cluster_.pod_id("low")};
  EXPECT_THAT(problems({second}), ElementsAre("law 4: default/q counts on the room of default/low, which is promised"));
}

TEST_F(VerifyTest, Law4OnlyWhoIsEndingIsWaitedFor) {
  cluster_.node("n", 1).running("r", "n", {.gpus = 1}, kLow).waiting("p", {.gpus = 1}, kHigh);
  Ticket waits = ticket("p", {{"p", "n"}});
  waits.waits_for = {cluster_.pod_id("r")};
  EXPECT_THAT(problems({waits}), ElementsAre("law 4: default/p waits for default/r, which is not ending"));
}

TEST_F(VerifyTest, Law7WhoWaitsKnowsWhy) {
  cluster_.node("n", 1).waiting("p", {.gpus = 2}).waiting_gang("e", 2, {.gpus = 1}, 0, 1);
  const Ticket minimum = ticket("e", {{"e-0", "n"}});
  EXPECT_THAT(problems({minimum}), ElementsAre("law 7: default/p waits with default/p and is not told why"))
      << "e is only short of growth";
  EXPECT_THAT(problems(Plan{.tickets = {minimum}, .verdicts = {verdict("p")}}), IsEmpty());
  EXPECT_THAT(problems(Plan{.tickets = {minimum}, .verdicts = {{.gang = cluster_.gang_id("p")}}}),
              ElementsAre("law 7: default/p is unschedulable and is not told why"));
}

TEST_F(VerifyTest, WhoComesLaterLeavesRoomForTheReservation) {
  cluster_.node("n", 4).running("r", "n", {.gpus = 2}, kLow).waiting("big", {.gpus = 4}, kLow, 3600);
  cluster_.pod("r").ends = kNow + std::chrono::minutes(10);
  cluster_.waiting("small", {.gpus = 1}, kLow, 10);
  Plan plan{.tickets = {ticket("small", {{"small", "n"}})}, .verdicts = {verdict("big")}};
  plan.reservation = Reservation{.gang = cluster_.gang_id("big"),
                                 .places = {{cluster_.pod_id("big"), cluster_.node_id("n")}},
                                 .starts = kNow + std::chrono::minutes(10)};
  EXPECT_THAT(problems(plan),
              ElementsAre("reservation: default/small takes nvidia.com/gpu of n that is kept for default/big"));
  cluster_.pod("small").ends = kNow + std::chrono::minutes(10);
  EXPECT_THAT(problems(plan), IsEmpty());
  cluster_.pod("small").ends = std::nullopt;
  cluster_.gang("small").since = kNow - std::chrono::hours(2);
  EXPECT_THAT(problems(plan), IsEmpty()) << "it came first";
  plan.tickets.push_back(ticket("big", {}));
  EXPECT_THAT(problems(plan), Contains("reservation: room is kept for default/big, which has a ticket"));
}

}  // namespace
}  // namespace gangway::planning
