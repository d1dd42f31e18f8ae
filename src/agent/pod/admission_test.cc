#include "agent/pod/admission.h"

#include <gtest/gtest.h>

#include "agent/pod/devices.h"
#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

NodeRoom a_room() {
  NodeRoom room;
  room.allocatable = {{"cpu", 4000}, {"memory", 1000}, {"pods", 3}, {"nvidia.com/gpu", 4}};
  room.used = {{"cpu", 3000}, {"memory", 500}, {"pods", 2}, {"nvidia.com/gpu", 1}};
  room.gpus = 4;
  room.gpus_in_use = {1};
  return room;
}

PodSpec asking(std::string_view requests) {
  return pod_of(fmt::format(
      R"({{"spec": {{"containers": [{{"name": "c", "resources": {{"requests": {0}, "limits": {0}}}}}]}}}})", requests));
}

struct Case {
  const char* requests;
  const char* reason;  // "": welcome
  const char* message;
};

TEST(Admission, KnowsTheRoom) {
  for (const Case& each : {
           Case{R"({})", "", ""},
           Case{R"({"cpu": "1", "memory": "500", "nvidia.com/gpu": "3"})", "", ""},
           Case{R"({"cpu": "1001m"})", "OutOfcpu",
                "Pod was rejected: Node didn't have enough resource: cpu, requested: 1001, used: 3000, capacity: 4000"},
           Case{
               R"({"memory": "501"})", "OutOfmemory",
               "Pod was rejected: Node didn't have enough resource: memory, requested: 501, used: 500, capacity: 1000"},
           Case{R"({"nvidia.com/gpu": "4"})", "OutOfnvidia.com/gpu",
                "Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 4, used: 1, capacity: "
                "4"},
           Case{R"({"example.com/thing": "1"})", "OutOfexample.com/thing",
                "Pod was rejected: Node didn't have enough resource: example.com/thing, requested: 1, used: 0, "
                "capacity: 0"},
           Case{R"({"ephemeral-storage": "1Gi"})", "", ""},
       }) {
    const auto refusal = judge(asking(each.requests), a_room());
    EXPECT_EQ(refusal ? refusal->reason : "", each.reason) << each.requests;
    EXPECT_EQ(refusal ? refusal->message : "", each.message) << each.requests;
  }
}

TEST(Admission, CountsPods) {
  NodeRoom room = a_room();
  room.used["pods"] = 3;
  EXPECT_EQ(judge(asking("{}"), room)->reason, "OutOfpods");
}

TEST(Admission, RefusesAPodThatIsMeantForOtherNodes) {
  NodeRoom room = a_room();
  api::Header node;
  node.name = {"", "n0"};
  node.labels = {{"zone", "a"}};
  room.node = &node;
  const auto in_zone = [](const char* zone) {
    return pod_of(
        fmt::format(R"({{"spec": {{"nodeSelector": {{"zone": "{}"}}, "containers": [{{"name": "c"}}]}}}})", zone));
  };
  EXPECT_FALSE(judge(in_zone("a"), room).has_value());
  EXPECT_EQ(judge(in_zone("b"), room)->reason, "NodeAffinity");
}

TEST(Devices, TheLowestFreeOnesForEachContainer) {
  const PodSpec pod = pod_of(R"({"spec": {"containers": [
      {"name": "a", "resources": {"limits": {"nvidia.com/gpu": "2"}}}, {"name": "none"},
      {"name": "b", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}})");
  const auto gpus = assign_gpus(pod, 8, {0, 2});
  ASSERT_TRUE(gpus.has_value());
  EXPECT_EQ(gpus->at("a"), (std::vector<unsigned>{1, 3}));
  EXPECT_EQ(gpus->at("b"), (std::vector<unsigned>{4}));
  EXPECT_FALSE(gpus->contains("none"));
  EXPECT_FALSE(assign_gpus(pod, 4, {0, 2}).has_value());
}

TEST(Devices, InitContainersHandTheirsOn) {
  const PodSpec pod = pod_of(R"({"spec": {"initContainers": [
      {"name": "warm", "resources": {"limits": {"nvidia.com/gpu": "2"}}},
      {"name": "side", "restartPolicy": "Always", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
      "containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "2"}}}]}})");
  const auto gpus = assign_gpus(pod, 3, {});
  ASSERT_TRUE(gpus.has_value());
  EXPECT_EQ(gpus->at("warm"), (std::vector<unsigned>{0, 1}));
  EXPECT_EQ(gpus->at("side"), (std::vector<unsigned>{0}));
  EXPECT_EQ(gpus->at("main"), (std::vector<unsigned>{1, 2}));
}

}  // namespace
}  // namespace gangway::agent
