#include "controllers/deployment.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/conditions.h"
#include "api/owner.h"
#include "controllers/template_hash.h"
#include "controllers/test_workloads.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kDeployments;
using client::resources::kPods;
using client::resources::kReplicaSets;
using testing::an_error;
using testing::an_object;
using testing::parsed;

const api::ObjectName kWeb{"default", "web"};

struct DeploymentTest : ::testing::Test, WorkloadCluster {
  void deployment(const std::string& spec) {
    api.create(kDeployments, an_object("apps/v1", "Deployment", kWeb.ns, kWeb.name)
                                 .with(R"({"metadata":{"annotations":{"team":"blue",
                                             "kubectl.kubernetes.io/last-applied-configuration":"{}"}},
                                    "spec":{"selector":{"matchLabels":{"app":"x"}},"progressDeadlineSeconds":600,
                                    "strategy":{"type":"RollingUpdate",
                                                "rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"}},
                                    "template":{"metadata":{"labels":{"app":"x"}},
                                                "spec":{"containers":[{"name":"c","image":"i:1"}]}}}})")
                                 .with(R"({"spec":)" + spec + "}"));
  }
  void edit(const std::string& patch) {
    api.patch(kDeployments, kWeb, parsed(patch));
    loop.run_until_idle();
  }
  void set_image(const std::string& image) {
    edit(R"({"spec":{"template":{"spec":{"containers":[{"name":"c","image":")" + image + R"("}]}}}})");
  }
  // Of the set whose pods have this image.
  json::Value set_of(const std::string& image) const {
    for (const auto& [name, version] : api.objects(kReplicaSets)) {
      json::Value set = parsed(*version.json);
      const auto& containers = json::array_at(set, {"spec", "template", "spec", "containers"});
      if (json::string_at(containers[0], {"image"}) == image) return set;
    }
    return nullptr;
  }
  std::int64_t size_of(const std::string& image) const {
    return json::integer_at(set_of(image), {"spec", "replicas"}, -1);
  }
  std::string annotation(const json::Value& object, const std::string& key) const {
    return std::string(json::string_at(object, {"metadata", "annotations", "deployment.kubernetes.io/" + key}));
  }
  json::Value web() const { return api.tree(kDeployments, kWeb); }
  // "replicas/updated/ready/available/unavailable@generation"
  std::string status() const {
    const json::Value tree = web();
    const auto number = [&](const char* key) { return std::to_string(json::integer_at(tree, {"status", key})); };
    return number("replicas") + "/" + number("updatedReplicas") + "/" + number("readyReplicas") + "/" +
           number("availableReplicas") + "/" + number("unavailableReplicas") + "@" + number("observedGeneration");
  }
  // "True NewReplicaSetAvailable"
  std::string condition(const char* type) const {
    const json::Value tree = web();
    const json::Object* found = api::find_condition(tree, type);
    if (found == nullptr) return "none";
    return std::string(found->at("status").as_string()) + " " + std::string(found->at("reason").as_string());
  }
  std::string message(const char* type) const {
    const json::Value tree = web();
    const json::Object* found = api::find_condition(tree, type);
    return found == nullptr ? "" : std::string(found->at("message").as_string());
  }
  std::vector<std::string> events(const std::string& reason) const {
    std::vector<std::string> all;
    for (const std::string& text : event_texts(api))
      if (text.starts_with(reason + ": ")) all.push_back(text.substr(reason.size() + 2));
    return all;
  }
  std::size_t writes_when_looking_again() {
    api.forget_calls();
    deployment_controller.resync();
    set_controller.resync();
    loop.run_until_idle();
    return api.writes().size();
  }
};

