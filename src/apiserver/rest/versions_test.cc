// Kinds whose versions differ in fields, over the whole path of a request: every verb, in both versions.
#include "apiserver/rest/versions.h"

#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr const char* kOlder = "/apis/kueue.x-k8s.io/v1beta1/clusterqueues";
constexpr const char* kNewer = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues";
constexpr const char* kOnlyInOlder = "gangway.dev/only-in-v1beta1";
constexpr const char* kOnlyInNewer = "gangway.dev/only-in-v1beta2";

std::string at(const char* collection, std::string_view name) {
  return std::string(collection).append("/").append(name);
}

constexpr const char* kOlderQueue = R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
    "metadata":{"name":"q"},"spec":{"cohort":"all","admissionChecks":["safe"],
    "flavorFungibility":{"whenCanBorrow":"Borrow"}}})";

class Versions : public ::testing::Test {
 protected:
  // As the older version answers for kOlderQueue, whatever else is said of it.
  static void expect_as_written(const json::Value& queue) {
    EXPECT_EQ(json::string_at(queue, {"apiVersion"}), "kueue.x-k8s.io/v1beta1");
    EXPECT_EQ(json::string_at(queue, {"spec", "cohort"}), "all");
    EXPECT_EQ(json::string_at(queue, {"spec", "flavorFungibility", "whenCanBorrow"}), "Borrow");
    EXPECT_EQ(json::serialize(json::array_at(queue, {"spec", "admissionChecks"})), R"(["safe"])");
    EXPECT_EQ(json::find(queue, {"spec", "cohortName"}), nullptr);
    EXPECT_EQ(json::find(queue, {"spec", "admissionChecksStrategy"}), nullptr);
    EXPECT_EQ(json::find(queue, {"metadata", "annotations"}), nullptr) << json::serialize(queue);
  }
  static void expect_converted(const json::Value& queue) {
    EXPECT_EQ(json::string_at(queue, {"apiVersion"}), "kueue.x-k8s.io/v1beta2");
    EXPECT_EQ(json::string_at(queue, {"spec", "cohortName"}), "all");
    EXPECT_EQ(json::string_at(queue, {"spec", "flavorFungibility", "whenCanBorrow"}), "MayStopSearch");
    EXPECT_EQ(json::serialize(json::array_at(queue, {"spec", "admissionChecksStrategy", "admissionChecks"})),
              R"([{"name":"safe"}])");
    EXPECT_EQ(json::find(queue, {"spec", "cohort"}), nullptr);
    EXPECT_FALSE(json::string_at(queue, {"metadata", "annotations", kOnlyInOlder}).empty());
  }

  TestServer server;
};

TEST_F(Versions, AreReadInEither) {
  const auto created = server.post(kOlder, kOlderQueue);
  ASSERT_EQ(created.status, 201) << created.text;
  expect_as_written(created.body);
  expect_as_written(server.get(at(kOlder, "q")).body);
  expect_converted(server.get(at(kNewer, "q")).body);
  expect_as_written(server.get(kOlder).body.at("items").at(0));
  expect_converted(server.get(kNewer).body.at("items").at(0));
}

TEST_F(Versions, AreTheSameInADryRun) {
  const auto dry = server.post(std::string(kOlder) + "?dryRun=All", kOlderQueue);
  ASSERT_EQ(dry.status, 201) << dry.text;
  expect_as_written(dry.body);
  EXPECT_EQ(server.get(at(kNewer, "q")).status, 404);
}

