#include "scheduler/candidate.h"

#include <gtest/gtest.h>

#include "client/resource.h"
#include "scheduler/preflight.h"
#include "testing/builders.h"
#include "testing/fake_api.h"
#include "testing/manual_loop.h"

namespace gangway::scheduler {
namespace {

using namespace std::chrono_literals;
using client::resources::kLeases;
using client::resources::kNodes;
using client::resources::kPods;

struct CandidateTest : ::testing::Test {
  testing::ManualLoop loop;
  testing::FakeApi api{loop};

  CandidateTest() {
    api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"});
    api.create(kNodes, testing::parsed(R"({"metadata":{"name":"n0"},"status":{
      "allocatable":{"cpu":"4","memory":"8Gi","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}})"));
  }

  std::unique_ptr<Candidate> candidate(const std::string& name) {
    client::LeaderLeaseOptions lease;
    lease.lease = {"kube-system", kLeaseName};
    lease.identity = name;
    return std::make_unique<Candidate>(CandidateParts{.client = api, .loop = loop, .lease = lease});
  }
  void pod(const std::string& name, const std::string& scheduler, const std::string& cpu = "1",
           const std::string& node = "") {
    json::Value object = testing::parsed(R"({"metadata":{"namespace":"default"},"spec":{"containers":[{"name":"c",
      "image":"i","resources":{"requests":{}}}]},"status":{"phase":"Pending"}})");
    json::object_at(object, {"metadata"})["name"] = name;
    json::Object& spec = json::object_at(object, {"spec"});
    spec["schedulerName"] = scheduler;
    if (!node.empty()) spec["nodeName"] = node;
    spec["containers"].as_array()[0].as_object()["resources"].as_object()["requests"].as_object()["cpu"] = cpu;
    api.create(kPods, object);
  }
  std::string node_of(const std::string& name) {
    return std::string(json::string_at(api.tree(kPods, {"default", name}), {"spec", "nodeName"}));
  }
  std::string holder() {
    return std::string(json::string_at(api.tree(kLeases, {"kube-system", kLeaseName}), {"spec", "holderIdentity"}));
  }
};

TEST_F(CandidateTest, PlacesThePodsThatNameItAndCountsTheOthers) {
  pod("theirs", "default-scheduler", "3", "n0");
  pod("waits", "default-scheduler");
  pod("ours", CandidateParts::kName, "1");
  pod("too-much", CandidateParts::kName, "2");
  auto a = candidate("a");
  EXPECT_FALSE(a->is_ready());
  a->start();
  loop.advance(1s);
  EXPECT_TRUE(a->is_leading());
  EXPECT_TRUE(a->is_ready());
  EXPECT_EQ(a->controllers().size(), 3U);
  EXPECT_EQ(node_of("ours"), "n0");
  EXPECT_EQ(node_of("waits"), "");
  EXPECT_EQ(node_of("too-much"), "");
  const json::Value told = api.tree(kPods, {"default", "too-much"});
  EXPECT_FALSE(json::array_at(told, {"status", "conditions"}).empty());
}

TEST_F(CandidateTest, OnlyOneOfTwoActsAndTheOtherGoesOnWhenItIsLost) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->start();
  loop.advance(100ms);
  b->start();
  loop.advance(10s);
  EXPECT_TRUE(a->is_leading());
  EXPECT_FALSE(b->is_leading());
  EXPECT_TRUE(b->is_ready());
  EXPECT_EQ(b->leader(), "a");
  a.reset();
  pod("late", CandidateParts::kName);
  loop.advance(10s);
  EXPECT_EQ(node_of("late"), "");
  loop.advance(10s);
  EXPECT_TRUE(b->is_leading());
  EXPECT_EQ(b->epoch(), 2);
  EXPECT_EQ(node_of("late"), "n0");
}

