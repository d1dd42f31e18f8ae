#include "controllers/disruption.h"

#include <gtest/gtest.h>

#include <string>

#include "controllers/conditions.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kDeployments;
using client::resources::kDisruptionBudgets;
using client::resources::kPods;
using client::resources::kReplicaSets;
using client::resources::kStatefulSets;
using testing::an_object;

constexpr const char* kReady = R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})";

struct DisruptionTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  DisruptionController reconciler;

  void budget(const std::string& spec) {
    api.create(kDisruptionBudgets, an_object("policy/v1", "PodDisruptionBudget", "default", "b")
                                       .with(R"({"spec":{"selector":{"matchLabels":{"app":"x"}}}})")
                                       .with(R"({"spec":)" + spec + "}"));
  }
  api::Version set(const client::Resource& resource, const std::string& kind, int replicas,
                   const api::Version& owner = {}) {
    auto builder = an_object("apps/v1", kind, "default", "set");
    builder.with(R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}");
    if (owner) builder.owner("apps/v1", "Deployment", owner, true);
    return api.create(resource, builder);
  }
  void pod(const std::string& name, bool ready, const api::Version& owner = {}, const std::string& kind = "") {
    auto builder = testing::a_pod("default", name).label("app", "x");
    if (owner) builder.owner("apps/v1", kind, owner, true);
    if (ready) builder.with(kReady);
    api.create(kPods, builder);
  }
  // "healthy/desired/expected/allowed"
  std::string status() {
    const json::Value tree = api.tree(kDisruptionBudgets, {"default", "b"});
    std::string all;
    for (const char* key : {"currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed"}) {
      const json::Value* value = json::find(tree, {"status", key});
      all += (all.empty() ? "" : "/") + (value == nullptr ? "-" : json::serialize(*value));
    }
    return all;
  }
  std::string reason() {
    const json::Value tree = api.tree(kDisruptionBudgets, {"default", "b"});
    const json::Object* condition = find_condition(tree, "DisruptionAllowed");
    return condition == nullptr ? "none" : std::string(condition->at("reason").as_string());
  }
};

struct BudgetCase {
  const char* name;
  const char* spec;
  int replicas;
  int ready;
  int unready;
  const char* want;
};

// Worked out by hand from the rules: percentages of the scale, rounded up; integers of minAvailable count the pods.
const BudgetCase kBudgetCases[] = {
    {"min_int", R"({"minAvailable":2})", 5, 3, 0, "3/2/3/1"},
    {"min_int_short", R"({"minAvailable":3})", 5, 2, 1, "2/3/3/0"},
    {"min_percent_rounds_up", R"({"minAvailable":"50%"})", 5, 5, 0, "5/3/5/2"},
    {"min_percent_of_scale_not_pods", R"({"minAvailable":"50%"})", 10, 4, 0, "4/5/10/0"},
    {"max_int", R"({"maxUnavailable":1})", 3, 3, 0, "3/2/3/1"},
    {"max_int_one_down", R"({"maxUnavailable":1})", 3, 2, 1, "2/2/3/0"},
    {"max_percent_rounds_up", R"({"maxUnavailable":"30%"})", 5, 5, 0, "5/3/5/2"},
    {"max_above_scale", R"({"maxUnavailable":9})", 3, 3, 0, "3/0/3/3"},
    {"no_pods", R"({"minAvailable":0})", 3, 0, 0, "0/0/0/0"},
    {"min_full", R"({"minAvailable":"100%"})", 2, 2, 0, "2/2/2/0"},
};

class BudgetTest : public DisruptionTest, public ::testing::WithParamInterface<BudgetCase> {};

TEST_P(BudgetTest, CountsAsKubernetesDoes) {
  const BudgetCase& c = GetParam();
  budget(c.spec);
  const auto owner = set(kStatefulSets, "StatefulSet", c.replicas);
  for (int i = 0; i < c.ready; ++i) pod("r" + std::to_string(i), true, owner, "StatefulSet");
  for (int i = 0; i < c.unready; ++i) pod("u" + std::to_string(i), false, owner, "StatefulSet");
  bench.start(reconciler);
  EXPECT_EQ(status(), c.want);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Budgets, BudgetTest, ::testing::ValuesIn(kBudgetCases),
                         [](const auto& each) { return each.param.name; });