TEST_F(Versions, ShowTheirColumnsAndMetadata) {
  ASSERT_EQ(server.post(kOlder, kOlderQueue).status, 201);
  for (const char* collection : {kOlder, kNewer}) {
    const auto table =
        server.request("GET", collection, {.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"}).body;
    EXPECT_EQ(json::serialize(table.at("rows").at(0).at("cells")), R"(["q","all","BestEffortFIFO",null,null])");
  }
  const auto partial = [&](const char* collection) {
    return server
        .request("GET", at(collection, "q"), {.accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"})
        .body;
  };
  EXPECT_EQ(json::find(partial(kOlder), {"metadata", "annotations"}), nullptr);
  EXPECT_NE(json::find(partial(kNewer), {"metadata", "annotations", kOnlyInOlder}), nullptr);
}

TEST_F(Versions, AreWatchedInEither) {
  auto older = server.get(std::string(kOlder) + "?watch=true");
  auto newer = server.get(std::string(kNewer) + "?watch=true");
  ASSERT_EQ(server.post(kOlder, kOlderQueue).status, 201);
  ASSERT_EQ(server.merge_patch(at(kNewer, "q"), R"({"spec":{"stopPolicy":"Hold"}})").status, 200);
  ASSERT_EQ(server.remove(at(kNewer, "q")).status, 200);
  const auto seen_older = server.events(*older.stream);
  const auto seen_newer = server.events(*newer.stream);
  ASSERT_EQ(seen_older.size(), 3U);
  ASSERT_EQ(seen_newer.size(), 3U);
  const char* types[] = {"ADDED", "MODIFIED", "DELETED"};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(json::string_at(seen_older[i], {"type"}), types[i]);
    expect_as_written(seen_older[i].at("object"));
    EXPECT_EQ(json::string_at(seen_newer[i], {"type"}), types[i]);
    expect_converted(seen_newer[i].at("object"));
  }
}

TEST_F(Versions, AreChangedInEither) {
  ASSERT_EQ(server.post(kOlder, kOlderQueue).status, 201);
  // What is not about the checks and the flavors leaves them as they were written.
  auto patched = server.merge_patch(at(kNewer, "q"), R"({"spec":{"cohortName":"some"}})");
  ASSERT_EQ(patched.status, 200) << patched.text;
  auto shown = server.get(at(kOlder, "q")).body;
  EXPECT_EQ(json::string_at(shown, {"spec", "cohort"}), "some");
  EXPECT_EQ(json::string_at(shown, {"spec", "flavorFungibility", "whenCanBorrow"}), "Borrow");
  // A patch of the older version, to what it says.
  patched = server.request("PATCH", at(kOlder, "q"),
                           {.body = R"([{"op":"replace","path":"/spec/cohort","value":"all"},
                                        {"op":"add","path":"/spec/admissionChecks/-","value":"sound"}])",
                            .content_type = "application/json-patch+json"});
  ASSERT_EQ(patched.status, 200) << patched.text;
  EXPECT_EQ(json::serialize(server.get(at(kNewer, "q")).body.at("spec").at("admissionChecksStrategy")),
            R"({"admissionChecks":[{"name":"safe"},{"name":"sound"}]})");
  // A whole object of the older version, as it was read.
  shown = server.get(at(kOlder, "q")).body;
  shown.at("spec").as_object()["stopPolicy"] = "Hold";
  const auto put = server.put(at(kOlder, "q"), json::serialize(shown));
  ASSERT_EQ(put.status, 200) << put.text;
  EXPECT_EQ(put.body.at("metadata").at("generation"), 4);
  EXPECT_EQ(json::string_at(server.get(at(kNewer, "q")).body, {"spec", "stopPolicy"}), "Hold");
}

TEST_F(Versions, ReadAndWrittenBackChangeNothing) {
  ASSERT_EQ(server.post(kOlder, kOlderQueue).status, 201);
  for (const char* collection : {kOlder, kNewer}) {
    const auto before = server.get(at(collection, "q")).body;
    const auto put = server.put(at(collection, "q"), json::serialize(before));
    ASSERT_EQ(put.status, 200) << put.text;
    EXPECT_TRUE(json::equal(put.body, before)) << put.text;
  }
}

TEST_F(Versions, AreAppliedInEitherByOneManager) {
  const auto applied = server.apply(at(kOlder, "q"), R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
      "metadata":{"name":"q"},"spec":{"cohort":"all","stopPolicy":"Hold","admissionChecks":["safe"]}})",
                                    "me");
  ASSERT_EQ(applied.status, 201) << applied.text;
  // The manager goes on in the newer version. What it leaves out goes, although it had another name.
  const auto again = server.apply(at(kNewer, "q"), R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
      "metadata":{"name":"q"},"spec":{"stopPolicy":"Hold"}})",
                                  "me");
  ASSERT_EQ(again.status, 200) << again.text;
  EXPECT_EQ(json::find(again.body, {"spec", "cohortName"}), nullptr) << again.text;
  EXPECT_EQ(json::find(again.body, {"spec", "admissionChecksStrategy"}), nullptr) << again.text;
  EXPECT_EQ(json::string_at(again.body, {"spec", "stopPolicy"}), "Hold");
  ASSERT_EQ(again.body.at("metadata").at("managedFields").as_array().size(), 1U) << again.text;
  EXPECT_EQ(json::string_at(again.body.at("metadata").at("managedFields").at(0), {"apiVersion"}),
            "kueue.x-k8s.io/v1beta2");
}

