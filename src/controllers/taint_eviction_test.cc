#include "controllers/taint_eviction.h"

#include <gtest/gtest.h>

#include <string>

#include "api/conditions.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kEvents;
using client::resources::kNodes;
using client::resources::kPods;

const WallTime kStart = WallTime(1000s);

struct TimeCase {
  const char* name;
  std::vector<api::Taint> taints;
  std::vector<api::Toleration> tolerations;
  WallTime bound;
  std::optional<WallTime> want;
};

api::Taint taint(const char* key, WallTime added) {
  return {key, "", "NoExecute", added};
}

const TimeCase kTimeCases[] = {
    {"no_taints", {}, {}, kStart, {}},
    {"not_tolerated", {taint("a", kStart)}, {}, kStart, WallTime()},
    {"tolerated_for_ever", {taint("a", kStart)}, {{"a", "Exists", "", ""}}, kStart, {}},
    {"tolerated_for_a_while", {taint("a", kStart)}, {{"a", "Exists", "", "NoExecute", 300}}, kStart, kStart + 300s},
    {"the_first_toleration_counts",
     {taint("a", kStart)},
     {{"a", "Exists", "", "", 10}, {"a", "Exists", "", ""}},
     kStart,
     kStart + 10s},
    {"the_shortest_of_several_taints",
     {taint("a", kStart), taint("b", kStart + 50s)},
     {{"a", "Exists", "", "", 300}, {"b", "Exists", "", "", 60}},
     kStart,
     kStart + 110s},
    {"one_of_several_is_not_tolerated",
     {taint("a", kStart), taint("b", kStart)},
     {{"a", "Exists", "", "", 300}},
     kStart,
     WallTime()},
    {"from_when_the_pod_came", {taint("a", kStart)}, {{"a", "Exists", "", "", 30}}, kStart + 100s, kStart + 130s},
    {"negative_seconds_are_none", {taint("a", kStart)}, {{"a", "Exists", "", "", -5}}, kStart, kStart},
};

class EvictionTimeTest : public ::testing::TestWithParam<TimeCase> {};

TEST_P(EvictionTimeTest, IsWhenTheFirstToleranceEnds) {
  EXPECT_EQ(eviction_time(GetParam().taints, GetParam().tolerations, GetParam().bound), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Times, EvictionTimeTest, ::testing::ValuesIn(kTimeCases),
                         [](const auto& each) { return each.param.name; });

struct EvictionTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  TaintEviction reconciler;

  EvictionTest() { api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"}); }

  void pod(const std::string& name, const std::string& more = "{}") {
    api.create(kPods, testing::a_pod("default", name).with(R"({"spec":{"nodeName":"n0"}})").with(more));
  }
  void node(const std::string& taints) {
    api.create(kNodes, testing::an_object("v1", "Node", "", "n0").with(R"({"spec":{"taints":)" + taints + "}}"));
  }
  void set_taints(const std::string& taints) {
    api.patch(kNodes, {"", "n0"}, testing::parsed(R"({"spec":{"taints":)" + taints + "}}"));
    bench.loop.run_until_idle();
  }
  bool is_there(const std::string& name) { return static_cast<bool>(api.get(kPods, {"default", name})); }
};

TEST_F(EvictionTest, DeletesWhoDoesNotTolerateAndSaysWhy) {
  pod("kept", R"({"metadata":{"finalizers":["example.com/hold"]}})");
  pod("tolerant", R"({"spec":{"tolerations":[{"key":"k","operator":"Exists"}]}})");
  pod("ended", R"({"status":{"phase":"Succeeded"}})");
  pod("elsewhere", R"({"spec":{"nodeName":"n1"}})");
  node("[]");
  bench.start(reconciler);
  EXPECT_TRUE(api.writes().empty());
  set_taints(R"([{"key":"k","effect":"NoExecute"}])");
  const api::Version pod = api.get(kPods, {"default", "kept"});
  EXPECT_TRUE(pod.header->deleting_since);
  const json::Value tree = api.tree(kPods, {"default", "kept"});
  const json::Object* condition = api::find_condition(tree, "DisruptionTarget");
  ASSERT_NE(condition, nullptr);
  EXPECT_EQ(condition->at("status"), "True");
  EXPECT_EQ(condition->at("reason"), "DeletionByTaintManager");
  EXPECT_EQ(condition->at("message"), "Taint manager: deleting due to NoExecute taint");
  for (const char* name : {"tolerant", "ended", "elsewhere"})
    EXPECT_FALSE(api.get(kPods, {"default", name}).header->deleting_since) << name;
  ASSERT_EQ(api.objects(kEvents).size(), 1u);
  const json::Value event = api.tree(kEvents, api.objects(kEvents).begin()->first);
  EXPECT_EQ(json::string_at(event, {"reason"}), "TaintManagerEviction");
  EXPECT_EQ(json::string_at(event, {"message"}), "Marking for deletion Pod default/kept");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(EvictionTest, OtherEffectsEvictNobody) {
  pod("p");
  node(R"([{"key":"k","effect":"NoSchedule"}])");
  bench.start(reconciler);
  bench.loop.advance(1h);
  EXPECT_TRUE(is_there("p"));
}

TEST_F(EvictionTest, WaitsExactlyAsLongAsTheTaintIsTolerated) {
  pod("p",
      R"({"spec":{"tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}})");
  node("[]");
  bench.start(reconciler);
  set_taints(R"([{"key":"k","effect":"NoExecute"}])");
  bench.loop.advance(299'999ms);
  EXPECT_TRUE(is_there("p"));
  bench.loop.advance(1ms);
  EXPECT_FALSE(is_there("p"));
}

TEST_F(EvictionTest, ATaintThatGoesInTimeEvictsNobody) {
  pod("p",
      R"({"spec":{"tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}})");
  node(R"([{"key":"k","effect":"NoExecute"}])");
  bench.start(reconciler);
  bench.loop.advance(200s);
  set_taints("[]");
  bench.loop.advance(1h);
  EXPECT_TRUE(is_there("p"));
  // A new taint is a new time.
  set_taints(R"([{"key":"k","effect":"NoExecute"}])");
  bench.loop.advance(299s);
  EXPECT_TRUE(is_there("p"));
  bench.loop.advance(1s);
  EXPECT_FALSE(is_there("p"));
}

// The clock does not begin again because something else about the node changed.
TEST_F(EvictionTest, ATaintThatStaysKeepsItsTime) {
  pod("p",
      R"({"spec":{"tolerations":[{"key":"k","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}})");
  node(R"([{"key":"k","effect":"NoExecute"}])");
  bench.start(reconciler);
  bench.loop.advance(200s);
  set_taints(R"([{"key":"k","effect":"NoExecute"},{"key":"other","effect":"NoSchedule"}])");
  bench.loop.advance(100s);
  EXPECT_FALSE(is_there("p"));
}

TEST_F(EvictionTest, APodThatComesLaterGoesToo) {
  node(R"([{"key":"k","effect":"NoExecute"}])");
  bench.start(reconciler);
  pod("p");
  bench.loop.run_until_idle();
  EXPECT_FALSE(is_there("p"));
}

TEST_F(EvictionTest, EvictsThroughBadWeather) {
  api.set_weather({.refused = 200, .lost = 200, .broken_watches = 50, .seed = 3});
  node("[]");
  for (int i = 0; i < 30; ++i) pod("p" + std::to_string(i));
  bench.start(reconciler);
  set_taints(R"([{"key":"k","effect":"NoExecute"}])");
  bench.loop.advance(10min);
  EXPECT_TRUE(api.objects(kPods).empty());
}

}  // namespace
}  // namespace gangway::controllers
