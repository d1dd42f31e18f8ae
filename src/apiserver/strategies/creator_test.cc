// Who made what asks for GPUs, as clients meet it.
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr auto kPods = "/api/v1/namespaces/default/pods";
constexpr auto kDeployments = "/apis/apps/v1/namespaces/default/deployments";
constexpr auto kJobs = "/apis/batch/v1/namespaces/default/jobs";
constexpr auto kSpec =
    R"({"restartPolicy":"Never","containers":[{"name":"c","image":"i","resources":{"limits":{"nvidia.com/gpu":1}}}]})";
const TestServer::Options kController{.peer = "system:serviceaccount:kube-system:job-controller",
                                      .groups = {"system:serviceaccounts:kube-system", "system:masters"}};

struct CreatorTest : ::testing::Test {
  TestServer server;

  CreatorTest() { server.post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})"); }
  TestResponse post_as(const TestServer::Options& who, std::string path, std::string body) {
    TestServer::Options options = who;
    options.body = std::move(body);
    return server.request("POST", std::move(path), std::move(options));
  }
  static TestServer::Options user(const std::string& name) { return {.peer = name, .groups = {"system:masters"}}; }
  static std::string pod(const std::string& metadata, const std::string& spec = kSpec) {
    return R"({"metadata":)" + metadata + R"(,"spec":)" + spec + "}";
  }
  static std::string_view creator(const TestResponse& response) {
    return response.at({"metadata", "annotations", "gangway.dev/created-by"});
  }
};

TEST_F(CreatorTest, IsTheUserWhateverTheObjectSays) {
  const auto made = post_as(user("ann"), kPods, pod(R"({"name":"a","annotations":{"gangway.dev/created-by":"bob"}})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(creator(made), "ann");
  const auto changed = server.merge_patch(
      std::string(kPods) + "/a", R"({"metadata":{"annotations":{"gangway.dev/created-by":"bob","note":"x"}}})");
  EXPECT_EQ(creator(changed), "ann");
  EXPECT_EQ(changed.at({"metadata", "annotations", "note"}), "x");
  const auto told = server.merge_patch(std::string(kPods) + "/a/status",
                                       R"({"metadata":{"annotations":{"gangway.dev/created-by":"bob"}}})");
  EXPECT_EQ(creator(told), "ann");
  const auto removed =
      server.merge_patch(std::string(kPods) + "/a", R"({"metadata":{"annotations":{"gangway.dev/created-by":null}}})");
  EXPECT_EQ(creator(removed), "ann");
}

TEST_F(CreatorTest, IsNotWrittenWhereNoGpusAreAskedFor) {
  const auto made = post_as(user("ann"), kPods, pod(R"({"name":"a"})", R"({"containers":[{"name":"c","image":"i"}]})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(json::find(made.body, {"metadata", "annotations"}), nullptr);
  const auto claims = post_as(user("ann"), kPods,
                              pod(R"({"name":"b","annotations":{"gangway.dev/created-by":"bob"}})",
                                  R"({"containers":[{"name":"c","image":"i"}]})"));
  EXPECT_EQ(creator(claims), "") << "and nobody claims it";
}

TEST_F(CreatorTest, PodsOfAJobAreItsCreators) {
  const auto job = post_as(user("ann"), kJobs,
                           R"({"metadata":{"name":"j"},"spec":{"template":{"metadata":
      {"annotations":{"gangway.dev/created-by":"bob"}},"spec":)" +
                               std::string(kSpec) + "}}}");
  ASSERT_EQ(job.status, 201) << job.text;
  EXPECT_EQ(creator(job), "ann");
  const std::string owner = R"("annotations":{"gangway.dev/created-by":"bob"},"ownerReferences":[
      {"apiVersion":"batch/v1","kind":"Job","name":"j","uid":")" +
                            std::string(job.at({"metadata", "uid"})) + R"(","controller":true}])";
  const auto made = post_as(kController, kPods, pod(R"({"name":"j-0",)" + owner + "}"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(creator(made), "ann") << "whatever its template says";
  const auto forged = post_as(user("mallory"), kPods, pod(R"({"name":"j-1",)" + owner + "}"));
  ASSERT_EQ(forged.status, 201) << forged.text;
  EXPECT_EQ(creator(forged), "mallory") << "an owner can be named by anybody";
}

TEST_F(CreatorTest, APodThatIsMadeAgainKeepsIt) {
  const auto made = post_as(kController, kPods, pod(R"({"name":"a","annotations":{"gangway.dev/created-by":"ann"}})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(creator(made), "ann");
}

TEST_F(CreatorTest, WhoFirstAsksForGpusIsTheCreator) {
  const auto made = post_as(user("ann"), kDeployments, R"({"metadata":{"name":"d"},"spec":{
      "selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":
      {"containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(creator(made), "");
  const auto changed = server.request("PATCH", std::string(kDeployments) + "/d",
                                      {.body = R"({"spec":{"template":{"spec":{"containers":[
                  {"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}}})",
                                       .content_type = "application/strategic-merge-patch+json",
                                       .peer = "bob"});
  ASSERT_EQ(changed.status, 200) << changed.text;
  EXPECT_EQ(creator(changed), "bob");
}

}  // namespace
}  // namespace gangway::apiserver
