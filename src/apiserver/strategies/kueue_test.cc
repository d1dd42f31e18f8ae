#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/strategies/test_review.h"

namespace gangway::apiserver {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

// What is wrong with `spec` in an object of version `version`.
struct Rules {
  TestWrites writes;
  std::string kind;

  Rules(std::string name, std::string plural, bool is_namespaced = false)
      : writes("kueue.x-k8s.io", name, std::move(plural), is_namespaced), kind(std::move(name)) {}

  std::string object(std::string_view members, std::string_view version) const {
    return std::string(R"({"apiVersion":"kueue.x-k8s.io/)")
        .append(version)
        .append(R"(","kind":")")
        .append(kind)
        .append(R"(","metadata":{"name":"x"},)")
        .append(members)
        .append("}");
  }
  std::vector<std::string> problems(std::string_view members, std::string_view version = "v1beta2") {
    return writes.create(object(members, version)).problems;
  }
  std::vector<std::string> problems_of_update(std::string_view before, std::string_view now,
                                              std::string_view version = "v1beta2", std::string_view subresource = "") {
    return writes.update(object(before, version), object(now, version), subresource).problems;
  }
};

struct Case {
  const char* members;
  std::vector<std::string> want;
};

TEST(KueueClusterQueue, QuotaHasToAddUp) {
  Rules rules("ClusterQueue", "clusterqueues");
  const Case cases[] = {
      {R"("spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"f","resources":[
          {"name":"cpu","nominalQuota":9},{"name":"memory","nominalQuota":"36Gi"}]}]}]})",
       {}},
      {R"("spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"f","resources":[
          {"name":"memory","nominalQuota":9},{"name":"cpu","nominalQuota":"36Gi"}]}]}]})",
       {"spec.resourceGroups[0].flavors[0].resources[0].name: Invalid value: \"memory\": must be cpu: resources are in "
        "the order of coveredResources",
        "spec.resourceGroups[0].flavors[0].resources[1].name: Invalid value: \"cpu\": must be memory: resources are in "
        "the order of coveredResources"}},
      {R"("spec":{"resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"f","resources":[
          {"name":"cpu","nominalQuota":9}]}]}]})",
       {"spec.resourceGroups[0].flavors[0].resources: Invalid value: 1: must have as many resources as "
        "coveredResources (2)"}},
      {R"("spec":{"resourceGroups":[
          {"coveredResources":["cpu"],"flavors":[{"name":"f","resources":[{"name":"cpu","nominalQuota":-1}]}]},
          {"coveredResources":["cpu"],"flavors":[{"name":"f","resources":[{"name":"cpu","nominalQuota":"x"}]}]}]})",
       {"spec.resourceGroups[0].flavors[0].resources[0].nominalQuota: Invalid value: -1: must be greater than or equal "
        "to 0",
        "spec.resourceGroups[1].coveredResources[0]: Duplicate value: \"cpu\"",
        "spec.resourceGroups[1].flavors[0].name: Duplicate value: \"f\"",
        "spec.resourceGroups[1].flavors[0].resources[0].nominalQuota: Invalid value: \"x\": must be an amount, as "
        "500m, 4Gi or 8"}},
      {R"("spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"f","resources":[
          {"name":"cpu","nominalQuota":9,"borrowingLimit":1,"lendingLimit":2}]}]}]})",
       {"spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Forbidden: nothing is borrowed or lent outside "
        "a cohort",
        "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Forbidden: nothing is borrowed or lent outside "
        "a cohort"}},
      {R"("spec":{"cohortName":"c","resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"f","resources":[
          {"name":"cpu","nominalQuota":"2","borrowingLimit":-1,"lendingLimit":"2500m"}]}]}]})",
       {"spec.resourceGroups[0].flavors[0].resources[0].borrowingLimit: Invalid value: -1: must be greater than or "
        "equal to 0",
        "spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Invalid value: \"2500m\": must not be more than "
        "nominalQuota (2)"}},
  };
  for (const auto& each : cases) EXPECT_THAT(rules.problems(each.members), ElementsAreArray(each.want)) << each.members;
}

TEST(KueueClusterQueue, HasNoMoreThan256FlavorsInAll) {
  Rules rules("ClusterQueue", "clusterqueues");
  const auto spec_with = [](int flavors_a_group) {
    json::Array groups;
    for (int group = 0; group < 4; ++group) {
      json::Array flavors;
      const auto resource = "r" + std::to_string(group);
      for (int i = 0; i < flavors_a_group; ++i) {
        flavors.push_back(
            json::Object{{"name", "f" + std::to_string(group) + "-" + std::to_string(i)},
                         {"resources", json::Array{json::Object{{"name", resource}, {"nominalQuota", 1}}}}});
      }
      groups.push_back(json::Object{{"coveredResources", json::Array{resource}}, {"flavors", std::move(flavors)}});
    }
    return "\"spec\":{\"resourceGroups\":" + json::serialize(groups) + "}";
  };
  EXPECT_THAT(rules.problems(spec_with(64)), ElementsAre());
  EXPECT_THAT(rules.problems(spec_with(65)),
              ElementsAre("spec.resourceGroups: Invalid value: 260: must have no more than 256 flavors in all groups"));
}

