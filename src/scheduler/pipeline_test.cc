// Plans that are made while the answers of earlier ones are missing, and schedulers that follow one another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "client/resource.h"
#include "scheduler/scheduler.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::scheduler {
namespace {

using namespace std::chrono_literals;
using client::resources::kEvents;
using client::resources::kNodes;
using client::resources::kPods;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct PipelineTest : ::testing::Test {
  testing::ControllerBench bench;
  testing::FakeApi& api = bench.api;
  Scheduler scheduler;

  PipelineTest() { api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"}); }

  void node(const std::string& name, const std::string& cpu) {
    api.create(kNodes, testing::an_object("v1", "Node", "", name)
                           .with(R"({"status":{"conditions":[{"type":"Ready","status":"True"}],
                                     "allocatable":{"cpu":")" +
                                 cpu + R"(","memory":"8Gi","pods":"10"}}})"));
  }
  void pod(const std::string& name, const std::string& cpu, const std::string& more = "{}") {
    api.create(kPods, testing::a_pod("default", name)
                          .with(R"({"spec":{"schedulerName":"default-scheduler","containers":[
                                    {"name":"c","resources":{"requests":{"cpu":")" +
                                cpu + R"("}}}]}})")
                          .with(more));
  }
  static std::string priority(int value) { return R"({"spec":{"priority":)" + std::to_string(value) + "}}"; }
  static std::string in_group(const std::string& name) {
    return R"({"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":")" + name + R"("}}})";
  }
  void group_of_two(const std::string& name) {
    api.create(kPodGroups, testing::an_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "default", name)
                               .with(R"({"spec":{"minMember":2}})"));
  }
  // A gang of two pods of one cpu each.
  void pair(const std::string& name) {
    group_of_two(name);
    pod(name + "-0", "1", in_group(name));
    pod(name + "-1", "1", in_group(name));
  }
  static api::ObjectName allotment(const std::string& gang, bool is_group = true) {
    return {"default", allotment_name(is_group, gang)};
  }
  std::string phase(const api::ObjectName& name) {
    return std::string(json::string_at(api.tree(kAllotments, name), {"status", "phase"}));
  }
  std::string place(const std::string& name) {
    return std::string(json::string_at(api.tree(kPods, {"default", name}), {"spec", "nodeName"}));
  }
  // What has been asked for, events aside: "create allotments g", "binding a".
  std::vector<std::string> asked() {
    std::vector<std::string> all;
    for (const auto& write : api.writes()) {
      if (write.resource == kEvents) continue;
      std::string what = write.subresource.empty() ? write.resource.plural : write.subresource;
      std::string name = write.object.name;
      if (name.empty()) name = json::string_at(testing::parsed(write.body), {"spec", "gang", "name"});
      all.push_back(what + " " + name);
    }
    return all;
  }
  // The same without what is only told to pods.
  std::vector<std::string> done() {
    auto all = asked();
    std::erase_if(all, [](const std::string& what) { return what.starts_with("status "); });
    return all;
  }
};

TEST_F(PipelineTest, TheNextPodIsBoundWhileTheAnswerForTheFirstIsMissing) {
  node("n0", "4");
  bench.start(scheduler);
  api.set_answer_lag(1h);
  api.set_watch_lag(kPods, 20ms);
  pod("a", "1");
  bench.loop.advance(20ms);
  ASSERT_THAT(asked(), ElementsAre("binding a"));
  // The watch brings these before it shows that `a` is bound.
  pod("b", "3");
  bench.loop.advance(19ms);
  pod("c", "1");
  bench.loop.advance(1ms);
  EXPECT_THAT(asked(), ElementsAre("binding a", "binding b"));
  bench.loop.advance(1min);
  EXPECT_EQ(place("c"), "") << "the room of the others is taken, whether that is shown or not";
}

