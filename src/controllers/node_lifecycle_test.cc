#include "controllers/node_lifecycle.h"

#include <gtest/gtest.h>

#include <string>

#include "api/conditions.h"
#include "api/taints.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kEvents;
using client::resources::kLeases;
using client::resources::kNodes;
using client::resources::kPods;

TEST(OwnTimeTest, PassesWithTheClockWhileTheTickIsKept) {
  OwnTime time(5s);
  const WallTime start = time.at(WallTime(1000s));
  EXPECT_EQ(time.at(WallTime(1005s)) - start, 5s);
  EXPECT_EQ(time.at(WallTime(1012s)) - start, 12s);
}

TEST(OwnTimeTest, DoesNotCountAPauseNorAClockThatWasSet) {
  OwnTime time(5s);
  const WallTime start = time.at(WallTime(1000s));
  EXPECT_EQ(time.at(WallTime(4600s)) - start, 10s);
  EXPECT_EQ(time.at(WallTime(2000s)) - start, 10s);
  EXPECT_EQ(time.at(WallTime(2003s)) - start, 13s);
}

struct LifecycleTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  NodeLifecycle reconciler;

  LifecycleTest() { api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"}); }

  void node(const std::string& name, const std::string& more = "{}") {
    api.create(kNodes, testing::an_object("v1", "Node", "", name)
                           .with(R"({"status":{"conditions":[
                              {"type":"MemoryPressure","status":"False"},
                              {"type":"Ready","status":"True","reason":"KubeletReady",
                               "lastTransitionTime":"2025-12-31T00:00:00Z"}]}})")
                           .with(more));
  }
  void renew(const std::string& name) {
    const std::string spec = R"({"spec":{"renewTime":")" + to_rfc3339_micro(bench.loop.clock().wall()) + R"("}})";
    const api::ObjectName lease{"kube-node-lease", name};
    if (api.get(kLeases, lease)) {
      api.patch(kLeases, lease, testing::parsed(spec));
    } else {
      api.create(kLeases, testing::an_object("coordination.k8s.io/v1", "Lease", lease.ns, name).with(spec));
    }
  }
  // Every ten seconds, as a kubelet does.
  void advance_renewing(Duration by, std::initializer_list<const char*> names) {
    for (Duration done = 0s; done < by; done += 10s) {
      for (const char* name : names) renew(name);
      bench.loop.advance(10s);
    }
  }
  std::string condition(const client::Resource& resource, const api::ObjectName& name, std::string_view type) {
    const json::Value tree = api.tree(resource, name);
    const json::Object* found = api::find_condition(tree, type);
    if (found == nullptr) return "none";
    const json::Value value = *found;
    return std::string(json::string_at(value, {"status"})) + " " + std::string(json::string_at(value, {"reason"})) +
           " " + std::string(json::string_at(value, {"message"}));
  }
  std::string ready(const std::string& name) { return condition(kNodes, {"", name}, "Ready"); }
  // "key:effect", without the common prefix, joined by spaces.
  std::string taints(const std::string& name) {
    std::string all;
    for (const api::Taint& taint : api::read_taints(api.tree(kNodes, {"", name}))) {
      const std::string key = taint.key.starts_with("node.kubernetes.io/") ? taint.key.substr(19) : taint.key;
      all += (all.empty() ? "" : " ") + key + ":" + taint.effect;
    }
    return all;
  }
  bool has_event(const std::string& reason, const std::string& about) {
    for (const auto& [name, version] : api.objects(kEvents)) {
      const json::Value tree = api.tree(kEvents, name);
      if (json::string_at(tree, {"reason"}) == reason && json::string_at(tree, {"involvedObject", "name"}) == about)
        return true;
    }
    return false;
  }
};

TEST_F(LifecycleTest, ANodeThatRenewsItsLeaseIsLeftAlone) {
  node("n0");
  renew("n0");
  bench.start(reconciler);
  api.forget_calls();
  advance_renewing(5min, {"n0"});
  EXPECT_EQ(ready("n0"), "True KubeletReady ");
  EXPECT_TRUE(api.writes().empty());
}

