// Scale, binding, eviction, logs and tokens, on a server without sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

const std::string kDefault = "/api/v1/namespaces/default/";
constexpr const char* kMergePatch = "application/merge-patch+json";

struct SubresourceTest : ::testing::Test {
  TestServer server;

  void make_pod(std::string_view more = "") {
    server.post(kDefault + "serviceaccounts", R"({"metadata":{"name":"default"}})");
    auto made = server.post(kDefault + "pods", R"({"metadata":{"name":"a","labels":{"app":"x"}},"spec":{"containers":[
        {"name":"c","image":"i"})" + std::string(more) +
                                                   "]}}");
    ASSERT_EQ(made.status, 201) << made.text;
  }
  TestResponse bind(std::string_view binding) { return server.post(kDefault + "pods/a/binding", std::string(binding)); }
  TestResponse patch(const std::string& target, std::string body, const char* type = kMergePatch) {
    return server.request("PATCH", target, {.body = std::move(body), .content_type = type});
  }
  // A pod that runs on a node, with a budget that its eviction would break.
  void guard_running_pod(std::string_view ready, std::string_view budget) {
    make_pod();
    bind(R"({"metadata":{"name":"a"},"target":{"name":"n"}})");
    auto running =
        patch(kDefault + "pods/a/status", R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":")" +
                                              std::string(ready) + "\"}]}}");
    ASSERT_EQ(running.status, 200) << running.text;
    const std::string budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    server.post(budgets, R"({"metadata":{"name":"b"},"spec":{"selector":{"matchLabels":{"app":"x"}})" +
                             std::string(budget) + "}}");
    auto counted =
        patch(budgets + "/b/status", R"({"status":{"observedGeneration":1,"desiredHealthy":1,"currentHealthy":0,
        "expectedPods":1,"disruptionsAllowed":0}})");
    ASSERT_EQ(counted.status, 200) << counted.text;
  }
  TestResponse evict() {
    return server.post(kDefault + "pods/a/eviction",
                       R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"}})");
  }
};

TEST_F(SubresourceTest, BindingMistakesAreNamed) {
  make_pod();
  struct Case {
    const char* binding;
    int status;
    std::string message;
  };
  const Case cases[] = {
      {R"({"metadata":{"name":"b"},"target":{"name":"n"}})", 400, "name in URL does not match name in Binding object"},
      {R"({"metadata":{"name":"a"}})", 500, "target.name: Required value"},
      {R"({"metadata":{"name":"a"},"target":{"kind":"Pod"}})", 500,
       "[target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\", target.name: Required "
       "value]"},
      {R"({"metadata":{"name":"a","resourceVersion":"1"},"target":{"name":"n"}})", 409,
       "Operation cannot be fulfilled on pods \"a\": the object has been modified; please apply your changes to the "
       "latest version and try again"},
  };
  for (const auto& c : cases) {
    auto answer = bind(c.binding);
    EXPECT_EQ(answer.status, c.status) << c.binding;
    EXPECT_EQ(answer.message(), c.message) << c.binding;
  }
  auto other = bind(R"({"metadata":{"name":"a","uid":"u"},"target":{"name":"n"}})");
  EXPECT_EQ(other.status, 409);
  EXPECT_THAT(std::string(other.message()), ::testing::HasSubstr("Precondition failed: UID in precondition: u, UID"));
  EXPECT_EQ(bind(R"({"metadata":{"name":"a"},"target":{"name":"n"}})").status, 201);
}

TEST_F(SubresourceTest, AnEvictedPodSaysWhyItGoes) {
  make_pod();
  bind(R"({"metadata":{"name":"a"},"target":{"name":"n"}})");
  ASSERT_EQ(evict().status, 201);
  auto pod = server.get(kDefault + "pods/a");
  ASSERT_EQ(pod.status, 200);
  EXPECT_FALSE(pod.at({"metadata", "deletionTimestamp"}).empty());
  const auto& condition = pod.body.at("status").at("conditions").as_array().back();
  EXPECT_EQ(json::string_at(condition, {"type"}), "DisruptionTarget");
  EXPECT_EQ(json::string_at(condition, {"reason"}), "EvictionByEvictionAPI");
}

TEST_F(SubresourceTest, ABudgetGuardsPodsThatAreReady) {
  guard_running_pod("True", R"(,"unhealthyPodEvictionPolicy":"AlwaysAllow")");
  EXPECT_EQ(evict().status, 429);
}

TEST_F(SubresourceTest, ABudgetGuardsPodsThatAreNotReadyWhileTooFewAre) {
  guard_running_pod("False", "");
  EXPECT_EQ(evict().status, 429);
}

