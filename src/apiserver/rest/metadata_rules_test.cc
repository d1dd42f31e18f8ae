#include "apiserver/rest/metadata_rules.h"

#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr auto kConfigMaps = "/api/v1/namespaces/default/configmaps";
constexpr auto kOne = "/api/v1/namespaces/default/configmaps/a";

std::string field_of_cause(const TestResponse& response) {
  const auto* causes = json::find(response.body, {"details", "causes"});
  if (!causes || causes->as_array().empty()) return "";
  return std::string(json::string_at(causes->as_array().front(), {"field"}));
}

TEST(Metadata, WhatMayNotChangeIsRefusedNotDropped) {
  struct Case {
    const char* patch;
    const char* field;  // "": it changes nothing
  };
  for (const auto& c : {Case{R"({"metadata":{"uid":"x"}})", "metadata.uid"},
                        {R"({"metadata":{"uid":null}})", ""},
                        {R"({"metadata":{"deletionTimestamp":"2001-01-01T00:00:00Z"}})", "metadata.deletionTimestamp"},
                        {R"({"metadata":{"deletionGracePeriodSeconds":3}})", "metadata.deletionGracePeriodSeconds"},
                        {R"({"metadata":{"creationTimestamp":"2001-01-01T00:00:00Z","generation":7}})", ""}}) {
    TestServer server;
    auto made = server.post(kConfigMaps, R"({"metadata":{"name":"a"}})");
    auto answer = server.merge_patch(kOne, c.patch);
    EXPECT_EQ(answer.status, *c.field ? 422 : 200) << c.patch;
    EXPECT_EQ(field_of_cause(answer), c.field) << c.patch;
    EXPECT_EQ(server.get(kOne).text, made.text) << c.patch;
  }
}

// A whole object with another uid is another object: the writer has seen one that is gone.
TEST(Metadata, AnUpdateWithAnotherUidIsAConflict) {
  TestServer server;
  server.post(kConfigMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(server.put(kOne, R"({"metadata":{"name":"a","uid":"x"}})").reason(), "Conflict");
}

TEST(Metadata, TheMarksOfADeletionStay) {
  TestServer server;
  server.post(kConfigMaps, R"({"metadata":{"name":"a","finalizers":["example.com/hold"]}})");
  auto marked = server.remove(kOne);
  auto patched = server.merge_patch(
      kOne, R"({"metadata":{"deletionTimestamp":null,"deletionGracePeriodSeconds":null,"labels":{"x":"y"}}})");
  EXPECT_EQ(patched.status, 200) << patched.text;
  EXPECT_EQ(patched.at({"metadata", "deletionTimestamp"}), marked.at({"metadata", "deletionTimestamp"}));
  EXPECT_EQ(*json::find(patched.body, {"metadata", "deletionGracePeriodSeconds"}), 0);
}

TEST(Metadata, AVersionIsANumber) {
  TestServer server;
  server.post(kConfigMaps, R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(server.put(kOne, R"({"metadata":{"name":"a","resourceVersion":"abc"}})").status, 500);
  EXPECT_EQ(server.put(kOne, R"({"metadata":{"name":"a","resourceVersion":"7"}})").status, 409);
  auto applied = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"abc"}})";
  EXPECT_EQ(server.apply(std::string(kConfigMaps) + "/new", applied, "m").status, 500);
}

// There is nothing that the version could be compared with.
TEST(Metadata, WhatIsAppliedToNothingMayHaveAVersion) {
  TestServer server;
  auto applied = R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"resourceVersion":"1"}})";
  EXPECT_EQ(server.apply(kOne, applied, "m").status, 201);
  EXPECT_EQ(server.apply(kOne, applied, "m").status, 409);
}

TEST(Metadata, AnEventOwnsNothing) {
  TestServer server;
  auto answer = server.post(kConfigMaps, R"({"metadata":{"name":"a","ownerReferences":[
      {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}]}})");
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(field_of_cause(answer), "metadata.ownerReferences");
}

// The status endpoint of a deployment reports; it does not label, and its annotations do not count as a change of spec.
TEST(Metadata, WhatStatusMayWriteDiffersByKind) {
  TestServer server;
  constexpr auto kDeployments = "/apis/apps/v1/namespaces/default/deployments";
  server.post(kDeployments, R"({"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{
      "metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}})");
  auto reported = server.merge_patch(std::string(kDeployments) + "/a/status?fieldManager=m",
                                     R"({"metadata":{"labels":{"x":"y"},"annotations":{"x":"y"}}})");
  ASSERT_EQ(reported.status, 200) << reported.text;
  EXPECT_EQ(json::find(reported.body, {"metadata", "labels"}), nullptr);
  EXPECT_EQ(reported.at({"metadata", "annotations", "x"}), "y");
  EXPECT_EQ(*json::find(reported.body, {"metadata", "generation"}), 1);
  for (const auto& entry : json::find(reported.body, {"metadata", "managedFields"})->as_array()) {
    if (json::string_at(entry, {"manager"}) != "m") continue;
    EXPECT_EQ(json::serialize(entry.at("fieldsV1")), R"({"f:metadata":{"f:annotations":{".":{},"f:x":{}}}})");
  }
}

}  // namespace
}  // namespace gangway::apiserver