TEST_F(LifecycleTest, ASilentNodeIsUnknownAfterTheGracePeriodAndNotBefore) {
  node("n0");
  node("n1");
  renew("n0");
  renew("n1");
  bench.start(reconciler);
  advance_renewing(30s, {"n1"});
  renew("n1");
  bench.loop.advance(9999ms);
  EXPECT_EQ(ready("n0"), "True KubeletReady ");
  bench.loop.advance(1ms);
  EXPECT_EQ(ready("n0"), "Unknown NodeStatusUnknown Kubelet stopped posting node status.");
  EXPECT_EQ(condition(kNodes, {"", "n0"}, "MemoryPressure"),
            "Unknown NodeStatusUnknown Kubelet stopped posting node status.");
  EXPECT_EQ(condition(kNodes, {"", "n0"}, "PIDPressure"),
            "Unknown NodeStatusNeverUpdated Kubelet never posted node status.");
  EXPECT_EQ(taints("n0"), "unreachable:NoSchedule unreachable:NoExecute");
  EXPECT_EQ(taints("n1"), "");
  EXPECT_TRUE(has_event("NodeNotReady", "n0"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(LifecycleTest, AHeartbeatInTheStatusCountsAsWell) {
  node("n0");
  bench.start(reconciler);
  bench.loop.advance(30s);
  api.patch(
      kNodes, {"", "n0"},
      testing::parsed(R"({"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":"new"}]}})"),
      "status");
  bench.loop.advance(39s);
  EXPECT_EQ(ready("n0").substr(0, 4), "True");
  bench.loop.advance(1s);
  EXPECT_EQ(ready("n0").substr(0, 7), "Unknown");
}

TEST_F(LifecycleTest, ANodeThatComesBackLosesTheTaints) {
  node("n0", R"({"spec":{"taints":[{"key":"mine","effect":"NoSchedule"}]}})");
  node("n1");
  bench.start(reconciler);
  advance_renewing(50s, {"n1"});
  EXPECT_EQ(taints("n0"), "mine:NoSchedule unreachable:NoSchedule unreachable:NoExecute");
  renew("n0");
  api.patch(kNodes, {"", "n0"},
            testing::parsed(R"({"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady"}]}})"),
            "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(taints("n0"), "mine:NoSchedule");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

// A renewal says that the node is alive, not that it is well: that is for the node to say.
TEST_F(LifecycleTest, ARenewalAloneDoesNotMakeANodeReady) {
  node("n0");
  node("n1");
  bench.start(reconciler);
  advance_renewing(50s, {"n1"});
  advance_renewing(1min, {"n0", "n1"});
  EXPECT_EQ(ready("n0").substr(0, 7), "Unknown");
}

struct TaintCase {
  const char* name;
  const char* node;
  const char* want;
};

const TaintCase kTaintCases[] = {
    {"well", R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})", ""},
    {"not_ready", R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})",
     "not-ready:NoSchedule not-ready:NoExecute"},
    {"unknown", R"({"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
     "unreachable:NoSchedule unreachable:NoExecute"},
    {"from_one_to_the_other",
     R"({"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"},
                           {"key":"node.kubernetes.io/not-ready","effect":"NoExecute"}]},
         "status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})",
     "unreachable:NoSchedule unreachable:NoExecute"},
    {"new", R"({"spec":{"taints":[{"key":"node.kubernetes.io/not-ready","effect":"NoSchedule"}]},
                "status":{"conditions":null}})",
     "not-ready:NoSchedule"},
    {"pressures",
     R"({"status":{"conditions":[{"type":"Ready","status":"True"},{"type":"MemoryPressure","status":"True"},
        {"type":"DiskPressure","status":"True"},{"type":"PIDPressure","status":"True"},
        {"type":"NetworkUnavailable","status":"True"}]}})",
     "memory-pressure:NoSchedule disk-pressure:NoSchedule network-unavailable:NoSchedule pid-pressure:NoSchedule"},
    {"pressure_has_gone",
     R"({"spec":{"taints":[{"key":"node.kubernetes.io/memory-pressure","effect":"NoSchedule"}]},
         "status":{"conditions":[{"type":"Ready","status":"True"},{"type":"MemoryPressure","status":"False"}]}})",
     ""},
    {"cordoned", R"({"spec":{"unschedulable":true}})", "unschedulable:NoSchedule"},
    {"uncordoned", R"({"spec":{"taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]}})", ""},
    {"of_others",
     R"({"spec":{"taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoExecute"},
                           {"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}})",
     "unschedulable:NoExecute out-of-service:NoExecute"},
};

