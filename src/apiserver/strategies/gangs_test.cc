// The kinds of gang scheduling as a client meets them: they are built in, and behave as custom resources.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr auto kGroups = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups";
constexpr auto kAllotments = "/apis/gangway.dev/v1alpha1/namespaces/default/allotments";
constexpr auto kConfigurations = "/apis/gangway.dev/v1alpha1/configurations";
constexpr auto kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

std::string object(std::string_view version, std::string_view kind, std::string_view name, std::string_view rest) {
  return R"({"apiVersion":")" + std::string(version) + R"(","kind":")" + std::string(kind) +
         R"(","metadata":{"name":")" + std::string(name) + R"("})" + std::string(rest) + "}";
}
std::string group(std::string_view spec) {
  return object("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", R"(,"spec":)" + std::string(spec));
}
std::string allotment(std::string_view spec) {
  return object("gangway.dev/v1alpha1", "Allotment", "g", R"(,"spec":)" + std::string(spec));
}
std::string configuration(std::string_view name, std::string_view rest = "") {
  return object("gangway.dev/v1alpha1", "Configuration", name, rest);
}

json::Value cells(TestServer& server, const std::string& path) {
  auto table = server.request("GET", path, {.accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"});
  return table.body.at("rows").as_array().at(0).at("cells");
}

std::vector<std::string> causes(const TestResponse& response) {
  std::vector<std::string> found;
  for (const auto& cause : response.body.at("details").at("causes").as_array()) {
    found.push_back(std::string(json::string_at(cause, {"field"})) + ": " +
                    std::string(json::string_at(cause, {"message"})));
  }
  return found;
}

TEST(PodGroups, HaveAStatusOfTheirOwn) {
  TestServer server;
  auto made = server.post(
      kGroups, group(R"({"minMember":2,"minResources":{"nvidia.com/gpu":16}},"status":{"phase":"Running"})"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_FALSE(made.body.as_object().contains("status"));
  EXPECT_EQ(made.body.at("metadata").at("generation"), 1);
  auto told = server.merge_patch(std::string(kGroups) + "/g/status",
                                 R"({"spec":{"minMember":9},"status":{"phase":"Running","running":2}})");
  ASSERT_EQ(told.status, 200) << told.text;
  EXPECT_EQ(told.body.at("spec").at("minMember"), 2);
  EXPECT_EQ(told.body.at("metadata").at("generation"), 1);
  EXPECT_EQ(cells(server, kGroups), (json::Array{"g", "Running", 2, 2, nullptr, nullptr, "0s"}));
}

TEST(PodGroups, NameTheFieldOfEachMistake) {
  TestServer server;
  EXPECT_THAT(
      causes(server.post(kGroups, group(R"({"minMember":0,"minResources":{"nvidia.com/gpu":"0.5","cpu":-1}})"))),
      ElementsAre("spec.minMember: Invalid value: 0: spec.minMember in body should be greater than or equal to 1",
                  "spec.minResources[cpu]: Invalid value: \"-1\": must be greater than or equal to 0",
                  "spec.minResources[nvidia.com/gpu]: Invalid value: \"500m\": must be an integer"));
  auto unknown = server.post(std::string(kGroups) + "?fieldValidation=Strict", group(R"({"minMembers":1})"));
  EXPECT_EQ(unknown.status, 400);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("unknown field \"spec.minMembers\""));
}

TEST(Allotments, ShowWhatTheyGrant) {
  TestServer server;
  auto made = server.post(kAllotments, allotment(R"({"gang":{"kind":"PodGroup","name":"train","uid":"u"},"epoch":3,
      "places":[{"pod":"a","uid":"ua","node":"n0"}],"holds":[{"node":"n0","name":"launcher","requests":{"cpu":"1"}}],
      "victims":[{"namespace":"default","pod":"v","uid":"uv","node":"n0","gang":"v","how":"Fail"}],
      "withdrawn":["default/w"],"grantedAt":"2026-01-02T03:04:05Z","lostGpuSeconds":7})"));
  ASSERT_EQ(made.status, 201) << made.text;
  auto told = server.merge_patch(std::string(kAllotments) + "/g/status", R"({"status":{"phase":"Releasing",
      "lostGpuSeconds":5,"verdict":{"code":"WaitsForVictims","blockers":["default/v"]},
      "preemptedBy":[{"namespace":"default","name":"x","priority":9,"at":"2026-01-02T03:04:05Z"}],
      "preemptions":["2026-01-02T03:04:05Z"]}})");
  ASSERT_EQ(told.status, 200) << told.text;
  EXPECT_EQ(cells(server, kAllotments), (json::Array{"g", "train", "Releasing", 2, 1, 5, "0s", "WaitsForVictims", 7}));
}

TEST(Allotments, NameTheFieldOfEachMistake) {
  TestServer server;
  EXPECT_THAT(
      causes(server.post(kAllotments, allotment(R"({"gang":{"kind":"Job","name":"j"},"places":[{"pod":"a"}],
          "holds":[{"node":"n","requests":{"nvidia.com/gpu":"0.5"}}],
          "victims":[{"namespace":"d","pod":"v","how":"Kill"}]})"))),
      ElementsAre(
          "spec.gang.kind: Unsupported value: \"Job\": supported values: \"PodGroup\", \"Pod\"",
          "spec.places[0].node: Required value",
          "spec.victims[0].how: Unsupported value: \"Kill\": supported values: \"Shrink\", \"Fail\", \"Requeue\"",
          "spec.holds[0].requests[nvidia.com/gpu]: Invalid value: \"500m\": must be an integer"));
  EXPECT_THAT(causes(server.post(kAllotments, allotment("{}"))), ElementsAre("spec.gang: Required value"));
}

TEST(Configurations, HaveDefaults) {
  TestServer server;
  auto made = server.post(kConfigurations, configuration("default"));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_TRUE(made.warnings.empty());
  EXPECT_EQ(made.body.at("spec").at("scheduling"),
            json::parse(R"({"minRuntimeLimit":"10m","maxPreemptionsLimit":5,"topology":["topology.kubernetes.io/rack",
                "topology.kubernetes.io/zone","topology.kubernetes.io/region"]})")
                .value());
  EXPECT_EQ(cells(server, kConfigurations), (json::Array{"default", "10m", 5, "0s"}));
}

