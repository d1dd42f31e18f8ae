// RayCluster and RayJob as a client meets them: what is taken, what is made of it, what is refused and where.
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr auto kClusters = "/apis/ray.io/v1/namespaces/default/rayclusters";
constexpr auto kJobs = "/apis/ray.io/v1/namespaces/default/rayjobs";

constexpr auto kTemplate = R"("template":{"spec":{"containers":[{"name":"ray","image":"i"}]}})";

std::string cluster_spec(const std::string& group = "", const std::string& rest = "") {
  return R"({"headGroupSpec":{)" + std::string(kTemplate) + R"(},"workerGroupSpecs":[{"groupName":"w",)" + group +
         (group.empty() ? "" : ",") + kTemplate + "}]" + rest + "}";
}

std::string object(const char* kind, const std::string& spec, const std::string& name = "r",
                   const std::string& annotations = "{}") {
  return R"({"apiVersion":"ray.io/v1","kind":")" + std::string(kind) + R"(","metadata":{"name":")" + name +
         R"(","annotations":)" + annotations + R"(},"spec":)" + spec + "}";
}
std::string cluster(const std::string& spec, const std::string& name = "r", const std::string& annotations = "{}") {
  return object("RayCluster", spec, name, annotations);
}
std::string job(const std::string& rest = "", const std::string& name = "j", const std::string& spec = cluster_spec()) {
  return object("RayJob", R"({"entrypoint":"python x.py","rayClusterSpec":)" + spec + rest + "}", name);
}

std::vector<std::string> causes(const TestResponse& response) {
  std::vector<std::string> found;
  if (response.status == 201) return {};
  if (response.status != 422) return {"status " + std::to_string(response.status) + ": " + response.text};
  for (const auto& cause : response.body.at("details").at("causes").as_array())
    found.push_back(std::string(json::string_at(cause, {"field"})));
  return found;
}

TEST(RayClusterKind, FillsInItsGroupsAndLeavesTemplatesAlone) {
  TestServer server;
  const auto made = server.post(kClusters, cluster(cluster_spec()));
  ASSERT_EQ(made.status, 201) << made.text;
  const auto& group = made.body.at("spec").at("workerGroupSpecs").at(0);
  EXPECT_EQ(group.at("replicas"), 0);
  EXPECT_EQ(group.at("minReplicas"), 0);
  EXPECT_EQ(group.at("maxReplicas"), 2147483647);
  EXPECT_EQ(group.at("numOfHosts"), 1);
  EXPECT_FALSE(group.at("template").at("spec").as_object().contains("restartPolicy"));
}

TEST(RayJobKind, IsHandedOverByAJobUnlessItSaysOtherwise) {
  TestServer server;
  const auto made = server.post(kJobs, job());
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body.at("spec").at("submissionMode"), "K8sJobMode");
  EXPECT_EQ(made.body.at("spec").at("backoffLimit"), 0);
  EXPECT_EQ(made.body.at("spec").at("ttlSecondsAfterFinished"), 0);
}

TEST(RayClusterKind, NamesTheFieldOfEachMistake) {
  struct Case {
    const char* name;
    std::string body;
    std::vector<std::string> fields;
  };
  const std::string group = "spec.workerGroupSpecs[0].";
  const Case cases[] = {
      {"right", cluster(cluster_spec()), {}},
      {"the longest name", cluster(cluster_spec(), std::string(53, 'a')), {}},
      {"a longer name", cluster(cluster_spec(), std::string(54, 'a')), {"metadata.name"}},
      {"a name of digits", cluster(cluster_spec(), "1a"), {"metadata.name"}},
      {"limits", cluster(cluster_spec(R"("minReplicas":3,"maxReplicas":2)")), {group + "minReplicas"}},
      {"too many", cluster(cluster_spec(R"("replicas":2000000000,"numOfHosts":2)")), {group + "replicas"}},
      {"the head's name",
       cluster(R"({"headGroupSpec":{)" + std::string(kTemplate) + R"(},"workerGroupSpecs":[{"groupName":"headgroup",)" +
               kTemplate + "}]}"),
       {group + "groupName"}},
      {"twice",
       cluster(R"({"headGroupSpec":{)" + std::string(kTemplate) + R"(},"workerGroupSpecs":[{"groupName":"w",)" +
               kTemplate + R"(},{"groupName":"w",)" + kTemplate + "}]}"),
       {"spec.workerGroupSpecs[1].groupName"}},
      {"no container",
       cluster(R"({"headGroupSpec":{"template":{"spec":{"containers":[]}}}})"),
       {"spec.headGroupSpec.template.spec.containers"}},
      {"no image",
       cluster(R"({"headGroupSpec":{"template":{"spec":{"containers":[{"name":"h"}]}}}})"),
       {"spec.headGroupSpec.template.spec.containers[0].image"}},
      {"another manager", cluster(cluster_spec("", R"(,"managedBy":"me")")), {"spec.managedBy"}},
      {"no elastic cluster",
       cluster(cluster_spec(R"("replicas":2,"minReplicas":2)"), "r", R"({"gangway.dev/on-preempt":"Shrink"})"),
       {"metadata.annotations[gangway.dev/on-preempt]"}},
      {"an elastic cluster",
       cluster(cluster_spec(R"("replicas":2,"minReplicas":1)"), "r", R"({"gangway.dev/on-preempt":"Shrink"})"),
       {}},
  };
  for (const Case& each : cases) {
    TestServer server;
    EXPECT_EQ(causes(server.post(kClusters, each.body)), each.fields) << each.name;
  }
}

