#include "controllers/stateful_set.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "api/owner.h"
#include "controllers/owned.h"
#include "controllers/stateful_pods.h"
#include "controllers/test_catalog.h"
#include "controllers/test_workloads.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kControllerRevisions;
using client::resources::kPersistentVolumeClaims;
using client::resources::kPods;
using client::resources::kStatefulSets;
using testing::a_pod;
using testing::an_object;
using testing::parsed;

const api::ObjectName kDb{"default", "db"};

testing::ObjectBuilder a_set(const std::string& spec) {
  return an_object("apps/v1", "StatefulSet", kDb.ns, kDb.name)
      .with(R"({"spec":{"serviceName":"dbs","selector":{"matchLabels":{"app":"x"}},"revisionHistoryLimit":10,
                "updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}},
                "template":{"metadata":{"labels":{"app":"x"}},
                            "spec":{"containers":[{"name":"c","image":"i:1"}]}}}})")
      .with(R"({"spec":)" + spec + "}");
}

constexpr const char* kClaims = R"("volumeClaimTemplates":[{"metadata":{"name":"data","labels":{"kind":"disk"}},
    "spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}])";

struct StatefulSetTest : ::testing::Test {
  Bench bench;
  testing::FakeApi& api = bench.api;
  StatefulSetController reconciler;
  LiveOwner live{api};

  void start(const std::string& spec) {
    api.create(kStatefulSets, a_set(spec));
    bench.start(reconciler, &live);
  }
  void settle() { bench.loop.run_until_idle(); }
  void edit(const std::string& patch) {
    api.patch(kStatefulSets, kDb, parsed(patch));
    settle();
  }
  void set_image(const std::string& image) {
    edit(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}}})");
  }
  void make_ready(const std::string& pod) {
    controllers::make_ready(api, bench.loop, {kDb.ns, pod});
    settle();
  }
  void make_all_ready() {
    for (int round = 0; round < 50; ++round) {
      std::string next;
      for (const auto& [name, pod] : api.objects(kPods))
        if (next.empty() && !is_ready(pod)) next = name.name;
      if (next.empty()) return;
      make_ready(next);
    }
  }
  template <class Container>
  static std::string joined(const Container& names) {
    std::string all;
    for (const std::string& name : names) all += (all.empty() ? "" : " ") + name;
    return all;
  }
  std::string names(const client::Resource& resource) const {
    std::vector<std::string> all;
    for (const auto& [name, object] : api.objects(resource)) all.push_back(name.name);
    return joined(all);
  }
  std::string pods() const { return names(kPods); }
  json::Value pod(const std::string& name) const { return api.tree(kPods, {kDb.ns, name}); }
  std::string image(const std::string& name) const {
    return std::string(json::string_at(json::array_at(pod(name), {"spec", "containers"})[0], {"image"}));
  }
  std::string uid(const std::string& name) const { return api.get(kPods, {kDb.ns, name}).header->uid; }
  json::Value db() const { return api.tree(kStatefulSets, kDb); }
  // "replicas/ready/available/current/updated@generation"
  std::string status() const {
    const json::Value tree = db();
    const auto number = [&](const char* key) { return std::to_string(json::integer_at(tree, {"status", key})); };
    return number("replicas") + "/" + number("readyReplicas") + "/" + number("availableReplicas") + "/" +
           number("currentReplicas") + "/" + number("updatedReplicas") + "@" + number("observedGeneration");
  }
  std::string revision(const char* which) const { return std::string(json::string_at(db(), {"status", which})); }
  std::set<std::string> events() const {
    const auto all = event_texts(api);
    return {all.begin(), all.end()};
  }
  // The owners of a claim: "StatefulSet", "Pod", or nothing.
  std::string owners(const std::string& claim) const {
    std::vector<std::string> kinds;
    for (const auto& owner : api.get(kPersistentVolumeClaims, {kDb.ns, claim}).header->owners)
      kinds.push_back(owner.kind + (owner.controller ? "" : "?"));
    return joined(kinds);
  }
};

