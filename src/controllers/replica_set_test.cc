#include "controllers/replica_set.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "api/conditions.h"
#include "api/owner.h"
#include "controllers/owned.h"
#include "controllers/pod_names.h"
#include "controllers/test_catalog.h"
#include "controllers/test_workloads.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kEvents;
using client::resources::kPods;
using client::resources::kReplicaSets;
using testing::a_pod;
using testing::an_error;
using testing::an_object;
using testing::parsed;

const api::ObjectName kSet{"default", "web"};

struct ReplicaSetTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  ReplicaSetController reconciler;
  LiveOwner live{api};

  api::Version set(int replicas, const std::string& more = "{}") {
    return api.create(kReplicaSets, an_object("apps/v1", "ReplicaSet", kSet.ns, kSet.name)
                                        .with(R"({"spec":{"selector":{"matchLabels":{"app":"x"}},
                                           "template":{"metadata":{"labels":{"app":"x","tier":"front"}},
                                                       "spec":{"containers":[{"name":"c","image":"i"}]}}}})")
                                        .with(R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}")
                                        .with(more));
  }
  void scale(int replicas) {
    api.patch(kReplicaSets, kSet, parsed(R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}"));
    bench.loop.run_until_idle();
  }
  void start() { bench.start(reconciler, &live); }
  void settle() { bench.loop.run_until_idle(); }
  std::set<std::string> pods() const {
    std::set<std::string> names;
    for (const auto& [name, pod] : api.objects(kPods)) names.insert(name.name);
    return names;
  }
  void set_status(const std::string& pod, const std::string& status) {
    api.patch(kPods, {kSet.ns, pod}, parsed(R"({"status":)" + status + "}"), "status");
  }
  void make_ready(const std::string& pod, const std::string& since = "2026-01-01T00:00:00Z") {
    set_status(pod, R"({"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":")" +
                        since + R"("}]})");
  }
  // "replicas/fully labeled/ready/available@generation"
  std::string status() const {
    const json::Value tree = api.tree(kReplicaSets, kSet);
    const auto number = [&](const char* key) { return std::to_string(json::integer_at(tree, {"status", key})); };
    return number("replicas") + "/" + number("fullyLabeledReplicas") + "/" + number("readyReplicas") + "/" +
           number("availableReplicas") + "@" + number("observedGeneration");
  }
  std::string failure() const {
    const json::Value tree = api.tree(kReplicaSets, kSet);
    const json::Object* condition = api::find_condition(tree, "ReplicaFailure");
    return condition == nullptr ? "none"
                                : std::string(condition->at("reason").as_string()) + ": " +
                                      std::string(condition->at("message").as_string());
  }
  std::set<std::string> events() const {
    const auto all = event_texts(api);
    return {all.begin(), all.end()};
  }
};