TEST(Configurations, NameTheFieldOfEachMistake) {
  TestServer server;
  auto wrong = causes(server.post(kConfigurations, configuration("default", R"(,"spec":{"scheduling":{
      "minRuntimeLimit":"-1m","maxPreemptionsLimit":-1,"topology":["rack","rack"],"topPriorityClass":"Top"}})")));
  ASSERT_EQ(wrong.size(), 4U);
  EXPECT_EQ(
      wrong[0],
      "spec.scheduling.maxPreemptionsLimit: Invalid value: -1: spec.scheduling.maxPreemptionsLimit in body should "
      "be greater than or equal to 0");
  EXPECT_EQ(wrong[1], "spec.scheduling.minRuntimeLimit: Invalid value: \"-1m\": must not be negative");
  EXPECT_EQ(wrong[2], "spec.scheduling.topology[1]: Duplicate value: \"rack\"");
  EXPECT_THAT(wrong[3], HasSubstr("spec.scheduling.topPriorityClass: Invalid value: \"Top\": a lowercase RFC 1123"));
}

TEST(Configurations, SayHowLongUsageIsKept) {
  TestServer server;
  auto wrong =
      causes(server.post(kConfigurations, configuration("default", R"(,"spec":{"usage":{"retention":"soon"}})")));
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_EQ(wrong[0], "spec.usage.retention: Invalid value: \"soon\": must be a duration such as 90s, 10m or 1h30m");
  auto made = server.post(kConfigurations, configuration("default", R"(,"spec":{"usage":{}})"));
  EXPECT_EQ(made.at({"spec", "usage", "retention"}), "168h");
}

TEST(Configurations, WarnOfWhatHasNoEffect) {
  TestServer server;
  auto made =
      server.post(kConfigurations, configuration("mine", R"(,"spec":{"scheduling":{"topPriorityClass":"top"}})"));
  EXPECT_EQ(made.status, 201);
  ASSERT_EQ(made.warnings.size(), 2U);
  EXPECT_THAT(made.warnings[0], HasSubstr("there is no PriorityClass \\\"top\\\"; there are: system-cluster-critical, "
                                          "system-node-critical"));
  EXPECT_THAT(made.warnings[1], HasSubstr("only the Configuration named \\\"default\\\" counts"));
}

// Installers bring definitions of kinds that are built in here.
TEST(BuiltInCustomKinds, DoNotGiveTheirNamesAway) {
  TestServer server;
  server.post(kGroups, group(R"({"minMember":2})"));
  auto defined = server.post(kDefinitions, R"({"metadata":{"name":"podgroups.scheduling.x-k8s.io",
      "annotations":{"api-approved.kubernetes.io":"https://example.com"}},"spec":{"group":"scheduling.x-k8s.io",
      "scope":"Namespaced","names":{"plural":"podgroups","kind":"PodGroup"},"versions":[{"name":"v1alpha1",
      "served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}})");
  ASSERT_EQ(defined.status, 201) << defined.text;
  ASSERT_EQ(defined.warnings.size(), 1U);
  EXPECT_THAT(defined.warnings[0], HasSubstr("built into this server"));
  for (const auto& condition : defined.body.at("status").at("conditions").as_array()) {
    EXPECT_EQ(json::string_at(condition, {"status"}), "False") << json::serialize(condition);
  }
  EXPECT_EQ(server.post(kGroups, group(R"({"minMember":0})")).status, 422);
  // Also not while the definition is on its way out.
  server.remove(std::string(kDefinitions) + "/podgroups.scheduling.x-k8s.io");
  auto other = group(R"({"minMember":1})");
  other.replace(other.find(R"("g")"), 3, R"("h")");
  EXPECT_EQ(server.post(kGroups, other).status, 201);
}

}  // namespace
}  // namespace gangway::apiserver
