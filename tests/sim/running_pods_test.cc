#include "sim/running_pods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test_roots.h"

namespace gangway::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

agent::PodIdentity a_pod(const std::string& uid) {
  return {.uid = uid, .ns = "ns", .name = "a", .node = "n0"};
}

// One pod, as its machine and as the API see it.
struct OnePod {
  RunningPods running;
  std::unique_ptr<Law> law = what_is_over_runs_nowhere(running);
  TestRoots roots;
  Verdicts verdicts;

  void say(const std::string& phase, int grace = 30) {
    tell(roots.put({.resource = "pods",
                    .name = {"ns", "a"},
                    .uid = "u1",
                    .body = R"("spec":{"terminationGracePeriodSeconds":)" + std::to_string(grace) +
                            R"(},"status":{"phase":")" + phase + R"("})"}));
  }
  void remove() { tell(roots.erase("pods", {"ns", "a"})); }
  void tell(const store::Change& change) { law->on_change("pods", change, *roots.root(), verdicts); }
  std::vector<std::string> at_rest() {
    Verdicts said;
    law->at_rest(*roots.root(), said);
    return said.all();
  }
};

TEST(WhatIsOverRunsNowhereTest, HoldsForALife) {
  OnePod pod;
  pod.say("Pending");
  pod.running.add(a_pod("u1"));
  pod.say("Running");
  EXPECT_THAT(pod.at_rest(), IsEmpty());
  pod.running.remove(a_pod("u1"));
  pod.say("Succeeded");
  pod.remove();
  EXPECT_THAT(pod.verdicts.all(), IsEmpty());
  EXPECT_THAT(pod.at_rest(), IsEmpty());
  EXPECT_TRUE(pod.running.is_over("u1"));
}

TEST(WhatIsOverRunsNowhereTest, IsBrokenByAPodThatHasEndedAndRuns) {
  OnePod pod;
  pod.running.add(a_pod("u1"));
  pod.say("Running");
  pod.say("Failed");
  pod.remove();
  EXPECT_THAT(pod.verdicts.all(), ElementsAre("pod ns/a has ended and still runs as u1"));
}

TEST(WhatIsOverRunsNowhereTest, IsBrokenByAPodThatIsGoneAndRuns) {
  OnePod pod;
  pod.running.add(a_pod("u1"));
  pod.say("Running");
  pod.remove();
  EXPECT_THAT(pod.verdicts.all(), ElementsAre("pod ns/a is gone and still runs as u1"));
}

TEST(WhatIsOverRunsNowhereTest, IsBrokenByAPodThatWentUnseenAndRuns) {
  OnePod pod;
  pod.running.add(a_pod("u1"));
  pod.say("Running");
  const auto before = pod.roots.root();
  pod.roots.erase("pods", {"ns", "a"});
  pod.law->on_restart(*before, *pod.roots.root(), *pod.roots.root(), pod.verdicts);
  EXPECT_THAT(pod.verdicts.all(), ElementsAre("pod ns/a is gone and still runs as u1"));
}

TEST(WhatIsOverRunsNowhereTest, APodThatGetsNoTimeMayGoFirstButNotStay) {
  OnePod pod;
  pod.running.add(a_pod("u1"));
  pod.say("Running", 0);
  EXPECT_THAT(pod.running.others(a_pod("u2")), ElementsAre("u1"));
  pod.remove();
  EXPECT_THAT(pod.verdicts.all(), IsEmpty());
  EXPECT_FALSE(pod.running.is_over("u1")) << "its node may not have heard of it";
  EXPECT_THAT(pod.running.others(a_pod("u2")), IsEmpty());
  EXPECT_THAT(pod.at_rest(), ElementsAre("u1 runs, and the API has no such pod"));
}

}  // namespace
}  // namespace gangway::sim
