// What deletes answer and leave behind, beyond what server_test tries.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr auto kJobs = "/apis/batch/v1/namespaces/default/jobs";
constexpr auto kConfigMaps = "/api/v1/namespaces/default/configmaps";

void make_job(TestServer& server) {
  auto made = server.post(kJobs, R"({"metadata":{"name":"j"},"spec":{"template":{"spec":{"restartPolicy":"Never",
                                     "containers":[{"name":"c","image":"i"}]}}}})");
  ASSERT_EQ(made.status, 201) << made.text;
}

TEST(Remove, AJobLeavesItsPodsUnlessItIsToldOtherwise) {
  struct Case {
    const char* query;
    const char* finalizer;  // "": the job is gone at once
    std::size_t warnings;
  };
  for (const auto& c : {Case{"", "orphan", 1},
                        {"?propagationPolicy=Background", "", 0},
                        {"?propagationPolicy=Orphan", "orphan", 0},
                        {"?propagationPolicy=Foreground", "foregroundDeletion", 0},
                        {"?orphanDependents=false", "", 0}}) {
    TestServer server;
    make_job(server);
    auto answer = server.remove(std::string(kJobs) + "/j" + c.query);
    EXPECT_EQ(answer.status, 200) << answer.text;
    EXPECT_EQ(answer.warnings.size(), c.warnings) << c.query;
    auto left = server.get(std::string(kJobs) + "/j");
    EXPECT_EQ(left.status, *c.finalizer ? 200 : 404) << c.query;
    const auto* finalizers = json::find(left.body, {"metadata", "finalizers"});
    EXPECT_EQ(finalizers ? json::serialize(*finalizers) : "", *c.finalizer ? fmt::format("[\"{}\"]", c.finalizer) : "");
  }
}

// What was decided by an earlier delete is not decided anew by one that says nothing.
TEST(Remove, ASecondDeleteOfAJobKeepsItsPolicy) {
  TestServer server;
  make_job(server);
  server.remove(std::string(kJobs) + "/j?propagationPolicy=Foreground");
  server.remove(std::string(kJobs) + "/j");
  auto left = server.get(std::string(kJobs) + "/j");
  EXPECT_EQ(json::serialize(*json::find(left.body, {"metadata", "finalizers"})), R"(["foregroundDeletion"])");
}

TEST(Remove, OptionsThatCannotBeReadAreNobodysFault) {
  TestServer server;
  server.post(kConfigMaps, R"({"metadata":{"name":"a"}})");
  auto answer = server.remove(std::string(kConfigMaps) + "/a", "{");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.reason(), "");
  EXPECT_EQ(server.get(std::string(kConfigMaps) + "/a").status, 200);
}

// Whoever takes the last finalizer away ends the object, and sees the version they ended.
TEST(Remove, TheLastFinalizerToGoShowsTheVersionItWasTakenFrom) {
  TestServer server;
  server.post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})");
  auto held = server.remove(std::string(kConfigMaps) + "/a");
  auto ended = server.merge_patch(std::string(kConfigMaps) + "/a", R"({"metadata":{"finalizers":null}})");
  EXPECT_EQ(ended.status, 200);
  EXPECT_EQ(ended.at({"metadata", "resourceVersion"}), held.at({"metadata", "resourceVersion"}));
  EXPECT_EQ(json::find(ended.body, {"metadata", "finalizers"}), nullptr);
  EXPECT_EQ(server.get(std::string(kConfigMaps) + "/a").status, 404);
}

}  // namespace
}  // namespace gangway::apiserver
