#include "controllers/pods.h"

#include <gtest/gtest.h>

#include <string>

#include "api/owner.h"
#include "client/decode.h"
#include "testing/builders.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using testing::a_pod;
using testing::parsed;

PodFacts facts(const char* more) {
  return read_pod(*client::encode_object(a_pod("default", "p").with(more).with(R"({"metadata":{"uid":"u"}})").json()));
}

TEST(PodFactsTest, ReadsWhatControllersAskFor) {
  const PodFacts pod = facts(R"({
    "metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-7"}},
    "spec": {"nodeName": "n0"},
    "status": {"phase": "Running",
               "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:10Z"}],
               "containerStatuses": [{"restartCount": 1}, {"restartCount": 4}]}})");
  EXPECT_EQ(pod.phase, PodPhase::kRunning);
  EXPECT_EQ(pod.node, "n0");
  EXPECT_TRUE(pod.ready);
  EXPECT_EQ(pod.ready_since, *parse_rfc3339("2026-01-01T00:00:10Z"));
  EXPECT_EQ(pod.deletion_cost, -7);
  EXPECT_EQ(pod.restarts, 4);
  EXPECT_TRUE(is_running_and_ready(pod));
}

TEST(PodFactsTest, APodThatSaysNothingIsPending) {
  const PodFacts pod = facts("{}");
  EXPECT_EQ(pod.phase, PodPhase::kPending);
  EXPECT_TRUE(pod.node.empty());
  EXPECT_FALSE(pod.ready);
  EXPECT_FALSE(is_finished(pod));
  EXPECT_EQ(facts(R"({"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"9x"}}})").deletion_cost,
            0);
}

TEST(PodFactsTest, FinishedPodsAreNotActive) {
  for (const char* phase : {"Succeeded", "Failed"}) {
    const std::string status = std::string(R"({"status":{"phase":")") + phase + "\"}}";
    EXPECT_TRUE(is_finished(facts(status.c_str()))) << phase;
  }
  EXPECT_FALSE(is_finished(facts(R"({"status":{"phase":"Unknown"}})")));
}

TEST(PodFactsTest, AvailableIsReadyForLongEnough) {
  const PodFacts ready = facts(
      R"({"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:10Z"}]}})");
  EXPECT_EQ(available_at(ready, 0s), WallTime());
  EXPECT_EQ(available_at(ready, 20s), *parse_rfc3339("2026-01-01T00:00:30Z"));
  EXPECT_FALSE(available_at(facts("{}"), 0s));
  EXPECT_FALSE(available_at(facts(R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"), 20s));
}

TEST(PodFromTemplateTest, TakesWhatATemplateHas) {
  api::OwnerReference owner{"apps/v1", "ReplicaSet", "web", "u-1", true, true};
  const json::Value pod = pod_from_template(
      parsed(R"({"metadata":{"labels":{"a":"b"},"annotations":null,"name":"not-this","finalizers":["x/y"]},
                 "spec":{"containers":[{"name":"c"}]}})"),
      {"default", "web-1"}, owner);
  EXPECT_EQ(pod, parsed(R"({"apiVersion":"v1","kind":"Pod",
      "metadata":{"name":"web-1","namespace":"default","generateName":"web-","labels":{"a":"b"},"finalizers":["x/y"],
                  "ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u-1",
                                      "controller":true,"blockOwnerDeletion":true}]},
      "spec":{"containers":[{"name":"c"}]}})"));
}

}  // namespace
}  // namespace gangway::controllers