TEST_F(StatefulSetTest, MakesPodsOneAfterTheOther) {
  start(R"({"replicas":3})");
  EXPECT_EQ(pods(), "db-0");
  make_ready("db-0");
  EXPECT_EQ(pods(), "db-0 db-1");
  bench.loop.advance(1min);
  EXPECT_EQ(pods(), "db-0 db-1") << "the second is not ready";
  make_all_ready();
  EXPECT_EQ(pods(), "db-0 db-1 db-2");
  EXPECT_EQ(status(), "3/3/3/3/3@1");
  EXPECT_TRUE(events().contains("SuccessfulCreate: create Pod db-2 in StatefulSet db successful"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(StatefulSetTest, PodsKnowWhoTheyAre) {
  start(R"({"replicas":1,"ordinals":{"start":4}})");
  ASSERT_EQ(pods(), "db-4");
  const json::Value made = pod("db-4");
  const std::string its_revision = revision("updateRevision");
  EXPECT_EQ(*json::find(made, {"metadata", "labels"}),
            json::Value(json::Object{{"app", "x"},
                                     {"statefulset.kubernetes.io/pod-name", "db-4"},
                                     {"apps.kubernetes.io/pod-index", "4"},
                                     {"controller-revision-hash", its_revision}}));
  EXPECT_EQ(json::string_at(made, {"spec", "hostname"}), "db-4");
  EXPECT_EQ(json::string_at(made, {"spec", "subdomain"}), "dbs");
  EXPECT_EQ(json::string_at(made, {"metadata", "generateName"}), "db-");
  EXPECT_TRUE(api::is_controlled_by(*api.get(kPods, {kDb.ns, "db-4"}).header, api.get(kStatefulSets, kDb).header->uid));
  api.patch(kPods, {kDb.ns, "db-4"}, parsed(R"({"metadata":{"labels":{"statefulset.kubernetes.io/pod-name":null}}})"));
  settle();
  EXPECT_EQ(json::string_at(pod("db-4"), {"metadata", "labels", kPodNameLabel}), "db-4");
}

TEST_F(StatefulSetTest, RemembersItsTemplates) {
  start(R"({"replicas":1})");
  make_all_ready();
  ASSERT_EQ(api.objects(kControllerRevisions).size(), 1u);
  const std::string first = revision("updateRevision");
  EXPECT_EQ(revision("currentRevision"), first);
  const json::Value kept = api.tree(kControllerRevisions, {kDb.ns, first});
  EXPECT_EQ(json::integer_at(kept, {"revision"}), 1);
  EXPECT_EQ(*json::find(kept, {"data"}), parsed(R"({"spec":{"template":{"$patch":"replace",
      "metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}})"));
  const std::string hash(json::string_at(kept, {"metadata", "labels", "controller.kubernetes.io/hash"}));
  EXPECT_EQ(first, "db-" + hash);
  EXPECT_EQ(json::string_at(kept, {"metadata", "labels", "app"}), "x");

  set_image("i:2");
  const std::string second = revision("updateRevision");
  EXPECT_NE(second, first);
  EXPECT_EQ(revision("currentRevision"), first);
  EXPECT_EQ(status(), "1/0/0/0/1@2");
  make_all_ready();
  EXPECT_EQ(revision("currentRevision"), second);
  EXPECT_EQ(json::integer_at(api.tree(kControllerRevisions, {kDb.ns, second}), {"revision"}), 2);

  set_image("i:1");
  make_all_ready();
  EXPECT_EQ(revision("currentRevision"), first) << "the old one again";
  EXPECT_EQ(api.objects(kControllerRevisions).size(), 2u);
  EXPECT_EQ(json::integer_at(api.tree(kControllerRevisions, {kDb.ns, first}), {"revision"}), 3);
}

TEST_F(StatefulSetTest, UpdatesFromTheTopOneAtATime) {
  start(R"({"replicas":3})");
  make_all_ready();
  set_image("i:2");
  EXPECT_EQ(image("db-2"), "i:2");
  EXPECT_EQ(image("db-1"), "i:1");
  EXPECT_EQ(status(), "3/2/2/2/1@2");
  make_ready("db-2");
  EXPECT_EQ(image("db-1"), "i:2");
  EXPECT_EQ(image("db-0"), "i:1");
  make_all_ready();
  EXPECT_EQ(image("db-0"), "i:2");
  EXPECT_EQ(status(), "3/3/3/3/3@2");
}

TEST_F(StatefulSetTest, APartitionStays) {
  start(R"({"replicas":3,"updateStrategy":{"rollingUpdate":{"partition":2}}})");
  make_all_ready();
  const std::string first = revision("updateRevision");
  set_image("i:2");
  make_all_ready();
  EXPECT_EQ(image("db-2"), "i:2");
  EXPECT_EQ(image("db-1"), "i:1");
  api.remove(kPods, {kDb.ns, "db-0"});
  settle();
  EXPECT_EQ(image("db-0"), "i:1") << "below the partition a new pod is an old one";
  make_all_ready();
  EXPECT_EQ(revision("currentRevision"), first);
  EXPECT_EQ(status(), "3/3/3/2/1@2");
  edit(R"({"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}})");
  make_all_ready();
  EXPECT_EQ(image("db-0"), "i:2");
  EXPECT_NE(revision("currentRevision"), first);
}

TEST_F(StatefulSetTest, OnDeleteSomebodyElseDecides) {
  start(R"({"replicas":2,"updateStrategy":{"type":"OnDelete","rollingUpdate":null}})");
  make_all_ready();
  set_image("i:2");
  EXPECT_EQ(image("db-1"), "i:1");
  api.remove(kPods, {kDb.ns, "db-0"});
  settle();
  EXPECT_EQ(image("db-0"), "i:2");
  EXPECT_EQ(image("db-1"), "i:1");
}

TEST_F(StatefulSetTest, ScalesDownFromTheTop) {
  start(R"({"replicas":3})");
  make_all_ready();
  api.patch(kPods, {kDb.ns, "db-2"}, parsed(R"({"metadata":{"finalizers":["a/b"]}})"));
  edit(R"({"spec":{"replicas":1}})");
  EXPECT_EQ(pods(), "db-0 db-1 db-2") << "the third is going, the second waits for it";
  EXPECT_TRUE(api.get(kPods, {kDb.ns, "db-2"}).header->deleting_since);
  EXPECT_FALSE(api.get(kPods, {kDb.ns, "db-1"}).header->deleting_since);
  api.patch(kPods, {kDb.ns, "db-2"}, parsed(R"({"metadata":{"finalizers":null}})"));
  settle();
  EXPECT_EQ(pods(), "db-0");
  EXPECT_TRUE(events().contains("SuccessfulDelete: delete Pod db-1 in StatefulSet db successful"));
  EXPECT_EQ(status(), "1/1/1/1/1@2");
}

TEST_F(StatefulSetTest, InParallelAllAtOnce) {
  start(R"({"replicas":5,"podManagementPolicy":"Parallel"})");
  EXPECT_EQ(pods(), "db-0 db-1 db-2 db-3 db-4");
  edit(R"({"spec":{"replicas":2}})");
  EXPECT_EQ(pods(), "db-0 db-1");
  EXPECT_EQ(status(), "2/0/0/2/2@2");
}

TEST_F(StatefulSetTest, ReplacesWhatHasEnded) {
  start(R"({"replicas":2})");
  make_all_ready();
  const std::string before = uid("db-0");
  api.patch(kPods, {kDb.ns, "db-0"}, parsed(R"({"status":{"phase":"Failed"}})"), "status");
  settle();
  EXPECT_NE(uid("db-0"), before);
  EXPECT_TRUE(events().contains("RecreatingFailedPod: StatefulSet default/db is recreating failed Pod db-0"));
  make_all_ready();
  api.patch(kPods, {kDb.ns, "db-1"}, parsed(R"({"status":{"phase":"Succeeded"}})"), "status");
  settle();
  EXPECT_TRUE(events().contains("RecreatingTerminatedPod: StatefulSet default/db is recreating terminated Pod db-1"));
  EXPECT_EQ(pods(), "db-0 db-1");
}

TEST_F(StatefulSetTest, WaitsUntilAPodIsAvailable) {
  start(R"({"replicas":2,"minReadySeconds":30})");
  make_ready("db-0");
  EXPECT_EQ(status(), "1/1/0/1/1@1");
  bench.loop.advance(29s);
  EXPECT_EQ(pods(), "db-0");
  bench.loop.advance(1s);
  EXPECT_EQ(pods(), "db-0 db-1");
  EXPECT_EQ(status(), "2/1/1/2/2@1");
}

TEST_F(StatefulSetTest, EveryPodHasItsClaims) {
  start(R"({"replicas":1,)" + std::string(kClaims) + R"(,"template":{"spec":{"volumes":[{"name":"data","emptyDir":{}},
          {"name":"tmp","emptyDir":{}}]}}})");
  EXPECT_EQ(names(kPersistentVolumeClaims), "data-db-0");
  const json::Value claim = api.tree(kPersistentVolumeClaims, {kDb.ns, "data-db-0"});
  EXPECT_EQ(*json::find(claim, {"metadata", "labels"}), parsed(R"({"kind":"disk","app":"x"})"));
  EXPECT_EQ(*json::find(claim, {"spec", "accessModes"}), parsed(R"(["ReadWriteOnce"])"));
  EXPECT_EQ(
      *json::find(pod("db-0"), {"spec", "volumes"}),
      parsed(R"([{"name":"data","persistentVolumeClaim":{"claimName":"data-db-0"}},{"name":"tmp","emptyDir":{}}])"));
  EXPECT_TRUE(events().contains("SuccessfulCreate: create Claim data-db-0 Pod db-0 in StatefulSet db success"));
  EXPECT_EQ(owners("data-db-0"), "");
  // Whoever deletes the claim of a pod that waits gets another one.
  api.remove(kPersistentVolumeClaims, {kDb.ns, "data-db-0"});
  settle();
  EXPECT_EQ(names(kPersistentVolumeClaims), "data-db-0");
  edit(R"({"spec":{"replicas":0}})");
  EXPECT_EQ(names(kPersistentVolumeClaims), "data-db-0") << "it is kept";
  edit(R"({"spec":{"replicas":1}})");
  EXPECT_EQ(pods(), "db-0") << "and used again";
}