TEST_F(DeploymentTest, MakesASetForItsTemplate) {
  deployment(R"({"replicas":3,"minReadySeconds":5})");
  start();
  ASSERT_EQ(api.objects(kReplicaSets).size(), 1u);
  const json::Value set = set_of("i:1");
  const std::string hash(json::string_at(set, {"metadata", "labels", "pod-template-hash"}));
  EXPECT_EQ(hash.size(), 10u);
  EXPECT_EQ(json::string_at(set, {"metadata", "name"}), "web-" + hash);
  EXPECT_EQ(*json::find(set, {"spec", "selector", "matchLabels"}),
            json::Value(json::Object{{"app", "x"}, {"pod-template-hash", hash}}));
  EXPECT_EQ(*json::find(set, {"spec", "template", "metadata", "labels"}),
            json::Value(json::Object{{"app", "x"}, {"pod-template-hash", hash}}));
  EXPECT_EQ(json::integer_at(set, {"spec", "replicas"}), 3);
  EXPECT_EQ(json::integer_at(set, {"spec", "minReadySeconds"}), 5);
  EXPECT_EQ(*json::find(set, {"metadata", "annotations"}),
            parsed(R"({"deployment.kubernetes.io/desired-replicas":"3","deployment.kubernetes.io/max-replicas":"4",
                       "deployment.kubernetes.io/revision":"1","team":"blue"})"));
  EXPECT_TRUE(api::is_controlled_by(*api.get(kReplicaSets, {kWeb.ns, "web-" + hash}).header,
                                    api.get(kDeployments, kWeb).header->uid));
  EXPECT_EQ(annotation(web(), "revision"), "1");
  EXPECT_EQ(events("ScalingReplicaSet"),
            std::vector<std::string>{"Scaled up replica set web-" + hash + " from 0 to 3"});
  EXPECT_EQ(api.objects(kPods).size(), 3u);
  EXPECT_EQ(status(), "3/3/0/0/3@1");
  EXPECT_EQ(condition("Available"), "False MinimumReplicasUnavailable");
  EXPECT_EQ(condition("Progressing"), "True ReplicaSetUpdated");
  EXPECT_EQ(message("Progressing"), "ReplicaSet \"web-" + hash + "\" is progressing.");
  EXPECT_EQ(writes_when_looking_again(), 0u);
}

TEST_F(DeploymentTest, SaysWhatItHasDoneBeforeAnythingMoves) {
  deployment(R"({"replicas":1})");
  start(false);
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetCreated");
  EXPECT_EQ(message("Progressing"),
            "Created new replica set \"" + std::string(json::string_at(set_of("i:1"), {"metadata", "name"})) + "\"");
  EXPECT_EQ(status(), "0/0/0/0/1@1");
}

TEST_F(DeploymentTest, IsThroughWhenAllAreAvailable) {
  deployment(R"({"replicas":4})");
  start();
  make_one_ready();
  make_one_ready();
  loop.run_until_idle();
  EXPECT_EQ(status(), "4/4/2/2/2@1");
  EXPECT_EQ(condition("Available"), "False MinimumReplicasUnavailable");
  make_one_ready();
  loop.run_until_idle();
  EXPECT_EQ(condition("Available"), "True MinimumReplicasAvailable") << "three of four are enough";
  make_all_ready();
  EXPECT_EQ(status(), "4/4/4/4/0@1");
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
  EXPECT_EQ(writes_when_looking_again(), 0u);
}

TEST_F(DeploymentTest, RollsANewTemplateOut) {
  deployment(R"({"replicas":4})");
  start();
  make_all_ready();
  set_image("i:2");
  // One more than four may exist, one of four may be missing.
  EXPECT_EQ(size_of("i:1"), 3);
  EXPECT_EQ(size_of("i:2"), 2);
  EXPECT_EQ(annotation(set_of("i:2"), "revision"), "2");
  EXPECT_EQ(annotation(web(), "revision"), "2");
  EXPECT_EQ(condition("Progressing"), "True ReplicaSetUpdated");
  make_all_ready();
  EXPECT_EQ(size_of("i:1"), 0);
  EXPECT_EQ(size_of("i:2"), 4);
  EXPECT_EQ(api.objects(kPods).size(), 4u);
  EXPECT_EQ(status(), "4/4/4/4/0@2");
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
  const std::string name(json::string_at(set_of("i:2"), {"metadata", "name"}));
  EXPECT_EQ(message("Progressing"), "ReplicaSet \"" + name + "\" has successfully progressed.");
}