TEST_F(PipelineTest, TheNextGangIsGrantedWhileTheGrantOfTheFirstIsBeingWritten) {
  node("n0", "5");
  bench.start(scheduler);
  pair("g");
  api.set_answer_lag(1h);
  api.set_watch_lag(kAllotments, 1h);
  bench.loop.advance(1ms);
  ASSERT_THAT(done(), ElementsAre("allotments g"));
  pair("h");
  bench.loop.advance(1ms);
  EXPECT_THAT(done(), ElementsAre("allotments g", "allotments h"));
  pod("small", "1");
  bench.loop.advance(1ms);
  EXPECT_EQ(place("small"), "n0") << "there is room for one beside both grants";
  pair("i");
  bench.loop.advance(1ms);
  EXPECT_EQ(api.objects(kAllotments).size(), 2u) << "and not for a third gang";
}

TEST_F(PipelineTest, AGrantWhoseAnswerIsLostKeepsItsRoomAndIsAskedForAgain) {
  node("n0", "2");
  bench.start(scheduler);
  api.inject({.when = [](const auto& request) { return request.resource == kAllotments; },
              .error = testing::an_error(Reason::kTimeout)});
  pair("g");
  bench.loop.run_until_idle();
  ASSERT_THAT(done(), ElementsAre("allotments g"));
  ASSERT_TRUE(api.objects(kAllotments).empty());
  pod("other", "1");
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-0") + place("g-1"), "n0n0");
  EXPECT_EQ(place("other"), "") << "what was promised first is kept, although nobody knew whether it was written";
}

TEST_F(PipelineTest, AGrantThatIsRefusedHoldsNothing) {
  node("n0", "2");
  bench.start(scheduler);
  api.inject({.when = [](const auto& request) { return request.resource == kAllotments; },
              .error = testing::an_error(Reason::kForbidden),
              .times = 1'000'000});
  pair("g");
  bench.loop.run_until_idle();
  pod("other", "1", priority(5));
  bench.loop.advance(1s);
  EXPECT_EQ(place("other"), "n0");
  EXPECT_EQ(place("g-0") + place("g-1"), "") << "nothing is done that was not written down";
}

TEST_F(PipelineTest, ATicketIsNotOverWhileABindingOfItMayFail) {
  node("n0", "2");
  bench.start(scheduler);
  bool is_down = true;
  api.inject({.when =
                  [&](const auto& request) {
                    return is_down && request.subresource == "binding" && request.object.name == "g-1";
                  },
              .error = testing::an_error(Reason::kServiceUnavailable),
              .times = 1'000'000});
  pair("g");
  bench.loop.advance(1min);
  ASSERT_EQ(place("g-0") + place("g-1"), "n0");
  EXPECT_EQ(phase(allotment("g")), "") << "neither bound nor withdrawn";
  is_down = false;
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-1"), "n0");
  EXPECT_EQ(phase(allotment("g")), "Bound");
}

// The watch is slow, or the answer is lost: until the grant is seen its room is not given to one who is before it in
// line.
struct UnseenGrantTest : PipelineTest {
  void grant_before_the_first_in_line_may_be_placed() {
    node("n0", "2");
    pod("first", "2", R"({"spec":{"schedulingGates":[{"name":"wait"}]}})");
    bench.start(scheduler);
    pair("g");
    let_the_first_in_line_go();
  }
  void let_the_first_in_line_go() {
    bench.loop.advance(40s);
    ASSERT_THAT(done(), ::testing::Contains(::testing::StartsWith("allotments g")));
    api.patch(kPods, {"default", "first"}, testing::parsed(R"({"spec":{"schedulingGates":null}})"));
    bench.loop.advance(5min);
  }
};

TEST_F(UnseenGrantTest, IsNotForgottenWhenItIsNotShownInTime) {
  api.set_watch_lag(kAllotments, 2min);
  grant_before_the_first_in_line_may_be_placed();
  EXPECT_EQ(place("first"), "");
  EXPECT_EQ(place("g-0") + place("g-1"), "n0n0");
}

TEST_F(UnseenGrantTest, IsNotForgottenWhenItsSecondRequestSaysThatItIsThere) {
  api.set_watch_lag(kAllotments, 50s);
  api.inject({.when = [](const auto& request) { return request.resource == kAllotments; },
              .error = testing::an_error(Reason::kTimeout),
              .after_commit = true});
  grant_before_the_first_in_line_may_be_placed();
  EXPECT_EQ(place("first"), "");
  EXPECT_EQ(place("g-0") + place("g-1"), "n0n0");
}