TEST_F(CandidateTest, WhoLosesTheLeaseDropsEverythingAndCanLeadAgain) {
  auto a = candidate("a");
  a->start();
  loop.advance(1s);
  api.patch(kLeases, {"kube-system", kLeaseName}, testing::parsed(R"({"spec":{"holderIdentity":"thief"}})"));
  loop.advance(3s);
  EXPECT_FALSE(a->is_leading());
  pod("late", CandidateParts::kName);
  loop.advance(5s);
  EXPECT_EQ(node_of("late"), "");
  loop.advance(20s);
  EXPECT_TRUE(a->is_leading());
  EXPECT_EQ(node_of("late"), "n0");
}

TEST_F(CandidateTest, HandsOverOnlyWhenAllAnswersAreIn) {
  auto a = candidate("a");
  a->start();
  loop.advance(1s);
  api.set_answer_lag(1s);
  pod("p", CandidateParts::kName);
  loop.advance(200ms);  // the binding is on its way
  bool done = false;
  a->hand_over([&] { done = true; });
  loop.advance(500ms);
  EXPECT_EQ(holder(), "a");
  EXPECT_TRUE(a->is_leading());
  loop.advance(3s);
  EXPECT_TRUE(done);
  EXPECT_EQ(holder(), "");
  EXPECT_FALSE(a->is_leading());
  EXPECT_EQ(node_of("p"), "n0");
}

TEST_F(CandidateTest, WhatIsNotAnsweredInTimeIsLeftToTheNextLeader) {
  auto a = candidate("a");
  a->start();
  loop.advance(1s);
  api.set_answer_lag(1min);
  pod("p", CandidateParts::kName);
  loop.advance(200ms);
  bool done = false;
  a->hand_over([&] { done = true; });
  loop.advance(6s);
  EXPECT_TRUE(done);
  EXPECT_EQ(holder(), "a") << "the next one waits for its end, and fences";
}

TEST_F(CandidateTest, OneThatOnlyFollowsGoesAtOnce) {
  auto a = candidate("a");
  auto b = candidate("b");
  a->start();
  loop.advance(1s);
  b->start();
  loop.advance(1s);
  bool done = false;
  b->hand_over([&] { done = true; });
  loop.run_until_idle();
  EXPECT_TRUE(done);
  EXPECT_EQ(holder(), "a");
}

struct PreflightTest : CandidateTest {
  bool passed = false;
  Right right{.verb = "patch", .group = "", .resource = "pods", .subresource = "status", .ns = "", .name = ""};
};

TEST_F(PreflightTest, SaysWhichKindsAreNotServedUntilTheyAre) {
  const client::Resource kind{"gangway.dev", "v1alpha1", "allotments"};
  api.fail_lists(kind, testing::an_error(Reason::kNotFound), 2);
  Preflight preflight(api, loop, {.kinds = {kind}, .rights = {}}, [&] { passed = true; });
  preflight.start();
  loop.run_until_idle();
  ASSERT_EQ(preflight.missing().size(), 1U);
  EXPECT_EQ(preflight.missing()[0],
            "kinds that are not installed: allotments.gangway.dev; `gangway crds | kubectl apply -f -` installs them");
  EXPECT_FALSE(passed);
  loop.advance(10s);
  EXPECT_TRUE(passed);
  EXPECT_TRUE(preflight.missing().empty());
}

TEST_F(PreflightTest, SaysWhichRightsAreNotGranted) {
  Preflight preflight(api, loop, {.kinds = {}, .rights = {right}}, [&] { passed = true; });
  preflight.start();
  loop.advance(5s);  // what stores objects does not answer reviews: nothing is allowed
  ASSERT_FALSE(preflight.missing().empty());
  EXPECT_FALSE(passed);
}

TEST_F(PreflightTest, AnApiThatIsAwayIsAskedAgain) {
  const client::Resource kind{"gangway.dev", "v1alpha1", "allotments"};
  api.fail_lists(kind, testing::an_error(Reason::kServiceUnavailable), 1);
  Preflight preflight(api, loop, {.kinds = {kind}, .rights = {}}, [&] { passed = true; });
  preflight.start();
  loop.run_until_idle();
  ASSERT_EQ(preflight.missing().size(), 1U);
  EXPECT_EQ(preflight.missing()[0].find("the API does not answer: "), 0U);
  loop.advance(5s);
  EXPECT_TRUE(passed);
}

}  // namespace
}  // namespace gangway::scheduler