// What `kubectl rollout undo` does: the old template becomes the current one.
TEST_F(DeploymentTest, GoingBackRaisesTheRevisionOfTheOldSet) {
  deployment(R"({"replicas":2})");
  start();
  make_all_ready();
  set_image("i:2");
  make_all_ready();
  set_image("i:1");
  make_all_ready();
  EXPECT_EQ(size_of("i:1"), 2);
  EXPECT_EQ(size_of("i:2"), 0);
  EXPECT_EQ(api.objects(kReplicaSets).size(), 2u);
  EXPECT_EQ(annotation(set_of("i:1"), "revision"), "3");
  EXPECT_EQ(annotation(set_of("i:1"), "revision-history"), "1");
  EXPECT_EQ(annotation(web(), "revision"), "3");
  set_image("i:2");
  set_image("i:1");
  EXPECT_EQ(annotation(set_of("i:1"), "revision"), "5");
  EXPECT_EQ(annotation(set_of("i:1"), "revision-history"), "1,3");
}

TEST_F(DeploymentTest, ScalesItsSet) {
  deployment(R"({"replicas":2})");
  start();
  make_all_ready();
  const std::string name(json::string_at(set_of("i:1"), {"metadata", "name"}));
  edit(R"({"spec":{"replicas":5}})");
  EXPECT_EQ(size_of("i:1"), 5);
  EXPECT_EQ(annotation(set_of("i:1"), "desired-replicas"), "5");
  EXPECT_EQ(annotation(set_of("i:1"), "max-replicas"), "7") << "a quarter of five, rounded up, is two";
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable") << "scaling is no roll-out";
  edit(R"({"spec":{"replicas":1}})");
  EXPECT_EQ(events("ScalingReplicaSet"), (std::vector<std::string>{"Scaled down replica set " + name + " from 5 to 1",
                                                                   "Scaled up replica set " + name + " from 0 to 2",
                                                                   "Scaled up replica set " + name + " from 2 to 5"}));
  EXPECT_EQ(writes_when_looking_again(), 0u);
}

TEST_F(DeploymentTest, ScalesInProportionWhileRolling) {
  deployment(R"({"replicas":10,"strategy":{"rollingUpdate":{"maxSurge":3,"maxUnavailable":2}}})");
  start();
  make_all_ready();
  set_image("i:2");
  ASSERT_EQ(size_of("i:1"), 8);
  ASSERT_EQ(size_of("i:2"), 5);
  // From 13 to 33 pods: 8·33/13 = 20.3 → 20, the new one gets the other 13 (5·33/13 = 12.7).
  edit(R"({"spec":{"replicas":30}})");
  EXPECT_EQ(size_of("i:1"), 20);
  EXPECT_EQ(size_of("i:2"), 13);
}

TEST_F(DeploymentTest, RecreateWaitsForTheLastOldPod) {
  deployment(R"({"replicas":2,"strategy":{"type":"Recreate","rollingUpdate":null}})");
  start();
  make_all_ready();
  const api::ObjectName slow = api.objects(kPods).begin()->first;
  api.patch(kPods, slow, parsed(R"({"metadata":{"finalizers":["a/b"]}})"));
  set_image("i:2");
  EXPECT_EQ(size_of("i:1"), 0);
  EXPECT_EQ(size_of("i:2"), -1) << "not made yet";
  EXPECT_EQ(api.objects(kPods).size(), 1u);
  api.patch(kPods, slow, parsed(R"({"metadata":{"finalizers":null}})"));
  loop.run_until_idle();
  EXPECT_EQ(size_of("i:2"), 2);
  make_all_ready();
  EXPECT_EQ(status(), "2/2/2/2/0@2");
  edit(R"({"spec":{"replicas":3}})");
  EXPECT_EQ(size_of("i:2"), 3);
}