TEST_F(UnseenGrantTest, IsNotForgottenWhenItsSecondRequestSaysThatSomebodyWasThereBefore) {
  node("n0", "2");
  pod("first", "2", R"({"spec":{"schedulingGates":[{"name":"wait"}]}})");
  bench.start(scheduler);
  pair("g");
  bench.loop.run_until_idle();
  ASSERT_EQ(phase(allotment("g")), "Bound");
  api.set_watch_lag(kAllotments, 50s);
  api.inject({.when = [](const auto& request) { return request.resource == kAllotments; },
              .error = testing::an_error(Reason::kTimeout),
              .after_commit = true});
  for (const char* name : {"g-0", "g-1"}) api.remove(kPods, {"default", name});
  bench.loop.run_until_idle();
  for (const char* name : {"g-0", "g-1"}) pod(name, "1", in_group("g"));
  api.forget_calls();
  let_the_first_in_line_go();
  EXPECT_EQ(place("first"), "");
  EXPECT_EQ(place("g-0") + place("g-1"), "n0n0");
}

// The first request may still be on its way when the second is refused.
TEST_F(UnseenGrantTest, IsNotForgottenWhenOnlyItsSecondRequestIsRefused) {
  bool is_busy = true;
  api.inject({.when = [](const auto& request) { return request.resource == kAllotments; },
              .error = testing::an_error(Reason::kTimeout)});
  api.inject({.when = [&](const auto& request) { return is_busy && request.resource == kAllotments; },
              .error = testing::an_error(Reason::kTooManyRequests),
              .times = 1'000'000});
  grant_before_the_first_in_line_may_be_placed();
  EXPECT_EQ(place("first"), "");
  is_busy = false;
  bench.loop.advance(10min);
  EXPECT_EQ(place("g-0") + place("g-1"), "n0n0");
}

TEST_F(PipelineTest, MembersAboveTheMinimumWaitUntilTheMinimumIsSeenToRun) {
  node("n0", "4");
  bench.start(scheduler);
  group_of_two("g");
  // Told that it waits for another one, by a request that takes long: it cannot be bound before that is answered.
  api.set_answer_lag(1min);
  pod("g-0", "1", in_group("g"));
  bench.loop.advance(1ms);
  ASSERT_THAT(asked(), ElementsAre("status g-0"));
  api.set_answer_lag(0ms);
  pod("g-1", "1", in_group("g"));
  bench.loop.advance(1ms);
  pod("g-2", "1", in_group("g"));
  bench.loop.advance(1s);
  ASSERT_EQ(place("g-0") + place("g-1"), "n0");
  EXPECT_EQ(place("g-2"), "") << "that g-0 is bound is only assumed";
  bench.loop.advance(2min);
  EXPECT_EQ(place("g-0") + place("g-2"), "n0n0");
}

// A member that the minimum needs, and that came after the grant of the others, is nobody's to bind alone either.
TEST_F(PipelineTest, AMemberThatTheMinimumNeedsWaitsUntilTheOthersAreSeenToRun) {
  node("n0", "4");
  bench.start(scheduler);
  group_of_two("g");
  bool is_down = true;
  api.inject({.when =
                  [&](const auto& request) {
                    return is_down && request.subresource == "binding" && request.object.name == "g-0";
                  },
              .error = testing::an_error(Reason::kServiceUnavailable),
              .times = 1'000'000});
  pod("g-0", "1", in_group("g"));
  pod("g-1", "1", in_group("g"));
  bench.loop.advance(1s);
  ASSERT_EQ(place("g-0") + place("g-1"), "n0");
  api.remove(kPods, {"default", "g-1"});
  pod("g-2", "1", in_group("g"));
  bench.loop.advance(1s);
  EXPECT_EQ(place("g-2"), "") << "with it there would be one of two";
  is_down = false;
  bench.loop.advance(2min);
  EXPECT_EQ(place("g-0") + place("g-2"), "n0n0");
}