TEST(RayJobKind, NamesTheFieldOfEachMistake) {
  struct Case {
    const char* name;
    std::string body;
    std::vector<std::string> fields;
  };
  const std::string selected = R"({"entrypoint":"x","clusterSelector":{"ray.io/cluster":"r"})";
  const Case cases[] = {
      {"the longest name", job("", std::string(47, 'a')), {}},
      {"a longer name", job("", std::string(48, 'a')), {"metadata.name"}},
      {"suspended without an end of its cluster", job(R"(,"suspend":true)"), {"spec.suspend"}},
      {"suspended", job(R"(,"suspend":true,"shutdownAfterJobFinishes":true)"), {}},
      {"a cluster that is there", object("RayJob", selected + "}"), {}},
      {"suspended there",
       object("RayJob", selected + R"(,"suspend":true,"shutdownAfterJobFinishes":true})"),
       {"spec.suspend"}},
      {"tried again there", object("RayJob", selected + R"(,"backoffLimit":1})"), {"spec.backoffLimit"}},
      {"two clusters",
       object("RayJob", selected + R"(,"rayClusterSpec":)" + cluster_spec() + "}"),
       {"spec.rayClusterSpec"}},
      {"no cluster", object("RayJob", R"({"entrypoint":"x"})"), {"spec.rayClusterSpec"}},
      {"a cluster without a name",
       object("RayJob", R"({"entrypoint":"x","clusterSelector":{"a":"b"}})"),
       {"spec.clusterSelector[ray.io/cluster]"}},
      {"nothing to run", object("RayJob", R"({"rayClusterSpec":)" + cluster_spec() + "}"), {"spec.entrypoint"}},
      {"the user runs it",
       object("RayJob", R"({"submissionMode":"InteractiveMode","rayClusterSpec":)" + cluster_spec() + "}"),
       {}},
      {"the user does not run it again",
       job(R"(,"submissionMode":"InteractiveMode","backoffLimit":1)"),
       {"spec.backoffLimit"}},
      {"beside the head", job(R"(,"submissionMode":"SidecarMode")"), {}},
      {"beside the head, and elsewhere",
       job(R"(,"submissionMode":"SidecarMode","submitterConfig":{"backoffLimit":1})"),
       {"spec.submitterConfig"}},
      {"an environment", job(R"(,"runtimeEnvYAML":"pip: [a]")"), {}},
      {"not an environment", job(R"(,"runtimeEnvYAML":"just text")"), {"spec.runtimeEnvYAML"}},
      {"not resources", job(R"(,"entrypointResources":"4")"), {"spec.entrypointResources"}},
      {"a time to live of nothing", job(R"(,"ttlSecondsAfterFinished":5)"), {"spec.ttlSecondsAfterFinished"}},
      {"in the cluster",
       job("", "j", cluster_spec(R"("minReplicas":3,"maxReplicas":2)")),
       {"spec.rayClusterSpec.workerGroupSpecs[0].minReplicas"}},
      {"said twice",
       job(R"(,"shutdownAfterJobFinishes":true,"deletionStrategy":{"deletionRules":[
         {"policy":"DeleteSelf","condition":{"jobStatus":"FAILED"}}]})"),
       {"spec.deletionStrategy.deletionRules"}},
      {"rules",
       job(R"(,"deletionStrategy":{"deletionRules":[{"policy":"Burn","condition":{"ttlSeconds":-1}}]})"),
       {"spec.deletionStrategy.deletionRules[0].policy", "spec.deletionStrategy.deletionRules[0].condition.jobStatus",
        "spec.deletionStrategy.deletionRules[0].condition.ttlSeconds"}},
  };
  for (const Case& each : cases) {
    TestServer server;
    EXPECT_EQ(causes(server.post(kJobs, each.body)), each.fields) << each.name;
  }
}

TEST(RayJobKind, CannotBeSuspendedLaterEither) {
  TestServer server;
  server.post(kJobs, job());
  const auto refused = server.merge_patch(std::string(kJobs) + "/j", R"({"spec":{"suspend":true}})");
  EXPECT_EQ(causes(refused), std::vector<std::string>{"spec.suspend"});
}

TEST(RayJobKind, SaysWhoMadeItWhenItAsksForGpus) {
  TestServer server;
  const auto made = server.post(
      kJobs, job("", "j",
                 R"({"headGroupSpec":{)" + std::string(kTemplate) +
                     R"(},"workerGroupSpecs":[{"groupName":"w","template":{"spec":{"containers":[{"name":"c",
                                "image":"i","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}}]})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_TRUE(made.body.at("metadata").at("annotations").as_object().contains("gangway.dev/created-by"));
  const auto other = server.post(kJobs, job("", "k"));
  const auto* annotations = json::find(other.body, {"metadata", "annotations"});
  EXPECT_TRUE(annotations == nullptr || !annotations->as_object().contains("gangway.dev/created-by"));
}

}  // namespace
}  // namespace gangway::apiserver
