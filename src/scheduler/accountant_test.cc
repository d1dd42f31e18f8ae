// The Accountant beside the scheduler on one fake cluster.
#include "scheduler/accountant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "client/resource.h"
#include "json/access.h"
#include "scheduler/scheduler.h"
#include "testing/builders.h"
#include "testing/controller_bench.h"

namespace gangway::scheduler {
namespace {

using namespace std::chrono_literals;
using client::resources::kNodes;
using client::resources::kPods;

constexpr const char* kSlow = R"({"metadata":{"finalizers":["test/slow"]}})";

struct AccountantTest : ::testing::Test {
  testing::ControllerBench bench;
  testing::FakeApi& api = bench.api;
  Scheduler scheduler;
  std::unique_ptr<Accountant> accountant = std::make_unique<Accountant>();
  std::unique_ptr<client::Controller> accounts;

  AccountantTest() {
    api.set_selectable_fields(kPods, {"spec.nodeName", "status.phase"});
    api.create(client::resources::kNamespaces, testing::a_namespace("default"));
  }

  void node(const std::string& name, int gpus) {
    api.create(kNodes, testing::an_object("v1", "Node", "", name)
                           .with(R"({"status":{"conditions":[{"type":"Ready","status":"True"}],
                                     "allocatable":{"cpu":"64","memory":"8Gi","pods":"900","nvidia.com/gpu":")" +
                                 std::to_string(gpus) + R"("}}})"));
  }
  void pod(const std::string& name, int gpus, int priority, const std::string& more = "{}",
           const std::string& and_more = "{}") {
    api.create(kPods, testing::a_pod("default", name)
                          .with(R"({"spec":{"schedulerName":"default-scheduler","containers":[
                                    {"name":"c","resources":{"requests":{"nvidia.com/gpu":")" +
                                std::to_string(gpus) + R"("}}}],"priority":)" + std::to_string(priority) + "}}")
                          .with(more)
                          .with(and_more));
    bench.loop.run_until_idle();
  }
  void member(const std::string& name, const std::string& more = "{}") {
    pod(name, 2, 0, R"({"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"g"}}})", more);
  }
  // As a node reports it.
  void begins(const std::string& name) {
    const std::string now = to_rfc3339(bench.loop.clock().wall());
    api.patch(kPods, {"default", name},
              testing::parsed(R"({"status":{"phase":"Running","startTime":")" + now + R"("}})"), "status");
    bench.loop.run_until_idle();
  }
  void end(const std::string& name) {
    api.patch(kPods, {"default", name}, testing::parsed(R"({"metadata":{"finalizers":null}})"));
    bench.loop.run_until_idle();
  }
  void start() {
    bench.start(scheduler);
    start_accounts();
  }
  void start_accounts() {
    accounts = std::make_unique<client::Controller>(api, bench.loop, bench.mirror, *accountant,
                                                    client::ControllerOptions{.name = "usage"});
    accounts->start();
    bench.loop.run_until_idle();
  }
  std::vector<Account> records() {
    std::vector<Account> all;
    for (const auto& [name, record] : api.objects(kUsageRecords)) all.push_back(read_account(record));
    return all;
  }
  std::size_t writes() {
    return static_cast<std::size_t>(std::count_if(api.writes().begin(), api.writes().end(),
                                                  [](const auto& write) { return write.resource == kUsageRecords; }));
  }
};

TEST_F(AccountantTest, AForcedDeletionIsCounted) {
  node("n0", 8);
  start();
  pod("p", 2, 0);
  begins("p");
  bench.loop.advance(100s);
  EXPECT_EQ(writes(), 0u) << "nothing is written while it runs";
  api.remove(kPods, {"default", "p"});
  bench.loop.run_until_idle();
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(total(records()[0].used), 2 * 100);
  EXPECT_EQ(records()[0].job, (JobRef{"default", "Pod", "p", "", ""}));
  EXPECT_EQ(writes(), 1u);
  bench.loop.advance(1h);
  EXPECT_EQ(writes(), 1u);
}

TEST_F(AccountantTest, NothingIsWrittenToANamespaceThatGoes) {
  node("n0", 8);
  start();
  pod("p", 2, 0);
  begins("p");
  bench.loop.advance(100s);
  api.patch(client::resources::kNamespaces, {"", "default"},
            testing::parsed(R"({"metadata":{"finalizers":["test/slow"]}})"));
  api.remove(client::resources::kNamespaces, {"", "default"});
  api.remove(kPods, {"default", "p"});
  bench.loop.advance(1h);
  EXPECT_EQ(writes(), 0u);
}

TEST_F(AccountantTest, PodsWithoutGpusCostNothing) {
  node("n0", 8);
  start();
  pod("p", 0, 0);
  begins("p");
  api.remove(kPods, {"default", "p"});
  bench.loop.advance(1min);
  EXPECT_EQ(writes(), 0u);
}