// Somebody of higher priority has taken a place over. What is left of that room is promised to all who read, until they
// can read that it is not.
TEST_F(PipelineTest, RoomThatWasTakenBackGoesToLowerPrioritiesWhenThatIsSeen) {
  constexpr const char* kSlow = R"({"metadata":{"finalizers":["test/slow"]}})";
  node("n0", "3");
  pod("v", "2", kSlow);
  bench.start(scheduler);
  node("n1", "4");
  pod("w", "4", kSlow);
  bench.loop.run_until_idle();
  ASSERT_EQ(place("v") + place("w"), "n0n1");
  pod("middle", "3", priority(5));
  bench.loop.run_until_idle();
  ASSERT_EQ(phase(allotment("middle", false)), "Releasing");
  ASSERT_TRUE(api.get(kPods, {"default", "v"}).header->deleting_since.has_value());

  bool is_down = true;
  api.inject({.when = [&](const auto& request) { return is_down && request.object == allotment("middle", false); },
              .error = testing::an_error(Reason::kServiceUnavailable),
              .times = 1'000'000});
  pod("high", "1", priority(10));
  pod("low", "1", priority(1));
  bench.loop.advance(10s);
  EXPECT_EQ(place("high"), "n0");
  EXPECT_TRUE(api.tree(kAllotments, allotment("low", false)).is_null()) << "n0 is still promised to middle";
  is_down = false;
  bench.loop.advance(1min);
  EXPECT_FALSE(api.tree(kAllotments, allotment("low", false)).is_null()) << "waits for v, which nobody counts on now";
}

// The same of a grant that nobody has seen yet when it is taken back: it may be there for all others to read.
struct UnseenTakenBackTest : PipelineTest {
  void take_back_before_the_grant_is_seen() {
    node("n0", "2");
    pod("low", "1", R"({"spec":{"schedulingGates":[{"name":"wait"}]}})");  // before g in line, once it may be placed
    bench.start(scheduler);
    bench.loop.advance(10s);
    pair("g");
    bench.loop.run_until_idle();
    ASSERT_THAT(done(), ElementsAre("allotments g"));
    pod("high", "1", priority(10));
    api.patch(kPods, {"default", "low"}, testing::parsed(R"({"spec":{"schedulingGates":null}})"));
    bench.loop.advance(5s);
    ASSERT_EQ(place("high"), "n0");
  }
  void fail_the_next_grant(bool after_commit) {
    api.inject({.when = [](const auto& request) { return request.resource == kAllotments; },
                .error = testing::an_error(Reason::kTimeout),
                .after_commit = after_commit});
  }
};

TEST_F(UnseenTakenBackTest, ItsRoomGoesToLowerPrioritiesWhenThatIsSeen) {
  api.set_watch_lag(kAllotments, 20s);
  take_back_before_the_grant_is_seen();
  EXPECT_EQ(place("low"), "") << "n0 is promised to g for all who read";
  bench.loop.advance(2min);
  EXPECT_EQ(phase(allotment("g")), "Withdrawn");
  EXPECT_EQ(place("low"), "n0");
}

TEST_F(UnseenTakenBackTest, ItsRoomIsNotForgottenWhenTheMirrorIsLate) {
  api.set_watch_lag(kAllotments, 2min);
  take_back_before_the_grant_is_seen();
  bench.loop.advance(100s);
  EXPECT_EQ(place("low"), "");
  bench.loop.advance(5min);
  EXPECT_EQ(place("low"), "n0");
}

TEST_F(UnseenTakenBackTest, ItsRoomIsNotForgottenWhenTheAnswerIsLost) {
  api.set_watch_lag(kAllotments, 2min);
  fail_the_next_grant(true);
  take_back_before_the_grant_is_seen();
  bench.loop.advance(100s);
  EXPECT_EQ(place("low"), "");
  bench.loop.advance(5min);
  EXPECT_EQ(place("low"), "n0");
}