TEST_F(DeploymentTest, PausedItIsScaledOnly) {
  deployment(R"({"replicas":2})");
  start();
  make_all_ready();
  edit(R"({"spec":{"paused":true}})");
  EXPECT_EQ(condition("Progressing"), "Unknown DeploymentPaused");
  set_image("i:2");
  EXPECT_EQ(size_of("i:2"), -1);
  edit(R"({"spec":{"replicas":3}})");
  EXPECT_EQ(size_of("i:1"), 3);
  EXPECT_EQ(writes_when_looking_again(), 0u);
  api.set_watch_lag(kReplicaSets, 1s);
  api.patch(kDeployments, kWeb, parsed(R"({"spec":{"paused":false}})"));
  loop.advance(10s);
  EXPECT_GT(size_of("i:2"), 0);
  for (int i = 0; i < 5; ++i) {
    make_all_ready();
    loop.advance(1min);
  }
  EXPECT_EQ(size_of("i:1"), 0);
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(DeploymentTest, ResumedWithNothingToDo) {
  deployment(R"({"replicas":1})");
  start();
  edit(R"({"spec":{"paused":true}})");
  edit(R"({"spec":{"paused":false}})");
  EXPECT_EQ(condition("Progressing"), "Unknown DeploymentResumed");
  make_all_ready();
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(DeploymentTest, SaysWhenNothingMovesForTooLong) {
  deployment(R"({"replicas":2,"progressDeadlineSeconds":60})");
  start();
  loop.advance(30s);
  make_one_ready();
  loop.advance(60s);
  EXPECT_EQ(condition("Progressing"), "True ReplicaSetUpdated") << "thirty seconds later it moved";
  loop.advance(2s);
  EXPECT_EQ(condition("Progressing"), "False ProgressDeadlineExceeded");
  edit(R"({"spec":{"paused":true}})");
  EXPECT_EQ(condition("Progressing"), "False ProgressDeadlineExceeded") << "a pause does not hide it";
  edit(R"({"spec":{"paused":false}})");
  make_all_ready();
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
  loop.advance(10min);
  EXPECT_EQ(condition("Progressing"), "True NewReplicaSetAvailable");
}

TEST_F(DeploymentTest, WithoutADeadlineThereIsNothingToJudge) {
  deployment(R"({"replicas":1,"progressDeadlineSeconds":2147483647})");
  start();
  EXPECT_EQ(condition("Progressing"), "none");
  make_all_ready();
  EXPECT_EQ(condition("Progressing"), "none");
  EXPECT_EQ(condition("Available"), "True MinimumReplicasAvailable");
}

TEST_F(DeploymentTest, KeepsAsManyOldSetsAsAsked) {
  deployment(R"({"replicas":1,"revisionHistoryLimit":2})");
  start();
  for (int i = 2; i <= 5; ++i) {
    make_all_ready();
    set_image("i:" + std::to_string(i));
  }
  make_all_ready();
  loop.run_until_idle();
  EXPECT_EQ(api.objects(kReplicaSets).size(), 3u);
  EXPECT_EQ(size_of("i:5"), 1);
  EXPECT_EQ(size_of("i:4"), 0);
  EXPECT_EQ(size_of("i:3"), 0);
  EXPECT_EQ(size_of("i:2"), -1);
}

TEST_F(DeploymentTest, ANameThatIsTakenCountsAsACollision) {
  const json::Value pod_template =
      parsed(R"({"metadata":{"labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}})");
  const std::string taken = "web-" + short_hash(canonical_template(pod_template), 0);
  api.create(kReplicaSets, an_object("apps/v1", "ReplicaSet", kWeb.ns, taken).owner("v1", "Other", "o", "u", true));
  deployment(R"({"replicas":1})");
  start();
  EXPECT_EQ(json::integer_at(web(), {"status", "collisionCount"}), 1);
  const std::string other = "web-" + short_hash(canonical_template(pod_template), 1);
  EXPECT_TRUE(api.get(kReplicaSets, {kWeb.ns, other}));
  EXPECT_EQ(api.objects(kReplicaSets).size(), 2u);
}

