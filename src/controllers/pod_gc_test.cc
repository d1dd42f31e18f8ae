#include "controllers/pod_gc.h"

#include <gtest/gtest.h>

#include <string>

#include "api/conditions.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kNodes;
using client::resources::kPods;

struct PodGcTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  PodGc reconciler{{.kept = 3}};

  PodGcTest() { api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"}); }

  void node(const std::string& name, const std::string& more = "{}") {
    api.create(kNodes, testing::an_object("v1", "Node", "", name).with(more));
  }
  void pod(const std::string& name, const std::string& more = "{}") {
    api.create(kPods, testing::a_pod("default", name).with(more));
  }
  bool is_there(const std::string& name) { return static_cast<bool>(api.get(kPods, {"default", name})); }
  std::string names() {
    std::string all;
    for (const auto& [name, version] : api.objects(kPods)) all += (all.empty() ? "" : " ") + name.name;
    return all;
  }
};

TEST_F(PodGcTest, TakesThePodsOfANodeThatStaysAway) {
  node("n0");
  node("n1");
  pod("on-it", R"({"spec":{"nodeName":"n0"},"status":{"phase":"Running"},
                   "metadata":{"finalizers":["example.com/hold"]}})");
  pod("elsewhere", R"({"spec":{"nodeName":"n1"}})");
  pod("ended", R"({"spec":{"nodeName":"n0"},"status":{"phase":"Succeeded"}})");
  bench.start(reconciler);
  api.remove(kNodes, {"", "n0"});
  bench.loop.advance(39'999ms);
  EXPECT_FALSE(api.get(kPods, {"default", "on-it"}).header->deleting_since);
  bench.loop.advance(1ms);
  EXPECT_TRUE(api.get(kPods, {"default", "on-it"}).header->deleting_since);
  const json::Value tree = api.tree(kPods, {"default", "on-it"});
  EXPECT_EQ(json::string_at(tree, {"status", "phase"}), "Failed");
  const json::Object* target = api::find_condition(tree, "DisruptionTarget");
  ASSERT_NE(target, nullptr);
  EXPECT_EQ(target->at("reason"), "DeletionByPodGC");
  EXPECT_EQ(target->at("message"), "PodGC: node no longer exists");
  EXPECT_TRUE(is_there("elsewhere"));
  EXPECT_FALSE(is_there("ended"));
  EXPECT_EQ(json::integer_at(testing::parsed(api.writes().back().body), {"gracePeriodSeconds"}, -1), 0);
}

TEST_F(PodGcTest, ANodeThatComesBackKeepsItsPods) {
  node("n0");
  pod("p", R"({"spec":{"nodeName":"n0"}})");
  bench.start(reconciler);
  api.remove(kNodes, {"", "n0"});
  bench.loop.advance(30s);
  node("n0");
  bench.loop.advance(10min);
  EXPECT_TRUE(is_there("p"));
  // The time begins again.
  api.remove(kNodes, {"", "n0"});
  bench.loop.advance(39s);
  EXPECT_TRUE(is_there("p"));
  bench.loop.advance(1s);
  EXPECT_FALSE(is_there("p"));
}

TEST_F(PodGcTest, FindsOrphansWhenItStarts) {
  pod("p", R"({"spec":{"nodeName":"long-gone"}})");
  bench.start(reconciler);
  bench.loop.advance(40s);
  EXPECT_FALSE(is_there("p"));
}

// Whoever holds it waits to see how it ended.
TEST_F(PodGcTest, SaysThatPodsHaveFailedThatAreDeletedOnNoNode) {
  for (const char* name : {"p", "other"}) pod(name, R"({"metadata":{"finalizers":["example.com/hold"]}})");
  api.remove(kPods, {"default", "p"});
  bench.start(reconciler);
  EXPECT_EQ(json::string_at(api.tree(kPods, {"default", "p"}), {"status", "phase"}), "Failed");
  EXPECT_EQ(json::string_at(api.tree(kPods, {"default", "other"}), {"status", "phase"}), "");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(PodGcTest, FinishesDeletionsOnNodesThatAreOutOfService) {
  const char* kOut = R"({"spec":{"taints":[{"key":"node.kubernetes.io/out-of-service","effect":"NoExecute"}]}})";
  node("out", kOut);
  node("back", kOut);
  api.patch(kNodes, {"", "back"}, testing::parsed(R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"),
            "status");
  for (const char* name : {"out", "back"}) {
    pod(name, R"({"spec":{"nodeName":")" + std::string(name) + R"("},"metadata":{"finalizers":["example.com/hold"]}})");
    api.remove(kPods, {"default", name});
  }
  pod("runs", R"({"spec":{"nodeName":"out"}})");
  bench.start(reconciler);
  EXPECT_EQ(json::string_at(api.tree(kPods, {"default", "out"}), {"status", "phase"}), "Failed");
  EXPECT_EQ(json::string_at(api.tree(kPods, {"default", "back"}), {"status", "phase"}), "");
  EXPECT_EQ(json::string_at(api.tree(kPods, {"default", "runs"}), {"status", "phase"}), "");
}

TEST_F(PodGcTest, KeepsSoManyThatHaveEndedAndNoMore) {
  bench.start(reconciler);
  const char* kEnded[] = {"a-first", "b-evicted", "c", "d", "e"};
  for (const char* name : kEnded) {
    pod(name, name == std::string("b-evicted") ? R"({"status":{"phase":"Failed","reason":"Evicted"}})"
                                               : R"({"status":{"phase":"Succeeded"}})");
    pod(std::string("running-") + name, R"({"status":{"phase":"Running"}})");
    bench.loop.advance(1s);
  }
  EXPECT_EQ(names(), "c d e running-a-first running-b-evicted running-c running-d running-e");
  // b went first: it was one too many when d came, and it had been evicted. Then a, the oldest.
  std::vector<std::string> deleted;
  for (const auto& write : api.writes())
    if (write.method == client::Method::kDelete) deleted.push_back(write.object.name);
  EXPECT_EQ(deleted, (std::vector<std::string>{"b-evicted", "a-first"}));
}

}  // namespace
}  // namespace gangway::controllers