TEST_F(UnseenTakenBackTest, ItGetsNothingElseBeforeThatIsSeen) {
  api.set_watch_lag(kAllotments, 20s);
  take_back_before_the_grant_is_seen();
  node("n1", "4");
  bench.loop.advance(5s);
  auto asked_for = done();
  std::erase_if(asked_for, [](const std::string& what) { return !what.starts_with("allotments"); });
  EXPECT_THAT(asked_for, ElementsAre("allotments g"));
  EXPECT_EQ(place("g-0") + place("g-1"), "");
  bench.loop.advance(2min);
  EXPECT_EQ(place("g-0") + place("g-1"), "n1n1");
}

TEST_F(UnseenTakenBackTest, ItsRoomIsGivenOnWhenItWasNeverWritten) {
  fail_the_next_grant(false);
  take_back_before_the_grant_is_seen();
  bench.loop.advance(1min);
  EXPECT_EQ(place("low"), "n0");
  EXPECT_EQ(phase(allotment("g")), "Withdrawn")
      << "an empty grant keeps one that is still on its way from coming to be";
  EXPECT_TRUE(json::array_at(api.tree(kAllotments, allotment("g")), {"spec", "places"}).empty());
}

// Of two that cost the same, the one goes whose program has said that its work is safe.
TEST_F(PipelineTest, ACheckpointThatAPodReportsMakesItTheCheaperVictim) {
  api.create(
      kNodes,
      testing::an_object("v1", "Node", "", "n0").with(R"({"status":{"conditions":[{"type":"Ready","status":"True"}],
                                   "allocatable":{"cpu":"2","memory":"8Gi","pods":"10","nvidia.com/gpu":"2"}}})"));
  bench.start(scheduler);
  const auto gpu = [&](const std::string& name, const std::string& more) {
    api.create(kPods, testing::a_pod("default", name)
                          .with(R"({"spec":{"schedulerName":"default-scheduler","containers":[{"name":"c","resources":
                                    {"requests":{"cpu":"1","nvidia.com/gpu":"1"}}}]}})")
                          .with(more));
  };
  gpu("older", "{}");
  bench.loop.advance(1min);
  gpu("younger", "{}");
  bench.loop.advance(1h);
  ASSERT_EQ(place("older") + place("younger"), "n0n0");
  const std::string now = to_rfc3339(bench.loop.clock().wall());
  api.patch(kPods, {"default", "older"},
            testing::parsed(R"({"status":{"conditions":[{"type":"gangway.dev/Checkpoint","status":"True",
                              "lastTransitionTime":")" +
                            now + R"("}]}})"),
            "status");
  gpu("high", priority(10));
  bench.loop.advance(1s);
  const json::Value granted = api.tree(kAllotments, allotment("high", false));
  const auto& victims = json::array_at(granted, {"spec", "victims"});
  ASSERT_EQ(victims.size(), 1u);
  EXPECT_EQ(json::string_at(victims.front(), {"pod"}), "older") << "without it the one that started last would go";
}

// A launcher is made when the workers run; room for it is granted with theirs.
struct LateMemberTest : PipelineTest {
  static constexpr const char* kLauncher =
      R"({"metadata":{"labels":{"gangway.dev/late-member":"launcher","mpi_role_type":"launcher"}}})";