TEST_F(ReplicaSetTest, MakesThePodsOfItsTemplate) {
  const auto web = set(3);
  start();
  ASSERT_EQ(pods().size(), 3u);
  EXPECT_EQ(status(), "3/3/0/0@1");
  const std::string name = *pods().begin();
  const json::Value pod = api.tree(kPods, {kSet.ns, name});
  EXPECT_EQ(*json::find(pod, {"metadata", "labels"}), parsed(R"({"app":"x","tier":"front"})"));
  EXPECT_EQ(json::string_at(pod, {"metadata", "generateName"}), "web-");
  EXPECT_EQ(*json::find(pod, {"spec"}), parsed(R"({"containers":[{"name":"c","image":"i"}]})"));
  EXPECT_TRUE(api::is_controlled_by(*api.get(kPods, {kSet.ns, name}).header, web.header->uid));
  EXPECT_EQ(name.size(), std::string("web-").size() + 5);
  EXPECT_TRUE(events().contains("SuccessfulCreate: Created pod: " + name));
  EXPECT_EQ(events().size(), 3u);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(ReplicaSetTest, ReplacesWhatGoesAndWhatFinishes) {
  set(2);
  start();
  const auto first = pods();
  const std::string deleted = *first.begin();
  const std::string failed = *first.rbegin();
  api.remove(kPods, {kSet.ns, deleted});
  settle();
  EXPECT_EQ(pods().size(), 2u);
  EXPECT_FALSE(pods().contains(deleted)) << "a new pod has a new name";
  set_status(failed, R"({"phase":"Failed"})");
  settle();
  EXPECT_EQ(pods().size(), 3u) << "the failed one is left to others";
  EXPECT_EQ(status(), "2/2/0/0@1");
}

TEST_F(ReplicaSetTest, DoesNotWaitForWhatTerminates) {
  set(1);
  start();
  const std::string old = *pods().begin();
  api.patch(kPods, {kSet.ns, old}, parsed(R"({"metadata":{"finalizers":["a/b"]}})"));
  api.remove(kPods, {kSet.ns, old});
  settle();
  EXPECT_EQ(pods().size(), 2u);
  EXPECT_EQ(status(), "1/1/0/0@1");
}

TEST_F(ReplicaSetTest, ScalesDownInTheKnownOrder) {
  set(3);
  start();
  const auto all = pods();
  const std::string ready = *std::next(all.begin());
  for (const std::string& each : all) {
    api.patch(kPods, {kSet.ns, each}, parsed(R"({"spec":{"nodeName":"n0"}})"));
    set_status(each, R"({"phase":"Running"})");
  }
  make_ready(ready);
  settle();
  scale(1);
  EXPECT_EQ(pods(), (std::set<std::string>{ready}));
  EXPECT_TRUE(events().contains("SuccessfulDelete: Deleted pod: " + *all.begin()));
  EXPECT_EQ(status(), "1/1/1/1@2");
  scale(0);
  EXPECT_TRUE(pods().empty());
  EXPECT_EQ(status(), "0/0/0/0@3");
}

// Of two nodes with pods of the same deployment, the one with more of them gives first.
TEST_F(ReplicaSetTest, SiblingsCountAsNeighbours) {
  const auto above = api.create(client::resources::kDeployments, an_object("apps/v1", "Deployment", kSet.ns, "d"));
  const auto sibling =
      api.create(kReplicaSets, an_object("apps/v1", "ReplicaSet", kSet.ns, "old")
                                   .owner("apps/v1", "Deployment", above, true)
                                   .with(R"({"spec":{"replicas":1,"selector":{"matchLabels":{"app":"y"}},
                                                       "template":{"metadata":{"labels":{"app":"y"}}}}})"));
  const auto web = api.create(kReplicaSets, an_object("apps/v1", "ReplicaSet", kSet.ns, kSet.name)
                                                .owner("apps/v1", "Deployment", above, true)
                                                .with(R"({"spec":{"replicas":1,"selector":{"matchLabels":{"app":"x"}},
                                                   "template":{"metadata":{"labels":{"app":"x"}}}}})"));
  const auto on = [&](const char* name, const char* app, const char* node, const api::Version& owner) {
    api.create(kPods, a_pod(kSet.ns, name)
                          .label("app", app)
                          .owner("apps/v1", "ReplicaSet", owner, true)
                          .with(std::string(R"({"status":{"phase":"Running"},"spec":{"nodeName":")") + node + "\"}}"));
  };
  on("lonely", "x", "n0", web);
  on("crowded", "x", "n1", web);
  on("sibling", "y", "n1", sibling);
  start();
  EXPECT_EQ(pods(), (std::set<std::string>{"lonely", "sibling"}));
}