TEST_F(Versions, ConflictsAreSeenAcrossThem) {
  ASSERT_EQ(server
                .apply(at(kOlder, "q"), R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
      "metadata":{"name":"q"},"spec":{"cohort":"all","queueingStrategy":"StrictFIFO"}})",
                       "me")
                .status,
            201);
  const char* other = R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"q"},
      "spec":{"cohortName":"some"}})";
  const auto refused = server.apply(at(kNewer, "q"), other, "you");
  EXPECT_EQ(refused.status, 409) << refused.text;
  EXPECT_EQ(refused.message(), R"(Apply failed with 1 conflict: conflict with "me": .spec.cohort)");
  const auto forced = server.apply(at(kNewer, "q"), other, "you", true);
  ASSERT_EQ(forced.status, 200) << forced.text;
  // What is not theirs any more does not go when they apply again without it.
  const auto later = server.apply(at(kOlder, "q"), R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
      "metadata":{"name":"q"},"spec":{"queueingStrategy":"StrictFIFO"}})",
                                  "me");
  ASSERT_EQ(later.status, 200) << later.text;
  EXPECT_EQ(json::string_at(later.body, {"spec", "cohort"}), "some");
}

TEST_F(Versions, WhatAnotherManagerOwnsInTheOtherOneStays) {
  ASSERT_EQ(server
                .apply(at(kOlder, "q"), R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
      "metadata":{"name":"q"},"spec":{"cohort":"all"}})",
                       "me")
                .status,
            201);
  ASSERT_EQ(server
                .apply(at(kNewer, "q"), R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
      "metadata":{"name":"q"},"spec":{"cohortName":"all","stopPolicy":"Hold"}})",
                       "you")
                .status,
            200);
  const auto later = server.apply(at(kOlder, "q"), R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"ClusterQueue",
      "metadata":{"name":"q"}})",
                                  "me");
  ASSERT_EQ(later.status, 200) << later.text;
  EXPECT_EQ(json::string_at(later.body, {"spec", "cohort"}), "all") << later.text;
}

TEST_F(Versions, ARefusalNamesTheFieldsOfTheRequest) {
  const auto wrong = [&](const char* collection, const char* version, const char* cohort) {
    return server
        .post(collection, std::string(R"({"kind":"ClusterQueue","metadata":{"name":"q"},"apiVersion":"kueue.x-k8s.io/)")
                              .append(version)
                              .append(R"(","spec":{")")
                              .append(cohort)
                              .append(R"(":"Not a name"}})"))
        .body.at("details")
        .at("causes")
        .at(0)
        .at("field")
        .as_string();
  };
  EXPECT_EQ(wrong(kOlder, "v1beta1", "cohort"), "spec.cohort");
  EXPECT_EQ(wrong(kNewer, "v1beta2", "cohortName"), "spec.cohortName");
  // A field of the other version is unknown.
  const auto unknown = server.post(std::string(kNewer) + "?fieldValidation=Strict",
                                   R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue",
                                       "metadata":{"name":"q"},"spec":{"cohort":"c"}})");
  EXPECT_EQ(unknown.status, 400);
  EXPECT_EQ(
      unknown.message(),
      "ClusterQueue in version \"v1beta2\" cannot be handled as a ClusterQueue: strict decoding error: unknown field "
      "\"spec.cohort\"");
}