class ConditionTaintTest : public LifecycleTest, public ::testing::WithParamInterface<TaintCase> {};

TEST_P(ConditionTaintTest, TaintsAsKubernetesDoes) {
  node("n0", GetParam().node);
  node("other");
  bench.start(reconciler);
  EXPECT_EQ(taints("n0"), GetParam().want);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Taints, ConditionTaintTest, ::testing::ValuesIn(kTaintCases),
                         [](const auto& each) { return each.param.name; });

TEST_F(LifecycleTest, TaintsSayWhenTheyWereAdded) {
  node("n0", R"({"spec":{"unschedulable":true}})");
  bench.start(reconciler);
  const auto all = api::read_taints(api.tree(kNodes, {"", "n0"}));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].added, bench.loop.clock().wall());
}

TEST_F(LifecycleTest, NobodyIsEvictedWhileNoNodeIsReady) {
  node("n0");
  node("n1");
  bench.start(reconciler);
  bench.loop.advance(41s);
  EXPECT_EQ(taints("n0"), "unreachable:NoSchedule");
  EXPECT_EQ(taints("n1"), "unreachable:NoSchedule");
  api.patch(kNodes, {"", "n1"}, testing::parsed(R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"),
            "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(taints("n0"), "unreachable:NoSchedule unreachable:NoExecute");
  EXPECT_EQ(taints("n1"), "");
  api.remove(kNodes, {"", "n1"});
  bench.loop.run_until_idle();
  EXPECT_EQ(taints("n0"), "unreachable:NoSchedule");
}

TEST_F(LifecycleTest, PodsOfANodeThatIsNotReadyAreNotReadyEither) {
  const char* kReady = R"({"status":{"conditions":[{"type":"Ready","status":"True",
                             "lastTransitionTime":"2025-12-31T00:00:00Z"}]}})";
  for (const char* name : {"on-it", "elsewhere"}) {
    api.create(kPods, testing::a_pod("default", name)
                          .with(kReady)
                          .with(name == std::string("on-it") ? R"({"spec":{"nodeName":"n0"}})"
                                                             : R"({"spec":{"nodeName":"n1"}})"));
  }
  node("n0");
  node("n1");
  bench.start(reconciler);
  advance_renewing(50s, {"n1"});
  EXPECT_EQ(condition(kPods, {"default", "on-it"}, "Ready").substr(0, 5), "False");
  EXPECT_EQ(condition(kPods, {"default", "elsewhere"}, "Ready").substr(0, 4), "True");
  EXPECT_TRUE(has_event("NodeNotReady", "on-it"));
  // The node's agent says so itself: it knows better.
  json::Value back = json::Object();
  json::object_at(back, {"status"})["conditions"] = json::Array{json::Object{
      {"type", "Ready"}, {"status", "True"}, {"lastTransitionTime", to_rfc3339(bench.loop.clock().wall())}}};
  api.patch(kPods, {"default", "on-it"}, back, "status");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

// The process stood still for an hour, or the clock was set: nobody could renew anything that we would have seen.
TEST_F(LifecycleTest, APauseOfOursIsNobodysFault) {
  node("n0");
  renew("n0");
  bench.start(reconciler);
  const WallTime start = bench.loop.clock().wall();
  const api::ObjectKey key = client::key_of(kNodes, {"", "n0"});
  const auto later = reconciler.reconcile(key, client::View(bench.mirror, start + 1h));
  EXPECT_TRUE(later.allowed_now.empty());
  // Ten of the forty seconds have passed in our own time: twice the tick.
  EXPECT_EQ(later.look_again_at, start + 1h + 30s);
}

}  // namespace
}  // namespace gangway::controllers