TEST_F(DisruptionTest, AReplicaSetCountsAsItsDeployment) {
  budget(R"({"maxUnavailable":1})");
  const auto deployment =
      api.create(kDeployments, an_object("apps/v1", "Deployment", "default", "d").with(R"({"spec":{"replicas":4}})"));
  const auto replica_set = set(kReplicaSets, "ReplicaSet", 2, deployment);
  pod("p", true, replica_set, "ReplicaSet");
  bench.start(reconciler);
  EXPECT_EQ(status(), "1/3/4/0");
  api.patch(kDeployments, {"default", "d"}, testing::parsed(R"({"spec":{"replicas":1}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(status(), "1/0/1/1");
  EXPECT_EQ(reason(), "SufficientPods");
}

TEST_F(DisruptionTest, PodsWithoutAControllerDoNotCountTowardsAScale) {
  budget(R"({"maxUnavailable":1})");
  pod("bare", true);
  bench.start(reconciler);
  EXPECT_EQ(status(), "1/0/0/0");
}

TEST_F(DisruptionTest, AnUnknownControllerAllowsNothingAndSaysSo) {
  budget(R"({"maxUnavailable":1})");
  const auto owner = set(kStatefulSets, "StatefulSet", 3);
  pod("p", true, owner, "Gizmo");
  bench.start(reconciler);
  EXPECT_EQ(status(), "-/-/-/0");
  EXPECT_EQ(reason(), "SyncFailed");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(DisruptionTest, FollowsPods) {
  budget(R"({"minAvailable":1})");
  bench.start(reconciler);
  EXPECT_EQ(status(), "0/1/0/0");
  EXPECT_EQ(reason(), "InsufficientPods");
  pod("a", true);
  pod("b", false);
  bench.loop.run_until_idle();
  EXPECT_EQ(status(), "1/1/2/0");
  api.patch(kPods, {"default", "b"}, testing::parsed(kReady), "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(status(), "2/1/2/1");
  api.patch(kPods, {"default", "b"}, testing::parsed(R"({"metadata":{"labels":{"app":"y"}}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(status(), "1/1/1/0");
}

TEST_F(DisruptionTest, AGrantedEvictionCountsForTwoMinutes) {
  budget(R"({"minAvailable":1})");
  pod("a", true);
  pod("b", true);
  bench.start(reconciler);
  EXPECT_EQ(status(), "2/1/2/1");
  json::Value granted = json::Object();
  json::object_at(granted, {"status", "disruptedPods"})["a"] = to_rfc3339(bench.loop.clock().wall());
  json::object_at(granted, {"status", "disruptedPods"})["long-gone"] = to_rfc3339(bench.loop.clock().wall());
  api.patch(kDisruptionBudgets, {"default", "b"}, granted, "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(status(), "1/1/2/0");
  const auto disrupted = [&] {
    const json::Value tree = api.tree(kDisruptionBudgets, {"default", "b"});
    const json::Value* map = json::find(tree, {"status", "disruptedPods"});
    return map == nullptr ? std::size_t{0} : map->as_object().size();
  };
  EXPECT_EQ(disrupted(), 1u);
  bench.loop.advance(119s);
  EXPECT_EQ(status(), "1/1/2/0");
  bench.loop.advance(5s);
  EXPECT_EQ(status(), "2/1/2/1");
  EXPECT_EQ(disrupted(), 0u);
}

TEST_F(DisruptionTest, ObservesTheGenerationOfTheSpec) {
  budget(R"({"minAvailable":1})");
  bench.start(reconciler);
  api.patch(kDisruptionBudgets, {"default", "b"}, testing::parsed(R"({"spec":{"minAvailable":2}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(
      json::serialize(*json::find(api.tree(kDisruptionBudgets, {"default", "b"}), {"status", "observedGeneration"})),
      "2");
}

}  // namespace
}  // namespace gangway::controllers