  void pair_with_launcher(const std::string& name, const std::string& launcher_cpu) {
    const std::string list = R"([{"name":"launcher","count":1,"template":{"spec":{"containers":[
        {"name":"c","resources":{"requests":{"cpu":")" +
                             launcher_cpu + R"("}}}]}}}])";
    auto group = testing::an_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "default", name)
                     .with(R"({"spec":{"minMember":2}})");
    json::Value annotations =
        json::Object{{"metadata", json::Object{{"annotations", json::Object{{"gangway.dev/late-members", list}}}}}};
    api.create(kPodGroups, group.with(json::serialize(annotations)));
    pod(name + "-0", "1", in_group(name));
    pod(name + "-1", "1", in_group(name));
  }
  // Of which nobody was told that a launcher would come.
  void pair(const std::string& name) {
    api.create(kPodGroups, testing::an_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "default", name)
                               .with(R"({"spec":{"minMember":2}})"));
    pod(name + "-0", "1", in_group(name));
    pod(name + "-1", "1", in_group(name));
  }
  void launcher(const std::string& gang, const std::string& cpu) {
    api.create(kPods, testing::a_pod("default", gang + "-launcher")
                          .with(R"({"spec":{"schedulerName":"default-scheduler","containers":[
                                    {"name":"c","resources":{"requests":{"cpu":")" +
                                cpu + R"("}}}]}})")
                          .with(in_group(gang))
                          .with(kLauncher));
  }
  // Somebody of higher priority needs the room of one of the three that run.
  void expect_whole_gang_at_stake() {
    bench.loop.advance(1s);
    launcher("g", "1");
    bench.loop.advance(1min);
    ASSERT_EQ(place("g-launcher"), "n0");
    pod("high", "1", priority(10));
    bench.loop.advance(1s);
    const json::Value granted = api.tree(kAllotments, allotment("high", false));
    const auto& victims = json::array_at(granted, {"spec", "victims"});
    ASSERT_EQ(victims.size(), 1u);
    EXPECT_EQ(json::string_at(victims.front(), {"how"}), "Fail");
    EXPECT_NE(json::string_at(victims.front(), {"pod"}), "g-launcher") << "the chief is the last to go";
  }
};

TEST_F(LateMemberTest, AGangDoesNotStartWithoutRoomForThem) {
  node("n0", "2");
  bench.start(scheduler);
  pair_with_launcher("g", "1");
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-0") + place("g-1"), "") << "two cpus are not enough for three of one each";
  node("n1", "1");
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-0") + place("g-1"), "n0n0");
  const json::Value granted = api.tree(kAllotments, allotment("g"));
  EXPECT_EQ(json::serialize(json::Value(json::array_at(granted, {"spec", "holds"}))),
            R"([{"name":"launcher","node":"n1","requests":{"cpu":"1000m","pods":"1"}}])");
}

TEST_F(LateMemberTest, TheirRoomIsKeptUntilTheyCome) {
  node("n0", "2");
  node("n1", "1");
  bench.start(scheduler);
  pair_with_launcher("g", "1");
  bench.loop.advance(1min);
  ASSERT_EQ(place("g-0") + place("g-1"), "n0n0");
  pod("other", "1");
  bench.loop.advance(1min);
  EXPECT_EQ(place("other"), "") << "n1 is kept for the launcher";
  EXPECT_NE(phase(allotment("g")), "Bound");
  launcher("g", "1");
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-launcher"), "n1");
  EXPECT_EQ(phase(allotment("g")), "Bound");
}

TEST_F(LateMemberTest, TheirGangGrowsMeanwhile) {
  node("n0", "2");
  node("n1", "2");
  bench.start(scheduler);
  pair_with_launcher("g", "1");
  bench.loop.advance(1min);
  ASSERT_EQ(place("g-0") + place("g-1"), "n0n0");
  pod("g-2", "1", in_group("g"));
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-2"), "n1");
  const json::Value granted = api.tree(kAllotments, allotment("g"));
  EXPECT_EQ(json::array_at(granted, {"spec", "holds"}).size(), 1U) << "its room is kept";
  pod("g-3", "1", in_group("g"));
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-3"), "") << "there is no more, but for the launcher";
  launcher("g", "1");
  bench.loop.advance(1min);
  EXPECT_EQ(place("g-launcher"), "n1");
  EXPECT_EQ(phase(allotment("g")), "Bound");
}

TEST_F(LateMemberTest, OneThatHasComeIsNoMemberToShrinkBy) {
  node("n0", "3");
  bench.start(scheduler);
  pair_with_launcher("g", "1");
  expect_whole_gang_at_stake();
}

// One that takes no room need not be announced.
TEST_F(LateMemberTest, NorIsOneThatNobodyWasToldOf) {
  node("n0", "3");
  bench.start(scheduler);
  pair("g");
  expect_whole_gang_at_stake();
}