TEST_F(StatefulSetTest, ClaimsGoWithTheirSetWhenAskedTo) {
  start(R"({"replicas":2,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Retain"},)" +
        std::string(kClaims) + "}");
  make_all_ready();
  EXPECT_EQ(owners("data-db-0"), "StatefulSet");
  edit(R"({"spec":{"replicas":1}})");
  EXPECT_EQ(owners("data-db-1"), "StatefulSet");
  edit(R"({"spec":{"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Retain"}}})");
  EXPECT_EQ(owners("data-db-0"), "");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(StatefulSetTest, ClaimsGoWithTheirPodWhenScaledDown) {
  start(R"({"replicas":2,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Delete"},)" +
        std::string(kClaims) + "}");
  make_all_ready();
  EXPECT_EQ(owners("data-db-1"), "StatefulSet");
  const std::string gone = uid("db-1");
  edit(R"({"spec":{"replicas":1}})");
  EXPECT_EQ(pods(), "db-0");
  EXPECT_EQ(owners("data-db-1"), "Pod") << "the collector does the rest";
  EXPECT_EQ(api.get(kPersistentVolumeClaims, {kDb.ns, "data-db-1"}).header->owners[0].uid, gone);
  edit(R"({"spec":{"replicas":2}})");
  EXPECT_EQ(pods(), "db-0") << "the claim of the pod that went is still there";
  api.remove(kPersistentVolumeClaims, {kDb.ns, "data-db-1"});
  settle();
  EXPECT_EQ(pods(), "db-0 db-1");
  EXPECT_EQ(owners("data-db-1"), "StatefulSet");
}