TEST_F(ReplicaSetTest, CountsWhatIsReadyLongEnough) {
  set(2, R"({"spec":{"minReadySeconds":30}})");
  start();
  const auto all = pods();
  make_ready(*all.begin());
  settle();
  EXPECT_EQ(status(), "2/2/1/0@1");
  bench.loop.advance(29s);
  EXPECT_EQ(status(), "2/2/1/0@1");
  bench.loop.advance(1s);
  EXPECT_EQ(status(), "2/2/1/1@1");
  api.patch(kPods, {kSet.ns, *all.begin()}, parsed(R"({"metadata":{"labels":{"tier":"back"}}})"));
  settle();
  EXPECT_EQ(status(), "2/1/1/1@1");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(ReplicaSetTest, AdoptsInsteadOfMaking) {
  api.create(kPods, a_pod(kSet.ns, "bare").label("app", "x"));
  api.create(kPods, a_pod(kSet.ns, "done").label("app", "x").with(R"({"status":{"phase":"Succeeded"}})"));
  const auto web = set(2);
  start();
  EXPECT_EQ(pods().size(), 3u);
  EXPECT_TRUE(api::is_controlled_by(*api.get(kPods, {kSet.ns, "bare"}).header, web.header->uid));
  EXPECT_TRUE(api.get(kPods, {kSet.ns, "done"}).header->owners.empty());
  EXPECT_EQ(status(), "2/1/0/0@1");
}

TEST_F(ReplicaSetTest, APodThatIsRelabelledIsReplaced) {
  set(1);
  start();
  const std::string old = *pods().begin();
  api.patch(kPods, {kSet.ns, old}, parsed(R"({"metadata":{"labels":{"app":"debug"}}})"));
  settle();
  EXPECT_EQ(pods().size(), 2u);
  EXPECT_TRUE(api.get(kPods, {kSet.ns, old}).header->owners.empty());
}

TEST_F(ReplicaSetTest, ASetThatIsBeingDeletedMakesNothing) {
  set(2, R"({"metadata":{"finalizers":["foregroundDeletion"]}})");
  api.remove(kReplicaSets, kSet);
  start();
  EXPECT_TRUE(pods().empty());
}

TEST_F(ReplicaSetTest, SaysWhyPodsAreRefusedAndTriesOneAtATime) {
  Error quota = an_error(Reason::kForbidden);
  quota.message = "exceeded quota";
  api.inject({.when = [](const client::ApiRequest& request) { return request.resource == kPods; },
              .error = quota,
              .times = 4});
  set(5);
  start();
  EXPECT_EQ(api.writes().size(), 3u) << "one pod, the status, one event";
  bench.loop.advance(20ms);
  EXPECT_EQ(failure(), "FailedCreate: exceeded quota");
  EXPECT_TRUE(events().contains("FailedCreate: Error creating: exceeded quota"));
  bench.loop.advance(1s);
  EXPECT_EQ(pods().size(), 5u);
  EXPECT_EQ(failure(), "none");
}

TEST_F(ReplicaSetTest, GrowsInSteps) {
  set(40);
  bench.api.set_answer_lag(1ms);
  std::vector<std::size_t> sizes;
  bench.start(reconciler, &live);
  for (int i = 0; i < 100; ++i) {
    if (sizes.empty() || sizes.back() != pods().size()) sizes.push_back(pods().size());
    bench.loop.advance(1ms);
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{0, 1, 2, 4, 8, 16, 32, 40}));
}

// The name that follows is taken by somebody else's pod, whom the set may not count as its own.
TEST_F(ReplicaSetTest, PassesOverNamesThatOthersHave) {
  const auto web = set(1);
  const std::string first = PodNames("web", web.header->uid).name(0);
  const std::string second = PodNames("web", web.header->uid).name(1);
  api.create(kPods, a_pod(kSet.ns, first));
  start();
  EXPECT_EQ(pods(), (std::set<std::string>{first, second}));
}

TEST_F(ReplicaSetTest, PassesOverNamesThatTurnOutToBeTaken) {
  const auto web = set(1);
  start();
  api.remove(kPods, {kSet.ns, *pods().begin()});
  settle();
  ASSERT_EQ(pods().size(), 1u);
  // The mirror does not show the other pod in time.
  api.set_watch_lag(kPods, 1s);
  api.create(kPods, a_pod(kSet.ns, PodNames("web", web.header->uid).name(2)));
  scale(2);
  bench.loop.advance(5s);
  EXPECT_TRUE(pods().contains(PodNames("web", web.header->uid).name(3)));
  EXPECT_EQ(pods().size(), 3u);
}

// Steps double up to 500 at a time: 1, 2, 4 … 512, then nine more; a pod that is not read again costs little.
TEST_F(ReplicaSetTest, ManyPodsTakeFewLooks) {
  set(5000);
  client::Controller many(api, bench.loop, bench.mirror, reconciler,
                          {.name = "replicaset-controller", .restless_looks = 64}, &live);
  many.start();
  settle();
  EXPECT_EQ(pods().size(), 5000u);
  EXPECT_EQ(status(), "5000/5000/0/0@1");
  EXPECT_LE(many.status().looks, 25u);
  EXPECT_LE(api.objects(kEvents).size(), 25u) << "nobody reads five thousand events";
}

}  // namespace
}  // namespace gangway::controllers