// The top class may disturb a gang in its first minutes. What it leaves of that gang is not for others to take before
// everybody can read who began.
TEST_F(PipelineTest, NobodyTakesTheRestOfAProtectedGangInOnePlanWithTheTopClass) {
  node("n0", "2");
  api.create(kPriorityClasses,
             testing::an_object("scheduling.k8s.io/v1", "PriorityClass", "", "top").with(R"({"value":100})"));
  bench.start(scheduler);
  api.create(kPodGroups, testing::an_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "default", "g")
                             .with(R"({"spec":{"minMember":2},"metadata":{"annotations":{
                                       "gangway.dev/min-runtime":"5m","gangway.dev/on-preempt":"Fail"}}})"));
  pod("g-0", "1", in_group("g"));
  pod("g-1", "1", in_group("g"));
  bench.loop.run_until_idle();
  ASSERT_EQ(place("g-0") + place("g-1"), "n0n0");
  // One change that both of them have waited for.
  pod("high", "1", R"({"spec":{"priority":100,"nodeSelector":{"open":"yes"}}})");
  pod("middle", "1", R"({"spec":{"priority":50,"nodeSelector":{"open":"yes"}}})");
  bench.loop.run_until_idle();
  api.patch(kNodes, {"", "n0"}, testing::parsed(R"({"metadata":{"labels":{"open":"yes"}}})"));
  bench.loop.run_until_idle();
  EXPECT_FALSE(api.tree(kAllotments, allotment("high", false)).is_null());
  EXPECT_TRUE(api.tree(kAllotments, allotment("middle", false)).is_null());
}

// Schedulers over one API, each with a mirror of its own.
struct SuccessionTest : PipelineTest {
  static constexpr const char* kSlowToEnd = R"({"metadata":{"finalizers":["test/slow"]}})";

  struct Other {
    client::Mirror mirror;
    client::Controller controller;
    Other(SuccessionTest& test, const Scheduler& mind)
        : mirror(test.api, test.bench.loop),
          controller(test.api, test.bench.loop, mirror, mind, client::ControllerOptions{.name = "other"}) {
      controller.start();
    }
  };
  std::int64_t number(const api::ObjectName& name, const char* part) {
    return json::integer_at(api.tree(kAllotments, name), {part, "epoch"});
  }
  Reason why_refused(const client::ApiRequest& late) {
    const auto answer = api.apply(late);
    EXPECT_FALSE(answer);
    return answer ? Reason::kUnknown : answer.error().reason;
  }
  // One pod in the way of another, which is told to go and takes its time.
  void begin_a_preemption() {
    node("n0", "1");
    pod("low", "1", kSlowToEnd);
    scheduler.lead(1);
    bench.start(scheduler);
    ASSERT_EQ(place("low"), "n0");
    pod("high", "1", priority(10));
    bench.loop.run_until_idle();
    ASSERT_EQ(phase(allotment("high", false)), "Releasing");
  }
  void end_low() {
    api.patch(kPods, {"default", "low"}, testing::parsed(R"({"metadata":{"finalizers":null}})"));
    bench.loop.run_until_idle();
  }
};

TEST_F(SuccessionTest, AGrantSaysInWhichTermItWasMadeBeforeAnythingIsDone) {
  scheduler.lead(7);
  node("n0", "2");
  bench.start(scheduler);
  pair("g");
  bench.loop.run_until_idle();
  EXPECT_EQ(number(allotment("g"), "spec"), 7);
  EXPECT_EQ(done().front(), "allotments g");
  EXPECT_EQ(place("g-0") + place("g-1"), "n0n0");
}