TEST_F(DeploymentTest, FindsASetThatWasThereBefore) {
  api.create(kReplicaSets, an_object("apps/v1", "ReplicaSet", kWeb.ns, "older")
                               .label("app", "x")
                               .with(R"({"metadata":{"annotations":{"deployment.kubernetes.io/revision":"7"}},
                                  "spec":{"replicas":2,"selector":{"matchLabels":{"app":"x"}},
                                  "template":{"metadata":{"labels":{"app":"x"}},
                                              "spec":{"containers":[{"name":"c","image":"i:1"}]}}}})"));
  loop.advance(10s);
  deployment(R"({"replicas":2})");
  start(false);
  EXPECT_EQ(api.objects(kReplicaSets).size(), 1u);
  EXPECT_EQ(condition("Progressing"), "True FoundNewReplicaSet");
  EXPECT_EQ(annotation(web(), "revision"), "7");
}

TEST_F(DeploymentTest, HandsOnAnnotationsAndSeconds) {
  deployment(R"({"replicas":1})");
  start();
  edit(R"({"metadata":{"annotations":{"team":"red"}},"spec":{"minReadySeconds":9}})");
  EXPECT_EQ(json::string_at(set_of("i:1"), {"metadata", "annotations", "team"}), "red");
  EXPECT_EQ(json::integer_at(set_of("i:1"), {"spec", "minReadySeconds"}), 9);
  EXPECT_EQ(annotation(set_of("i:1"), "revision"), "1");
  EXPECT_EQ(writes_when_looking_again(), 0u);
}

TEST_F(DeploymentTest, SaysWhatItsSetsSuffer) {
  Error quota = an_error(Reason::kForbidden);
  quota.message = "exceeded quota";
  api.inject({.when = [](const client::ApiRequest& request) { return request.resource == kPods; },
              .error = quota,
              .times = 8});
  deployment(R"({"replicas":2})");
  start();
  loop.advance(200ms);
  EXPECT_EQ(condition("ReplicaFailure"), "True FailedCreate");
  EXPECT_EQ(message("ReplicaFailure"), "exceeded quota");
  loop.advance(1min);
  EXPECT_EQ(condition("ReplicaFailure"), "none");
}

TEST_F(DeploymentTest, SaysWhyASetIsRefused) {
  Error refusal = an_error(Reason::kForbidden);
  refusal.message = "not you";
  api.inject({.when = [](const client::ApiRequest& request) { return request.resource == kReplicaSets; },
              .error = refusal,
              .times = 3});
  deployment(R"({"replicas":2})");
  start();
  loop.advance(10ms);
  const json::Value pod_template = *json::find(web(), {"spec", "template"});
  const std::string name = "web-" + short_hash(canonical_template(pod_template), 0);
  EXPECT_EQ(condition("Progressing"), "False ReplicaSetCreateError");
  EXPECT_EQ(message("Progressing"), "Failed to create new replica set \"" + name + "\": not you");
  EXPECT_EQ(events("ReplicaSetCreateError"),
            std::vector<std::string>{"Failed to create new replica set \"" + name + "\": not you"});
  loop.advance(1min);
  EXPECT_EQ(condition("Progressing"), "True ReplicaSetUpdated");
}

TEST_F(DeploymentTest, OneThatIsBeingDeletedIsOnlyCounted) {
  deployment(R"({"replicas":1})");
  edit(R"({"metadata":{"finalizers":["foregroundDeletion"]}})");
  api.remove(kDeployments, kWeb);
  start();
  EXPECT_TRUE(api.objects(kReplicaSets).empty());
}

}  // namespace
}  // namespace gangway::controllers