TEST_F(SubresourceTest, ABudgetMayLetPodsGoThatAreNotReady) {
  guard_running_pod("False", R"(,"unhealthyPodEvictionPolicy":"AlwaysAllow")");
  EXPECT_EQ(evict().status, 201);
}

TEST_F(SubresourceTest, LogsOfAPodOnNoNodeAreEmpty) {
  make_pod(R"(,{"name":"d","image":"i"})");
  auto log = [&](std::string_view query) { return server.get(kDefault + "pods/a/log" + std::string(query)); };
  EXPECT_EQ(log("?container=c").status, 204);
  EXPECT_EQ(log("?container=c").text, "");
  auto unnamed = log("");
  EXPECT_EQ(unnamed.status, 400);
  EXPECT_EQ(unnamed.message(), "a container name must be specified for pod a, choose one of: [c d]");
  EXPECT_EQ(log("?container=e").message(), "container e is not valid for pod a");
  auto negative = log("?container=c&tailLines=-1&limitBytes=0");
  EXPECT_EQ(negative.status, 422);
  EXPECT_EQ(negative.message(),
            "PodLogOptions \"a\" is invalid: [tailLines: Invalid value: -1: must be greater than or equal to 0, "
            "limitBytes: Invalid value: 0: must be greater than 0]");
}

TEST_F(SubresourceTest, AppliedScalesConflictWithOtherOwners) {
  const std::string deployments = "/apis/apps/v1/namespaces/default/deployments";
  auto made = server.post(deployments, R"({"metadata":{"name":"a"},"spec":{"replicas":2,"selector":{"matchLabels":
      {"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  auto apply = [&](const std::string& query) {
    return patch(deployments + "/a/scale?fieldManager=scaler" + query,
                 R"({"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"a"},"spec":{"replicas":4}})",
                 "application/apply-patch+yaml");
  };
  auto refused = apply("");
  EXPECT_EQ(refused.status, 409);
  EXPECT_THAT(std::string(refused.message()), ::testing::HasSubstr(".spec.replicas"));
  auto scaled = apply("&force=true");
  ASSERT_EQ(scaled.status, 200) << scaled.text;
  EXPECT_EQ(scaled.at({"kind"}), "Scale");
  auto deployment = server.get(deployments + "/a");
  EXPECT_EQ(deployment.body.at("spec").at("replicas"), json::Value(4));
  const auto& entry = deployment.body.at("metadata").at("managedFields").as_array().at(0);
  EXPECT_EQ(entry,
            json::parse(R"({"manager":"scaler","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1",
      "fieldsV1":{"f:spec":{"f:replicas":{}}},"subresource":"scale"})")
                .value());
  auto wrong = patch(deployments + "/a/scale", R"({"spec":{"replicas":"many"}})");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_EQ(json::string_at(wrong.body.at("details").at("causes").as_array().at(0), {"field"}), "patch");
}

TEST_F(SubresourceTest, AFinalizedNamespaceNamesWhoEditedItsHolders) {
  server.post("/api/v1/namespaces", R"({"metadata":{"name":"f"},"spec":{"finalizers":["example.com/mine"]}})");
  auto put = server.request("PUT", "/api/v1/namespaces/f/finalize",
                            {.body = R"({"metadata":{"name":"f"},"spec":{"finalizers":["kubernetes"]}})"});
  ASSERT_EQ(put.status, 200) << put.text;
  EXPECT_EQ(put.body.at("spec").at("finalizers"), (json::Array{"kubernetes"}));
  EXPECT_EQ(put.at({"status", "phase"}), "Active");
  EXPECT_EQ(json::string_at(put.body.at("metadata").at("managedFields").as_array().back(), {"subresource"}),
            "finalize");
}

TEST_F(SubresourceTest, ATokenRequestSaysWhoItIsFor) {
  server.post(kDefault + "serviceaccounts", R"({"metadata":{"name":"robot"}})");
  auto token = [&](std::string_view body) {
    return server.post(kDefault + "serviceaccounts/robot/token", std::string(body));
  };
  auto issued = token(R"({"spec":{}})");
  ASSERT_EQ(issued.status, 201) << issued.text;
  EXPECT_EQ(issued.at({"metadata", "name"}), "robot");
  EXPECT_EQ(issued.at({"metadata", "creationTimestamp"}), "2026-01-01T00:00:00Z");
  EXPECT_EQ(issued.body.at("spec").at("expirationSeconds"), json::Value(3600));
  auto other = token(R"({"metadata":{"name":"other"},"spec":{}})");
  EXPECT_EQ(other.status, 422);
  EXPECT_EQ(other.message(),
            "TokenRequest.authentication.k8s.io \"robot\" is invalid: metadata.name: Invalid value: "
            "\"other\": must match the service account name if specified");
}

}  // namespace
}  // namespace gangway::apiserver
