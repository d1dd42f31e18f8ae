// The laws of workloads under faults: writes refused, answers lost, watches broken off and late.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "controllers/stateful_pods.h"
#include "controllers/stateful_set.h"
#include "controllers/test_workloads.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kDeployments;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPods;
using client::resources::kReplicaSets;
using client::resources::kStatefulSets;
using testing::an_object;
using testing::parsed;

const api::ObjectName kSet{"default", "front"};
const api::ObjectName kWeb{"default", "web"};
const api::ObjectName kDb{"default", "db"};

json::Value a_stateful_set() {
  return an_object("apps/v1", "StatefulSet", kDb.ns, kDb.name)
      .with(R"({"spec":{"replicas":4,"serviceName":"dbs","selector":{"matchLabels":{"app":"x"}},
                "template":{"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}},
                "volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"]}}]}})")
      .json();
}

// However the answers are lost and the watches break, there are never more pods than asked for.
TEST(WorkloadWeatherTest, AReplicaSetNeverHasTooManyPods) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    testing::ManualLoop loop;
    testing::FakeApi stormy(loop);
    ReplicaSetController reconciler;
    LiveOwner reader(stormy);
    client::Mirror mirror(stormy, loop, seed);
    client::Controller controller(stormy, loop, mirror, reconciler, {.name = "replicaset-controller"}, &reader);
    stormy.set_watch_lag(kPods, 40ms);
    stormy.set_weather({.refused = 150, .lost = 150, .broken_watches = 20, .seed = seed});
    stormy.create(kReplicaSets, an_object("apps/v1", "ReplicaSet", kSet.ns, kSet.name)
                                    .with(R"({"spec":{"replicas":12,"selector":{"matchLabels":{"app":"x"}},
                                       "template":{"metadata":{"labels":{"app":"x"}},"spec":{}}}})"));
    controller.start();
    std::size_t most = 0;
    for (int i = 0; i < 6000; ++i) {
      loop.advance(10ms);
      most = std::max(most, stormy.objects(kPods).size());
      // A pod goes every two seconds, so that replacements are made too.
      if (i % 200 == 199) stormy.remove(kPods, stormy.objects(kPods).begin()->first);
    }
    EXPECT_LE(most, 12u) << "seed " << seed;
    stormy.set_weather({});
    loop.advance(5min);
    EXPECT_EQ(stormy.objects(kPods).size(), 12u) << "seed " << seed;
    EXPECT_EQ(json::integer_at(stormy.tree(kReplicaSets, kSet), {"status", "replicas"}), 12) << "seed " << seed;
    EXPECT_TRUE(controller.is_idle()) << "seed " << seed;
  }
}

// The laws of a rolling update, whatever gets lost: never more than replicas + maxSurge pods, and, once it was fully
// available, never fewer than replicas − maxUnavailable that are.
TEST(WorkloadWeatherTest, ADeploymentKeepsItsLaws) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    WorkloadCluster cluster(seed);
    testing::FakeApi& api = cluster.api;
    api.create(kDeployments, an_object("apps/v1", "Deployment", kWeb.ns, kWeb.name)
                                 .with(R"({"spec":{"replicas":8,"selector":{"matchLabels":{"app":"x"}},
                                    "strategy":{"type":"RollingUpdate",
                                                "rollingUpdate":{"maxSurge":2,"maxUnavailable":1}},
                                    "template":{"metadata":{"labels":{"app":"x"}},
                                                "spec":{"containers":[{"name":"c","image":"i:0"}]}}}})"));
    cluster.start();
    cluster.make_all_ready();
    api.set_watch_lag(kPods, 30ms);
    api.set_watch_lag(kReplicaSets, 20ms);
    api.set_weather({.refused = 100, .lost = 100, .broken_watches = 10, .seed = seed});
    for (int i = 0; i < 2400; ++i) {
      if (i % 800 == 0) {
        const std::string image = "i:" + std::to_string(i / 800 + 1);
        api.patch(kDeployments, kWeb,
                  parsed(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}}})"));
      }
      cluster.loop.advance(10ms);
      if (i % 3 == 0) cluster.make_one_ready();
      std::size_t ready = 0;
      for (const auto& [name, pod] : api.objects(kPods)) ready += is_ready(pod) ? 1 : 0;
      ASSERT_LE(api.objects(kPods).size(), 10u) << "seed " << seed << " step " << i;
      ASSERT_GE(ready, 7u) << "seed " << seed << " step " << i;
    }
    api.set_weather({});
    for (int i = 0; i < 100; ++i) {
      cluster.loop.advance(10s);
      cluster.make_all_ready();
    }
    const json::Value web = api.tree(kDeployments, kWeb);
    EXPECT_EQ(json::integer_at(web, {"status", "availableReplicas"}), 8) << "seed " << seed;
    EXPECT_EQ(json::integer_at(web, {"status", "updatedReplicas"}), 8) << "seed " << seed;
    EXPECT_EQ(api.objects(kPods).size(), 8u) << "seed " << seed;
    EXPECT_TRUE(cluster.deployment_controller.is_idle() && cluster.set_controller.is_idle()) << "seed " << seed;
  }
}

// Whatever gets lost: in order, so that never more than one pod is not ready; and the right pods in the end.
TEST(WorkloadWeatherTest, AStatefulSetKeepsItsOrder) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    testing::ManualLoop loop;
    testing::FakeApi api(loop);
    StatefulSetController reconciler;
    LiveOwner live(api);
    client::Mirror mirror(api, loop, seed);
    client::Controller controller(api, loop, mirror, reconciler, {.name = "statefulset-controller"}, &live);
    api.set_watch_lag(kPods, 30ms);
    api.set_watch_lag(kPersistentVolumeClaims, 20ms);
    api.set_weather({.refused = 120, .lost = 120, .broken_watches = 10, .seed = seed});
    api.create(kStatefulSets, a_stateful_set());
    controller.start();
    for (int i = 0; i < 3000; ++i) {
      loop.advance(10ms);
      if (i == 1500)
        api.patch(kStatefulSets, kDb,
                  parsed(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":"i:2"}]}}}})"));
      std::vector<api::ObjectName> unready;
      for (const auto& [name, pod] : api.objects(kPods))
        if (!is_ready(pod)) unready.push_back(name);
      ASSERT_LE(unready.size(), 1u) << "seed " << seed << " step " << i;
      ASSERT_LE(api.objects(kPods).size(), 4u) << "seed " << seed << " step " << i;
      if (i % 5 == 0 && !unready.empty())
        api.patch(kPods, unready[0],
                  parsed(R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})"),
                  "status");
    }
    api.set_weather({});
    for (int i = 0; i < 20; ++i) {
      loop.advance(1min);
      for (int ordinal = 0; ordinal < 4; ++ordinal) {
        const api::ObjectName name{kDb.ns, pod_name(kDb.name, ordinal)};
        if (api.get(kPods, name))
          api.patch(kPods, name,
                    parsed(R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})"),
                    "status");
      }
    }
    const json::Value db = api.tree(kStatefulSets, kDb);
    EXPECT_EQ(json::integer_at(db, {"status", "updatedReplicas"}), 4) << "seed " << seed;
    EXPECT_EQ(json::integer_at(db, {"status", "readyReplicas"}), 4) << "seed " << seed;
    EXPECT_EQ(json::string_at(db, {"status", "currentRevision"}), json::string_at(db, {"status", "updateRevision"}));
    EXPECT_EQ(api.objects(kPersistentVolumeClaims).size(), 4u) << "seed " << seed;
    EXPECT_TRUE(controller.is_idle()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace gangway::controllers
