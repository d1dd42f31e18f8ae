#include "apiserver/strategies/custom_resource_definition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/conditions.h"
#include "apiserver/strategies/test_review.h"

namespace gangway::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

TestWrites definitions() {
  return {"apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions", false};
}

constexpr std::string_view kVersion =
    R"({"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}})";

std::string definition(std::string_view versions, std::string_view names = R"({"plural":"widgets","kind":"Widget"})") {
  return R"({"metadata":{"name":"widgets.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":)" +
         std::string(names) + R"(,"versions":[)" + std::string(versions) + "]}}";
}

TEST(CustomResourceDefinitionStrategy, IsServedAtOnce) {
  auto writes = definitions();
  auto made = writes.create(definition(kVersion));
  EXPECT_THAT(made.problems, IsEmpty());
  const auto& object = made.object;
  EXPECT_EQ(object.at("spec").at("names").at("singular"), "widget");
  EXPECT_EQ(object.at("spec").at("names").at("listKind"), "WidgetList");
  EXPECT_EQ(object.at("status").at("acceptedNames").at("plural"), "widgets");
  EXPECT_EQ(object.at("status").at("storedVersions"), json::Value(json::Array{"v1"}));
  EXPECT_EQ(api::find_condition(object, "NamesAccepted")->at("reason"), "NoConflicts");
  EXPECT_EQ(api::find_condition(object, "Established")->at("reason"), "InitialNamesAccepted");
  EXPECT_TRUE(is_established(object));
}

TEST(CustomResourceDefinitionStrategy, RemembersStoredVersions) {
  auto writes = definitions();
  auto made = writes.create(definition(kVersion)).object;
  auto moved =
      json::parse(
          definition(R"({"name":"v1","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}},
      {"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}})"))
          .value();
  moved.as_object()["status"] = made.at("status");
  auto second = writes.update(made, json::serialize(moved));
  EXPECT_THAT(second.problems, IsEmpty());
  EXPECT_EQ(second.object.at("status").at("storedVersions"), json::Value(json::Array({"v1", "v2"})));
  auto dropped =
      json::parse(
          definition(R"({"name":"v2","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}})"))
          .value();
  dropped.as_object()["status"] = second.object.at("status");
  EXPECT_THAT(
      writes.update(second.object, json::serialize(dropped)).problems,
      ElementsAre("status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a "
                  "storage version, and must remain in spec.versions until a storage migration ensures no data "
                  "remains persisted in v1 and removes v1 from status.storedVersions"));
}

TEST(CustomResourceDefinitionStrategy, NamesTheFieldOfEachMistake) {
  struct Mistake {
    std::string text;
    std::vector<std::string> problems;
  };
  const Mistake kMistakes[] = {
      {definition(kVersion, R"({"plural":"gadgets","kind":"Widget"})"),
       {"metadata.name: Invalid value: \"widgets.example.com\": must be spec.names.plural+\".\"+spec.group"}},
      {definition(R"({"name":"v1","served":true,"storage":true})"),
       {"spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required"}},
      {definition(kVersion, R"({"plural":"widgets","kind":"Widget","shortNames":["W"],"listKind":"Widget"})"),
       {"spec.names.shortNames[0]: Invalid value: \"W\": a DNS-1035 label must consist of lower case alphanumeric "
        "characters or "
        "'-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
        "'abc-123', "
        "regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        "spec.names.listKind: Invalid value: \"Widget\": kind and listKind may not be the same"}},
      {definition(R"({"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},
          "subresources":{"scale":{"specReplicasPath":".status.n","statusReplicasPath":".status.n"}},
          "additionalPrinterColumns":[{"name":"A","type":"text","jsonPath":"spec"}]})"),
       {"spec.subresources.scale.specReplicasPath: Invalid value: \".status.n\": should be a json path under .spec",
        "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of "
        "boolean,date,integer,number,string",
        "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"spec\": must be a simple json path starting with "
        "."}},
  };
  for (const auto& mistake : kMistakes) {
    auto writes = definitions();
    EXPECT_THAT(writes.create(mistake.text).problems, ElementsAreArray(mistake.problems)) << mistake.text;
  }
}

TEST(CustomResourceDefinitionStrategy, WarnsOfRulesItDoesNotEvaluate) {
  auto writes = definitions();
  auto made = writes.create(
      definition(R"({"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
      "properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":"true"}]}}}}})"));
  EXPECT_THAT(made.warnings,
              ElementsAre("spec.versions[0].schema: x-kubernetes-validations are kept, but this server does not "
                          "evaluate them"));
}

TEST(CustomResourceDefinitionStrategy, StaysUntilItsObjectsAreGone) {
  auto writes = definitions();
  auto object = writes.create(definition(kVersion)).object;
  object.at("metadata").as_object()["deletionTimestamp"] = "2026-01-02T03:04:05Z";
  writes.strategy().on_delete(object);
  EXPECT_EQ(object.at("metadata").at("finalizers"), json::Value(json::Array{kCustomResourceCleanup}));
  EXPECT_EQ(api::find_condition(object, "Terminating")->at("lastTransitionTime"), "2026-01-02T03:04:05Z");
}

}  // namespace
}  // namespace gangway::apiserver