TEST_F(AccountantTest, APodThatGoesWhileNobodyLooksIsCountedWhenItWasToldToEnd) {
  node("n0", 8);
  start();
  pod("p", 2, 0, kSlow);
  begins("p");
  bench.loop.advance(100s);
  api.remove(kPods, {"default", "p"});
  bench.loop.run_until_idle();
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].ending.size(), 1u);
  accounts.reset();
  bench.loop.advance(10s);
  end("p");
  bench.loop.advance(1h);
  accountant = std::make_unique<Accountant>();
  start_accounts();
  EXPECT_EQ(total(records()[0].used), 2 * 100) << "to the end of the time that it was given";
  EXPECT_TRUE(records()[0].ending.empty());
}

TEST_F(AccountantTest, APreemptedGangShowsWhatItLostAndToWhom) {
  node("n0", 4);
  api.create(kPodGroups, testing::an_object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "default", "g")
                             .with(R"({"spec":{"minMember":2}})"));
  member("g-0", kSlow);
  member("g-1", kSlow);
  start();
  begins("g-0");
  begins("g-1");
  bench.loop.advance(100s);
  pod("high", 2, 10);
  begins("high");
  bench.loop.run_until_idle();
  const api::ObjectName name{"default", allotment_name(true, "g")};
  const json::Value shown = api.tree(kAllotments, name);
  EXPECT_EQ(json::integer_at(shown, {"status", "lostGpuSeconds"}), 4 * 100) << "the whole gang, since its start";
  const auto& to = json::array_at(shown, {"status", "lostTo"});
  ASSERT_EQ(to.size(), 1u);
  EXPECT_EQ(json::string_at(to[0], {"name"}), "high");
  EXPECT_EQ(json::integer_at(to[0], {"gpuSeconds"}), 400);
  EXPECT_EQ(json::integer_at(shown, {"status", "attempts"}), 1);
  const std::string victim =
      json::string_at(api.tree(kPods, {"default", "g-1"}), {"metadata", "deletionTimestamp"}).empty() ? "g-0" : "g-1";
  bench.loop.advance(10s);
  end(victim);
  EXPECT_EQ(json::integer_at(api.tree(kAllotments, name), {"status", "usedGpuSeconds"}), 2 * 110)
      << "of the one that went";
  api.forget_calls();
  bench.loop.advance(1h);
  EXPECT_EQ(api.writes().size(), 0u);
}

TEST_F(AccountantTest, RecordsAreKeptForAsLongAsTheConfigurationSays) {
  api.create(kConfigurations, testing::an_object("gangway.dev/v1alpha1", "Configuration", "", "default")
                                  .with(R"({"spec":{"usage":{"retention":"2h"}}})"));
  node("n0", 8);
  start();
  pod("p", 2, 0);
  begins("p");
  bench.loop.advance(100s);
  api.remove(kPods, {"default", "p"});
  bench.loop.advance(119min);
  EXPECT_EQ(records().size(), 1u);
  bench.loop.advance(2min);
  EXPECT_EQ(records().size(), 0u);
}

TEST_F(AccountantTest, ADeploymentIsKnownByItsName) {
  node("n0", 8);
  api.create(client::resources::kReplicaSets, testing::an_object("apps/v1", "ReplicaSet", "default", "web-5d8")
                                                  .owner("apps/v1", "Deployment", "web", "d", true));
  start();
  pod("web-5d8-x", 1, 0, R"({"metadata":{"ownerReferences":[
      {"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d8","uid":"r","controller":true}]}})");
  begins("web-5d8-x");
  bench.loop.advance(10s);
  api.remove(kPods, {"default", "web-5d8-x"});
  bench.loop.run_until_idle();
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].job.kind + "/" + records()[0].job.name, "Deployment/web");
}

// Whatever is refused, lost or late: every pod is counted, and once.
class AccountantWeatherTest : public AccountantTest, public ::testing::WithParamInterface<int> {};

TEST_P(AccountantWeatherTest, CountsEveryPodOnce) {
  node("n0", 1000);
  start();
  api.set_weather({.refused = 200, .lost = 200, .broken_watches = 50, .seed = static_cast<std::uint64_t>(GetParam())});
  int made = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string name = "p" + std::to_string(i % 7);
    const bool is_there = api.objects(kPods).contains({"default", name});
    if (is_there) {
      api.remove(kPods, {"default", name});
    } else {
      ++made;
      // It says itself that it had two GPUs for 50 seconds.
      pod(name, 2, 0, R"({"metadata":{"ownerReferences":[
              {"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u","controller":true}]},
              "spec":{"nodeName":"n0"},"status":{"phase":"Succeeded","startTime":"2026-01-01T00:00:00Z",
              "containerStatuses":[{"state":{"terminated":{"finishedAt":"2026-01-01T00:00:50Z"}}}]}})");
    }
    bench.loop.advance(500ms);
  }
  api.set_weather({});
  for (const auto& [name, pod] : std::map(api.objects(kPods))) api.remove(kPods, name);
  bench.loop.advance(5min);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(total(records()[0].used), made * 2 * 50);
}

INSTANTIATE_TEST_SUITE_P(Seeds, AccountantWeatherTest, ::testing::Range(1, 9));

}  // namespace
}  // namespace gangway::scheduler