TEST_F(StatefulSetTest, LeavesClaimsOfOthersAlone) {
  api.create(kPersistentVolumeClaims, an_object("v1", "PersistentVolumeClaim", kDb.ns, "data-db-0")
                                          .owner("example.com/v1", "Keeper", "k", "u-k", true));
  start(R"({"replicas":1,"persistentVolumeClaimRetentionPolicy":{"whenDeleted":"Delete","whenScaled":"Delete"},)" +
        std::string(kClaims) + "}");
  EXPECT_EQ(pods(), "db-0");
  EXPECT_EQ(owners("data-db-0"), "Keeper");
}

TEST_F(StatefulSetTest, WaitsForAClaimThatIsBeingDeleted) {
  api.create(kPersistentVolumeClaims,
             an_object("v1", "PersistentVolumeClaim", kDb.ns, "data-db-0").finalizer("kubernetes.io/pvc-protection"));
  api.remove(kPersistentVolumeClaims, {kDb.ns, "data-db-0"});
  start(R"({"replicas":1,)" + std::string(kClaims) + "}");
  EXPECT_EQ(pods(), "");
  api.patch(kPersistentVolumeClaims, {kDb.ns, "data-db-0"}, parsed(R"({"metadata":{"finalizers":null}})"));
  settle();
  EXPECT_EQ(pods(), "db-0");
}

