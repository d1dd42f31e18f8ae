// Pods that are preempted and come back: the scheduler and the Requeuer at work on one fake cluster.
#include "scheduler/requeue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/conditions.h"
#include "client/resource.h"
#include "scheduler/requeuer.h"
#include "scheduler/scheduler.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::scheduler {
namespace {

using namespace std::chrono_literals;
using client::resources::kNodes;
using client::resources::kPods;

constexpr const char* kSlow = R"({"metadata":{"finalizers":["test/slow"]}})";
constexpr const char* kReturns = R"({"metadata":{"annotations":{"gangway.dev/on-preempt":"Requeue"}}})";

struct RequeueTest : ::testing::Test {
  testing::ControllerBench bench;
  testing::FakeApi& api = bench.api;
  Scheduler scheduler;
  Requeuer requeuer;
  std::unique_ptr<client::Controller> returns;

  RequeueTest() { api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"}); }

  void node(const std::string& name, const std::string& cpu) {
    api.create(kNodes, testing::an_object("v1", "Node", "", name)
                           .with(R"({"status":{"conditions":[{"type":"Ready","status":"True"}],
                                     "allocatable":{"memory":"8Gi","pods":"30","cpu":")" +
                                 cpu + R"("}}})"));
  }
  static testing::ObjectBuilder a_task(const std::string& name, int priority, const std::string& more = "{}") {
    return testing::a_pod("default", name)
        .with(R"({"spec":{"schedulerName":"default-scheduler","containers":[
                 {"name":"c","image":"i","resources":{"requests":{"cpu":"1"}}}],"priority":)" +
              std::to_string(priority) + "}}")
        .with(more);
  }
  void pod(const std::string& name, int priority, const std::string& more = "{}", const std::string& and_more = "{}") {
    api.create(kPods, a_task(name, priority, more).with(and_more));
  }
  void group(const std::string& name, int minimum, const std::string& more = kReturns) {
    api.create(kPodGroups, testing::an_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "default", name)
                               .with(R"({"spec":{"minMember":)" + std::to_string(minimum) + "}}")
                               .with(more));
  }
  void member(const std::string& name, const std::string& group, const std::string& more = "{}") {
    pod(name, 0, R"({"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":")" + group + R"("}}})", more);
  }
  void start() {
    bench.start(scheduler);
    start_returns();
  }
  void start_returns() {
    returns = std::make_unique<client::Controller>(api, bench.loop, bench.mirror, requeuer,
                                                   client::ControllerOptions{.name = "requeue"});
    returns->start();
    bench.loop.run_until_idle();
  }
  std::string place(const std::string& name) {
    return std::string(json::string_at(api.tree(kPods, {"default", name}), {"spec", "nodeName"}));
  }
  std::string annotation(const std::string& pod_name, std::string_view key) {
    return std::string(json::string_at(api.tree(kPods, {"default", pod_name}), {"metadata", "annotations", key}));
  }
  std::string uid(const std::string& name) {
    return std::string(json::string_at(api.tree(kPods, {"default", name}), {"metadata", "uid"}));
  }
  bool exists(const std::string& name) { return api.objects(kPods).contains({"default", name}); }
  bool is_ending(const std::string& name) {
    return !json::string_at(api.tree(kPods, {"default", name}), {"metadata", "deletionTimestamp"}).empty();
  }
  std::size_t records() { return api.objects(kRequeuedPods).size(); }
  // As a node does when the last container has ended.
  void end(const std::string& name) {
    api.patch(kPods, {"default", name}, testing::parsed(R"({"metadata":{"finalizers":null}})"));
    bench.loop.run_until_idle();
  }
  void finish(const std::string& name) {
    api.patch(kPods, {"default", name}, testing::parsed(R"({"status":{"phase":"Succeeded"}})"), "status");
    bench.loop.run_until_idle();
  }
};