// An annotation is no way around the rules of the version that it is about.
TEST_F(Versions, WhatAnAnnotationAddsIsCheckedToo) {
  const auto collection = std::string("/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads");
  const auto with = [&](const char* size) {
    const auto patch = std::string(R"([{\"op\":\"add\",\"path\":\"/spec/podSets/0/topologyRequest/)")
                           .append(R"(podsetSliceRequiredTopologyConstraints\",\"value\":[{\"topology\":\"rack\",)")
                           .append(R"(\"size\":)")
                           .append(size)
                           .append("}]}]");
    return server.post(collection,
                       std::string(R"({"apiVersion":"kueue.x-k8s.io/v1beta1","kind":"Workload","metadata":{"name":"w)")
                           .append(size)
                           .append(R"(","annotations":{"gangway.dev/only-in-v1beta2":")")
                           .append(patch)
                           .append(R"("}},"spec":{"podSets":[{"topologyRequest":{"required":"block"},)")
                           .append(R"("template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]}})"));
  };
  const auto taken = with("4");
  EXPECT_EQ(taken.status, 201) << taken.text;
  EXPECT_NE(json::find(taken.body, {"metadata", "annotations", kOnlyInNewer}), nullptr);
  const auto refused = with("0");
  EXPECT_EQ(refused.status, 422) << refused.text;
  EXPECT_EQ(refused.body.at("details").at("causes").at(0).at("field").as_string(),
            "spec.podSets[0].topologyRequest.podsetSliceRequiredTopologyConstraints[0].size");
}

TEST_F(Versions, WorkloadsAreSelectedByTheirClusterQueueInEither) {
  const auto collection = std::string("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads");
  const auto made = server.post(collection, R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"Workload",
      "metadata":{"name":"w"},"spec":{"podSets":[{"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]}})");
  ASSERT_EQ(made.status, 201) << made.text;
  const auto admitted = server.merge_patch(collection + "/w/status", R"({"status":{"admission":{"clusterQueue":"q",
      "podSetAssignments":[{"name":"main","count":1,"topologyAssignment":{"levels":["rack"],"slices":[
        {"domainCount":1,"valuesPerLevel":[{"universal":"r1"}],"podCounts":{"universal":1}}]}}]}}})");
  ASSERT_EQ(admitted.status, 200) << admitted.text;
  for (const char* version : {"v1beta1", "v1beta2"}) {
    const auto list = [&](const char* queue) {
      return server
          .get(std::string("/apis/kueue.x-k8s.io/").append(version).append("/workloads?fieldSelector=") +
               "status.admission.clusterQueue%3D" + queue)
          .body.at("items")
          .as_array();
    };
    ASSERT_EQ(list("q").size(), 1U) << version;
    EXPECT_TRUE(list("other").empty()) << version;
  }
  const auto older = server.get("/apis/kueue.x-k8s.io/v1beta1/namespaces/default/workloads/w").body;
  EXPECT_EQ(json::serialize(older.at("status").at("admission").at("podSetAssignments").at(0).at("topologyAssignment")),
            R"({"levels":["rack"],"domains":[{"values":["r1"],"count":1}]})");
}

TEST_F(Versions, DiscoveryPrefersTheStoredOne) {
  const auto group = server.get("/apis/kueue.x-k8s.io").body;
  EXPECT_EQ(json::string_at(group, {"preferredVersion", "version"}), "v1beta2") << json::serialize(group);
  EXPECT_EQ(group.at("versions").as_array().size(), 2U);
}

}  // namespace
}  // namespace gangway::apiserver