TEST(KueueClusterQueue, PoliciesHaveToGoTogether) {
  Rules rules("ClusterQueue", "clusterqueues");
  const Case cases[] = {
      {R"("spec":{"flavorFungibility":{"whenCanBorrow":"TryNextFlavor","whenCanPreempt":"TryNextFlavor",
                                       "preference":"PreemptionOverBorrowing"}})",
       {}},
      {R"("spec":{"flavorFungibility":{"whenCanBorrow":"MayStopSearch","whenCanPreempt":"TryNextFlavor",
                                       "preference":"PreemptionOverBorrowing"}})",
       {"spec.flavorFungibility.preference: Forbidden: has a meaning only when whenCanBorrow and whenCanPreempt are "
        "both TryNextFlavor"}},
      {R"("spec":{"preemption":{"reclaimWithinCohort":"Never","borrowWithinCohort":{"policy":"Never"}}})", {}},
      {R"("spec":{"preemption":{"reclaimWithinCohort":"Never","borrowWithinCohort":{"policy":"LowerPriority"}}})",
       {"spec.preemption.borrowWithinCohort.policy: Invalid value: \"LowerPriority\": must be Never when "
        "reclaimWithinCohort is Never"}},
      {R"("spec":{"fairSharing":{"weight":0}})", {}},
      {R"("spec":{"fairSharing":{"weight":"2n"}})", {}},
      {R"("spec":{"fairSharing":{"weight":"1n"}})",
       {"spec.fairSharing.weight: Invalid value: \"1n\": must be 0 or more than 1e-9"}},
      {R"("spec":{"fairSharing":{"weight":"-1"}})",
       {"spec.fairSharing.weight: Invalid value: \"-1\": must be greater than or equal to 0"}},
      {R"("spec":{"concurrentAdmissionPolicy":{"migration":{"mode":"RetainFirstAdmission",
          "constraints":{"lastAcceptableFlavorName":"f"}}}})",
       {"spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName: Forbidden: has a meaning only "
        "when mode is TryPreferredFlavors"}},
      {R"("spec":{"namespaceSelector":{"matchExpressions":[{"key":"team","operator":"In"}]}})",
       {"spec.namespaceSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' "
        "or 'NotIn'"}},
  };
  for (const auto& each : cases) EXPECT_THAT(rules.problems(each.members), ElementsAreArray(each.want)) << each.members;
}

TEST(KueueClusterQueue, IsJudgedAlikeInTheOlderVersion) {
  Rules rules("ClusterQueue", "clusterqueues");
  EXPECT_THAT(rules.problems(R"("spec":{"cohort":"c","admissionChecks":["a"],
      "flavorFungibility":{"whenCanBorrow":"Borrow","whenCanPreempt":"Preempt"},"resourceGroups":[
      {"coveredResources":["cpu"],"flavors":[{"name":"f","resources":[
          {"name":"cpu","nominalQuota":9,"borrowingLimit":1}]}]}]})",
                             "v1beta1"),
              ElementsAre());
  EXPECT_THAT(rules.problems(R"("spec":{"admissionChecks":["a"],"admissionChecksStrategy":{"admissionChecks":[
      {"name":"a"}]},"flavorFungibility":{"whenCanBorrow":"Borrow","preference":"PreemptionOverBorrowing"}})",
                             "v1beta1"),
              ElementsAre("spec.admissionChecks: Forbidden: admissionChecksStrategy says it already",
                          "spec.flavorFungibility.preference: Forbidden: has a meaning only when whenCanBorrow and "
                          "whenCanPreempt are both TryNextFlavor"));
}

TEST(KueueLocalQueue, StaysWithItsClusterQueue) {
  Rules rules("LocalQueue", "localqueues", true);
  EXPECT_THAT(
      rules.problems_of_update(R"("spec":{"clusterQueue":"a"})", R"("spec":{"clusterQueue":"a","stopPolicy":"Hold"})"),
      ElementsAre());
  for (const char* version : {"v1beta1", "v1beta2"}) {
    EXPECT_THAT(rules.problems_of_update(R"("spec":{"clusterQueue":"a"})", R"("spec":{"clusterQueue":"b"})", version),
                ElementsAre("spec.clusterQueue: Invalid value: \"b\": field is immutable"));
  }
}