TEST_F(SuccessionTest, TheNextLeaderTakesOnWhatIsOpenAndFinishesIt) {
  begin_a_preemption();
  bench.controller.reset();
  const api::Version before = api.get(kAllotments, allotment("high", false));
  Scheduler next;
  next.lead(2);
  Other other(*this, next);
  bench.loop.run_until_idle();
  EXPECT_EQ(number(allotment("high", false), "spec"), 1) << "who granted it";
  EXPECT_EQ(number(allotment("high", false), "status"), 2) << "who carries it out";

  client::ApiRequest late;
  late.method = client::Method::kPatch;
  late.resource = kAllotments;
  late.object = allotment("high", false);
  late.subresource = "status";
  late.patch_type = client::PatchType::kMerge;
  late.body = R"({"metadata":{"resourceVersion":")" + std::to_string(before.header->revision) +
              R"("},"status":{"phase":"Withdrawn"}})";
  EXPECT_EQ(why_refused(late), Reason::kConflict) << "what the first still had on the way about it";
  end_low();
  EXPECT_EQ(place("high"), "n0");
  EXPECT_EQ(phase(allotment("high", false)), "Bound");
}

TEST_F(SuccessionTest, WhoSeesALaterTermDoesNothingAnyMore) {
  begin_a_preemption();
  Scheduler next;
  next.lead(2);
  auto other = std::make_unique<Other>(*this, next);
  bench.loop.run_until_idle();
  ASSERT_EQ(number(allotment("high", false), "status"), 2);
  other.reset();
  api.forget_calls();
  end_low();
  pod("more", "1");
  bench.loop.advance(1min);
  EXPECT_THAT(asked(), IsEmpty()) << "the first has not been told, and sees it";
}

TEST_F(SuccessionTest, AfterALeaderWhoIsLostNothingIsGivenBeforeHisBindingsMustFail) {
  node("n0", "1");
  pod("a", "1");
  const api::Version waiting = api.get(kPods, {"default", "a"});
  Scheduler next;
  next.take_over(2, api.revision());
  pod("b", "1", priority(10));
  Other other(*this, next);
  bench.loop.run_until_idle();
  EXPECT_THAT(asked(), ::testing::Contains("binding b"));
  EXPECT_EQ(asked().front(), "status a") << "what came after the takeover needs no mark";

  client::ApiRequest late;
  late.method = client::Method::kCreate;
  late.resource = kPods;
  late.object = {"default", "a"};
  late.subresource = "binding";
  late.body = R"({"metadata":{"uid":")" + waiting.header->uid + R"(","resourceVersion":")" +
              std::to_string(waiting.header->revision) + R"("},"target":{"kind":"Node","name":"n0"}})";
  EXPECT_EQ(why_refused(late), Reason::kConflict);
  EXPECT_EQ(place("b"), "n0");
  EXPECT_EQ(place("a"), "");
}

// Its pods have ended while nobody looked, and nothing of it is in the plan any more.
TEST_F(SuccessionTest, AGrantWhosePodsHaveAllEndedIsClosed) {
  node("n0", "2");
  bench.start(scheduler);
  bool is_down = true;
  api.inject({.when = [&](const auto& request) { return is_down && request.object == allotment("g"); },
              .error = testing::an_error(Reason::kServiceUnavailable),
              .times = 1'000'000});
  pair("g");
  bench.loop.run_until_idle();
  ASSERT_EQ(place("g-0") + place("g-1"), "n0n0");
  ASSERT_EQ(phase(allotment("g")), "");
  bench.controller.reset();
  for (const char* name : {"g-0", "g-1"})
    api.patch(kPods, {"default", name}, testing::parsed(R"({"status":{"phase":"Succeeded"}})"), "status");
  is_down = false;
  Scheduler next;
  next.lead(2);
  Other other(*this, next);
  bench.loop.run_until_idle();
  EXPECT_EQ(phase(allotment("g")), "Bound");
}

// The count of terms is in a Lease, which somebody may delete.
TEST_F(SuccessionTest, ATermThatIsCountedAnewGoesOnBehindTheGreatestThatWasWritten) {
  begin_a_preemption();
  bench.controller.reset();
  api.patch(kAllotments, allotment("high", false), testing::parsed(R"({"status":{"epoch":5}})"), "status");
  Scheduler next;
  next.lead(1);
  Other other(*this, next);
  bench.loop.run_until_idle();
  EXPECT_EQ(number(allotment("high", false), "status"), 6);
  end_low();
  EXPECT_EQ(place("high"), "n0");
}

}  // namespace
}  // namespace gangway::scheduler