TEST_F(RequeueTest, APodIsMadeAgainAsItWas) {
  node("n0", "1");
  pod("low", 0, kReturns, R"({"metadata":{"labels":{"app":"x"},"annotations":{"note":"kept"}},
                               "spec":{"nodeSelector":null,"restartPolicy":"Never","preemptionPolicy":"Never"}})");
  start();
  ASSERT_EQ(place("low"), "n0");
  const std::string before = uid("low");
  pod("high", 10);
  bench.loop.run_until_idle();
  EXPECT_EQ(place("high"), "n0");
  ASSERT_TRUE(exists("low"));
  EXPECT_NE(uid("low"), before);
  EXPECT_EQ(place("low"), "") << "it waits";
  const json::Value again = api.tree(kPods, {"default", "low"});
  EXPECT_EQ(annotation("low", "note"), "kept");
  EXPECT_EQ(annotation("low", "gangway.dev/on-preempt"), "Requeue");
  EXPECT_EQ(annotation("low", "gangway.dev/attempt"), "2");
  EXPECT_EQ(json::string_at(again, {"metadata", "labels", "app"}), "x");
  EXPECT_EQ(json::string_at(again, {"spec", "restartPolicy"}), "Never");
  EXPECT_EQ(json::find(again, {"spec", "priority"}), nullptr) << "the class decides anew";
  EXPECT_FALSE(api::condition_is_true(again, "DisruptionTarget"));
  EXPECT_EQ(records(), 1u) << "it has its place for as long as it lives";
  finish("high");
  EXPECT_EQ(place("low"), "n0");
  finish("low");
  EXPECT_EQ(records(), 0u);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(RequeueTest, TheRecordIsWrittenBeforeThePodIsToldToEnd) {
  node("n0", "1");
  pod("low", 0, kReturns);
  start();
  api.forget_calls();
  pod("high", 10);
  bench.loop.run_until_idle();
  std::vector<std::string> what;
  for (const auto& write : api.writes())
    if (write.resource == kRequeuedPods || (write.resource == kPods && write.method != client::Method::kPatch))
      what.push_back(write.resource.plural + (write.method == client::Method::kDelete ? " delete" : " write"));
  ASSERT_GE(what.size(), 2u);
  EXPECT_EQ(what[0], "requeuedpods write");
  EXPECT_EQ(what[1], "pods delete");
}

TEST_F(RequeueTest, ThePlaceInLineIsTheOldOne) {
  node("n0", "1");
  pod("low", 0, kReturns);
  start();
  bench.loop.advance(60s);
  pod("other", 0);
  bench.loop.advance(60s);
  pod("high", 10);
  bench.loop.run_until_idle();
  ASSERT_EQ(place("high"), "n0");
  bench.loop.advance(60s);
  finish("high");
  EXPECT_EQ(place("low"), "n0") << "it came before the other";
  EXPECT_EQ(place("other"), "");
  pod("higher", 20);
  bench.loop.advance(60s);
  ASSERT_EQ(place("higher"), "n0");
  EXPECT_EQ(annotation("low", "gangway.dev/attempt"), "3");
  finish("higher");
  EXPECT_EQ(place("low"), "n0") << "and after its second attempt too";
  EXPECT_EQ(records(), 1u);
}

TEST_F(RequeueTest, AGangComesBackWholeOnceItsLastPodHasGone) {
  node("n0", "1");
  node("n1", "1");
  group("g", 2);
  member("g-0", "g", kSlow);
  member("g-1", "g", kSlow);
  start();
  ASSERT_EQ(place("g-0") + place("g-1"), "n0n1");
  pod("high", 10);
  bench.loop.run_until_idle();
  EXPECT_TRUE(is_ending("g-0") && is_ending("g-1")) << "all of it goes, although one room was needed";
  end("g-0");
  EXPECT_FALSE(exists("g-0")) << "the other one is still there";
  end("g-1");
  EXPECT_TRUE(exists("g-0") && exists("g-1"));
  EXPECT_NE(place("high"), "");
  EXPECT_EQ(place("g-0") + place("g-1"), "") << "half of it would fit";
  EXPECT_EQ(annotation("g-0", "gangway.dev/attempt") + annotation("g-1", "gangway.dev/attempt"), "22");
  finish("high");
  EXPECT_NE(place("g-0"), "");
  EXPECT_NE(place("g-1"), "");
}

TEST_F(RequeueTest, FailMakesNothingAgainAndTakesOnlyWhatIsNeeded) {
  node("n0", "1");
  node("n1", "1");
  group("g", 2, "{}");
  member("g-0", "g", R"({"metadata":{"labels":{"batch.kubernetes.io/job-completion-index":"0"}}})");
  member("g-1", "g", R"({"metadata":{"labels":{"batch.kubernetes.io/job-completion-index":"1"}}})");
  start();
  pod("high", 10);
  bench.loop.run_until_idle();
  EXPECT_TRUE(exists("g-0")) << "the first goes last";
  EXPECT_FALSE(exists("g-1"));
  EXPECT_EQ(records(), 0u);
}

TEST_F(RequeueTest, AUsersDeletionIsNoRequeue) {
  node("n0", "1");
  pod("low", 0, kReturns);
  start();
  api.remove(kPods, {"default", "low"});
  bench.loop.advance(1min);
  EXPECT_FALSE(exists("low"));
  EXPECT_EQ(records(), 0u);
}

TEST_F(RequeueTest, ATicketThatIsTakenBackLeavesNoRecordBehind) {
  node("n0", "1");
  pod("low", 0, kReturns);
  start();
  // The deletion never arrives, and the preemptor goes away.
  bool is_down = true;
  api.inject({.when =
                  [&](const auto& request) {
                    return is_down && request.method == client::Method::kDelete && request.resource == kPods;
                  },
              .error = testing::an_error(Reason::kServiceUnavailable),
              .times = 1'000'000});
  pod("high", 10);
  bench.loop.advance(1s);
  ASSERT_EQ(records(), 1u);
  const std::string before = uid("low");
  api.remove(kPods, {"default", "high"});
  bench.loop.advance(1min);
  is_down = false;
  EXPECT_EQ(records(), 0u);
  api.remove(kPods, {"default", "low"});
  bench.loop.advance(1min);
  EXPECT_FALSE(exists("low")) << "its user has deleted it";
}