TEST(KueueCohort, LendsAndBorrowsOnlyBelowAnother) {
  Rules rules("Cohort", "cohorts");
  const auto quota = R"("resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"f","resources":[
      {"name":"cpu","nominalQuota":9,"lendingLimit":1}]}]}]})";
  EXPECT_THAT(rules.problems(std::string(R"("spec":{"parentName":"root",)") + quota), ElementsAre());
  EXPECT_THAT(rules.problems(std::string(R"("spec":{)") + quota),
              ElementsAre("spec.resourceGroups[0].flavors[0].resources[0].lendingLimit: Forbidden: nothing is borrowed "
                          "or lent outside a cohort"));
}

TEST(KueueResourceFlavor, SaysWhatNodesCanHave) {
  Rules rules("ResourceFlavor", "resourceflavors");
  const Case cases[] = {
      {R"("spec":{"nodeLabels":{"gpu":"a100"},"topologyName":"t","nodeTaints":[{"key":"spot","effect":"NoSchedule"}],
          "tolerations":[{"key":"spot","operator":"Exists"}]})",
       {}},
      {R"("spec":{"topologyName":"t"})",
       {"spec.nodeLabels: Required value: a flavor with a topology has at least one label"}},
      {R"("spec":{"nodeTaints":[{"key":"spot"},{"key":"spot","effect":"Never"}]})",
       {"spec.nodeTaints[0].effect: Required value",
        "spec.nodeTaints[1].effect: Unsupported value: \"Never\": supported values: \"NoSchedule\", "
        "\"PreferNoSchedule\", \"NoExecute\""}},
      {R"("spec":{"tolerations":[{"operator":"Equal","value":"x"}]})",
       {"spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which "
        "means \"match all values and all keys\""}},
  };
  for (const auto& each : cases) EXPECT_THAT(rules.problems(each.members), ElementsAreArray(each.want)) << each.members;
  const auto with = [](const char* topology) {
    return std::string(R"("spec":{"nodeLabels":{"a":"b"})").append(topology).append("}");
  };
  EXPECT_THAT(rules.problems_of_update(with(""), with(R"(,"topologyName":"t")")), ElementsAre());
  EXPECT_THAT(rules.problems_of_update(with(R"(,"topologyName":"t")"), with(R"(,"topologyName":"u")")),
              ElementsAre("spec.topologyName: Invalid value: \"u\": field is immutable"));
  EXPECT_THAT(rules.problems_of_update(with(R"(,"topologyName":"t")"), with("")),
              ElementsAre("spec.topologyName: Invalid value: \"\": field is immutable"));
}

TEST(KueueAdmissionCheck, StaysWithItsController) {
  Rules rules("AdmissionCheck", "admissionchecks");
  EXPECT_THAT(rules.problems_of_update(R"("spec":{"controllerName":"a"})", R"("spec":{"controllerName":"b"})"),
              ElementsAre("spec.controllerName: Invalid value: \"b\": field is immutable"));
}

TEST(KueueTopology, EndsAtHostsOrStays) {
  Rules rules("Topology", "topologies");
  const auto levels = [](std::initializer_list<const char*> labels) {
    json::Array list;
    for (const auto* label : labels) list.push_back(json::Object{{"nodeLabel", label}});
    return "\"spec\":{\"levels\":" + json::serialize(list) + "}";
  };
  const char* host = "kubernetes.io/hostname";
  EXPECT_THAT(rules.problems(levels({"block", "rack", host})), ElementsAre());
  EXPECT_THAT(rules.problems(levels({host, "rack", "rack", "not a label"})),
              ElementsAre("spec.levels[0].nodeLabel: Invalid value: \"kubernetes.io/hostname\": only the lowest level "
                          "can be a host",
                          "spec.levels[2].nodeLabel: Duplicate value: \"rack\"",
                          testing::StartsWith("spec.levels[3].nodeLabel: Invalid value: \"not a label\": name part")));
  EXPECT_THAT(rules.problems_of_update(levels({"block", host}), levels({"block", "rack", host})), ElementsAre());
  EXPECT_THAT(rules.problems_of_update(levels({"block", "rack"}), levels({"block", "rack"})), ElementsAre());
  const char* refused =
      "spec.levels: Forbidden: can be changed only while kubernetes.io/hostname is the lowest level before and after";
  EXPECT_THAT(rules.problems_of_update(levels({"block", "rack"}), levels({"block", "rack", host})),
              ElementsAre(refused));
  EXPECT_THAT(rules.problems_of_update(levels({"block", host}), levels({"block"})), ElementsAre(refused));
}

}  // namespace
}  // namespace gangway::apiserver