TEST_F(StatefulSetTest, AdoptsOnlyWhatBearsItsNames) {
  api.create(kPods, a_pod(kDb.ns, "db-0").label("app", "x"));
  api.create(kPods, a_pod(kDb.ns, "other").label("app", "x"));
  api.create(kPods, a_pod(kDb.ns, "db-01").label("app", "x"));
  start(R"({"replicas":1})");
  EXPECT_NE(api::controller_of(*api.get(kPods, {kDb.ns, "db-0"}).header), nullptr);
  EXPECT_EQ(api::controller_of(*api.get(kPods, {kDb.ns, "other"}).header), nullptr);
  EXPECT_EQ(api::controller_of(*api.get(kPods, {kDb.ns, "db-01"}).header), nullptr);
  EXPECT_EQ(json::string_at(pod("db-0"), {"metadata", "labels", kPodNameLabel}), "db-0");
}

TEST_F(StatefulSetTest, KeepsAsMuchHistoryAsAsked) {
  start(R"({"replicas":1,"revisionHistoryLimit":1})");
  make_all_ready();
  for (int i = 2; i <= 5; ++i) {
    set_image("i:" + std::to_string(i));
    make_all_ready();
  }
  EXPECT_EQ(api.objects(kControllerRevisions).size(), 2u) << "the current one and the one before";
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(StatefulSetTest, OneThatIsBeingDeletedMakesNothing) {
  api.create(kStatefulSets, a_set(R"({"replicas":2})").finalizer("foregroundDeletion"));
  api.remove(kStatefulSets, kDb);
  bench.start(reconciler, &live);
  EXPECT_EQ(pods(), "");
  EXPECT_TRUE(api.objects(kControllerRevisions).empty());
}

TEST(StatefulNamesTest, OrdinalsAndClaimsByName) {
  EXPECT_EQ(ordinal_of("web", "web-0"), 0);
  EXPECT_EQ(ordinal_of("web", "web-17"), 17);
  for (const char* name : {"web", "web-", "web-x", "web-01", "web--1", "web-1-2", "other-1"})
    EXPECT_FALSE(ordinal_of("web", name)) << name;
  EXPECT_TRUE(may_be_claim_of("web", "data-web-0"));
  EXPECT_TRUE(may_be_claim_of("web", "my-data-web-12"));
  for (const char* name : {"web-0", "data-web", "dataweb-0", "data-web-x"})
    EXPECT_FALSE(may_be_claim_of("web", name)) << name;
}

}  // namespace
}  // namespace gangway::controllers