TEST_F(RequeueTest, WhoeverComesNextFinishesIt) {
  node("n0", "1");
  pod("low", 0, kReturns, kSlow);
  start();
  pod("high", 10);
  bench.loop.run_until_idle();
  ASSERT_TRUE(is_ending("low"));
  bench.controller.reset();
  returns.reset();
  end("low");
  ASSERT_FALSE(exists("low"));
  const Scheduler next;
  bench.start(next);
  start_returns();
  EXPECT_EQ(place("high"), "n0");
  EXPECT_TRUE(exists("low"));
  EXPECT_EQ(annotation("low", "gangway.dev/attempt"), "2");
}

TEST_F(RequeueTest, AGroupThatWasDeletedMeanwhileStaysAway) {
  node("n0", "1");
  group("g", 1);
  member("g-0", "g", kSlow);
  start();
  pod("high", 10);
  bench.loop.run_until_idle();
  ASSERT_EQ(records(), 1u);
  api.remove(kPodGroups, {"default", "g"});
  end("g-0");
  EXPECT_FALSE(exists("g-0"));
  EXPECT_EQ(records(), 0u);
}

TEST_F(RequeueTest, WhoeverDeletesTheRecordCallsTheReturnOff) {
  node("n0", "1");
  pod("low", 0, kReturns, kSlow);
  start();
  pod("high", 10);
  bench.loop.run_until_idle();
  api.remove(kRequeuedPods, api.objects(kRequeuedPods).begin()->first);
  end("low");
  bench.loop.advance(1min);
  EXPECT_FALSE(exists("low"));
}

TEST_F(RequeueTest, PodsOfAControllerAreLeftToItAndKeepTheirPlace) {
  node("n0", "1");
  const std::string owned = R"({"metadata":{"ownerReferences":[
      {"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"job-uid","controller":true}]}})";
  pod("j-a", 0, kReturns, owned);
  start();
  bench.loop.advance(60s);
  pod("other", 0);
  bench.loop.advance(60s);
  pod("high", 10);
  bench.loop.advance(60s);
  EXPECT_FALSE(exists("j-a")) << "its controller makes another one";
  pod("j-b", 0, kReturns, owned);
  bench.loop.run_until_idle();
  finish("high");
  EXPECT_EQ(place("j-b"), "n0") << "it has the place of the one before it";
  EXPECT_EQ(place("other"), "");
}

TEST_F(RequeueTest, APlaceThatNobodyTakesIsGivenUp) {
  node("n0", "1");
  pod("j-a", 0, kReturns, R"({"metadata":{"ownerReferences":[
      {"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"job-uid","controller":true}]}})");
  start();
  pod("high", 10);
  bench.loop.advance(1min);
  ASSERT_EQ(records(), 1u);
  bench.loop.advance(Requeuer::kOwnersTime);
  EXPECT_EQ(records(), 0u);
}

// Whatever is lost on the way: everybody who was preempted is there once, and once only.
class RequeueWeatherTest : public RequeueTest, public ::testing::WithParamInterface<int> {};

TEST_P(RequeueWeatherTest, EverybodyComesBack) {
  for (int i = 0; i < 3; ++i) node("n" + std::to_string(i), "1");
  group("g", 3);
  for (int i = 0; i < 3; ++i) member("g-" + std::to_string(i), "g", kSlow);
  start();
  api.set_weather({.refused = 200, .lost = 200, .broken_watches = 50, .seed = static_cast<std::uint64_t>(GetParam())});
  for (int round = 0; round < 3; ++round) {
    const std::string high = "high-" + std::to_string(round);
    pod(high, 10);
    for (int i = 0; i < 60 && place(high).empty(); ++i) {
      bench.loop.advance(1s);
      for (int member = 0; member < 3; ++member) {
        const std::string name = "g-" + std::to_string(member);
        if (exists(name) && is_ending(name)) end(name);
      }
    }
    ASSERT_NE(place(high), "");
    finish(high);
    bench.loop.advance(2min);
    for (int member = 0; member < 3; ++member) {
      const std::string name = "g-" + std::to_string(member);
      ASSERT_TRUE(exists(name));
      EXPECT_NE(place(name), "") << name;
      EXPECT_EQ(annotation(name, "gangway.dev/attempt"), std::to_string(round + 2)) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RequeueWeatherTest, ::testing::Range(1, 9));

}  // namespace
}  // namespace gangway::scheduler
