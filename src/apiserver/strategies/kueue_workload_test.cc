#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/strategies/test_review.h"

namespace gangway::apiserver {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr const char* kTemplate = R"("template":{"spec":{"containers":[{"name":"c","image":"i"}]}})";

// A workload of two pod sets that was given quota, as JSON that tests change.
json::Value a_workload(std::string_view version = "v1beta2") {
  auto workload = json::parse(std::string(R"({"kind":"Workload","metadata":{"name":"w","namespace":"default"},
      "spec":{"queueName":"q","podSets":[{"name":"head","count":1,)")
                                  .append(kTemplate)
                                  .append(R"(},{"name":"worker","count":4,)")
                                  .append(kTemplate)
                                  .append("}]}}"))
                      .value();
  workload.as_object()["apiVersion"] = std::string("kueue.x-k8s.io/").append(version);
  return workload;
}

json::Value& spec_of(json::Value& workload) {
  return workload.at("spec");
}

void set(json::Value& workload, std::string_view section, std::string_view key, std::string_view value) {
  json::object_at(workload, {section})[key] = json::parse(value).value();
}

void condition(json::Value& workload, std::string_view type) {
  auto& status = json::object_at(workload, {"status"});
  if (!status.contains("conditions")) status["conditions"] = json::Array();
  status["conditions"].as_array().push_back(json::Object{{"type", type}, {"status", "True"}});
}

json::Value reserved(std::string_view version = "v1beta2") {
  auto workload = a_workload(version);
  condition(workload, "QuotaReserved");
  set(workload, "status", "admission",
      R"({"clusterQueue":"cq","podSetAssignments":[{"name":"head","count":1},{"name":"worker","count":4}]})");
  return workload;
}

class KueueWorkload : public testing::Test {
 protected:
  std::vector<std::string> problems(const json::Value& workload) {
    return writes_.create(json::serialize(workload)).problems;
  }
  std::vector<std::string> problems(const json::Value& before, const json::Value& now,
                                    std::string_view subresource = "") {
    return writes_.update(before, json::serialize(now), subresource).problems;
  }

  TestWrites writes_{"kueue.x-k8s.io", "Workload", "workloads"};
};

TEST_F(KueueWorkload, PodSetsHaveToMakeSense) {
  EXPECT_THAT(problems(a_workload()), ElementsAre());
  auto workload = a_workload();
  auto& sets = spec_of(workload).at("podSets").as_array();
  sets[0].as_object()["minCount"] = 2;
  sets[1].as_object()["minCount"] = 2;
  sets[1].at("template").at("spec").at("containers").at(0).as_object()["resources"] =
      json::parse(R"({"requests":{"cpu":1,"pods":1}})").value();
  EXPECT_THAT(problems(workload),
              ElementsAre("spec.podSets[0].minCount: Invalid value: 2: must not be more than count (1)",
                          "spec.podSets[1].template.spec.containers[0].resources.requests[pods]: Forbidden: pods are "
                          "counted by their queue",
                          "spec.podSets: Invalid value: 2: at most one of them can have a minCount"));
  auto empty = a_workload();
  spec_of(empty).at("podSets").at(0).at("template").at("spec").as_object()["containers"] = json::Array();
  EXPECT_THAT(problems(empty),
              ElementsAre("spec.podSets[0].template.spec.containers: Required value: a pod has at least one"));
}

TEST_F(KueueWorkload, APriorityClassComesWithItsValue) {
  auto workload = a_workload();
  set(workload, "spec", "priorityClassRef",
      R"({"group":"scheduling.k8s.io","kind":"WorkloadPriorityClass","name":"high"})");
  EXPECT_THAT(problems(workload),
              ElementsAre("spec.priority: Required value: a workload with a priority class has the value of that",
                          "spec.priorityClassRef.kind: Invalid value: \"WorkloadPriorityClass\": must be PriorityClass "
                          "in the group scheduling.k8s.io"));
  auto older = a_workload("v1beta1");
  set(older, "spec", "priorityClassName", R"("high")");
  set(older, "spec", "priorityClassSource", R"("kueue.x-k8s.io/workloadpriorityclass")");
  EXPECT_THAT(problems(older),
              ElementsAre("spec.priority: Required value: a workload with a priority class has the value of that"));
  set(older, "spec", "priority", "10");
  EXPECT_THAT(problems(older), ElementsAre());
}

TEST_F(KueueWorkload, WhatQuotaWasGivenForStays) {
  struct Case {
    const char* name;
    void (*change)(json::Value& workload);
    std::vector<std::string> want;
  };
  const Case cases[] = {
      {"a count", [](json::Value& workload) { spec_of(workload).at("podSets").at(1).as_object()["count"] = 2; }, {}},
      {"a priority", [](json::Value& workload) { set(workload, "spec", "priority", "7"); }, {}},
      {"a template",
       [](json::Value& workload) {
         spec_of(workload).at("podSets").at(1).at("template").at("spec").as_object()["nodeName"] = "n";
       },
       {"spec.podSets[1].template: Forbidden: cannot be changed while quota is reserved"}},
      {"fewer sets",
       [](json::Value& workload) { spec_of(workload).at("podSets").as_array().pop_back(); },
       {"spec.podSets: Forbidden: cannot be changed while quota is reserved"}},
      {"another queue",
       [](json::Value& workload) { set(workload, "spec", "queueName", R"("other")"); },
       {"spec.queueName: Forbidden: cannot be changed while quota is reserved"}},
      {"a class",
       [](json::Value& workload) {
         set(workload, "spec", "priority", "7");
         set(workload, "spec", "priorityClassRef",
             R"({"group":"kueue.x-k8s.io","kind":"WorkloadPriorityClass","name":"high"})");
       },
       {"spec.priorityClassRef: Forbidden: cannot be changed while quota is reserved"}},
      {"a time", [](json::Value& workload) { set(workload, "spec", "maximumExecutionTimeSeconds", "7"); }, {}},
  };
  for (const auto& each : cases) {
    auto waiting = a_workload();
    each.change(waiting);
    EXPECT_THAT(problems(a_workload(), waiting), ElementsAre()) << each.name;
    auto changed = reserved();
    each.change(changed);
    EXPECT_THAT(problems(reserved(), changed), ElementsAreArray(each.want)) << each.name;
  }
}

TEST_F(KueueWorkload, AClassKeepsItsKindAndAPodsClassItsName) {
  const auto with_class = [](const char* group, const char* kind, const char* name) {
    auto workload = reserved();
    set(workload, "spec", "priority", "7");
    json::object_at(workload, {"spec"})["priorityClassRef"] =
        json::Object{{"group", group}, {"kind", kind}, {"name", name}};
    return workload;
  };
  const auto own = [&](const char* name) { return with_class("kueue.x-k8s.io", "WorkloadPriorityClass", name); };
  const auto pods = [&](const char* name) { return with_class("scheduling.k8s.io", "PriorityClass", name); };
  EXPECT_THAT(problems(own("a"), own("b")), ElementsAre());
  EXPECT_THAT(problems(pods("a"), pods("b")),
              ElementsAre("spec.priorityClassRef.name: Forbidden: cannot be changed while quota is reserved"));
  EXPECT_THAT(problems(own("a"), pods("a")),
              ElementsAre("spec.priorityClassRef.group: Forbidden: cannot be changed while quota is reserved",
                          "spec.priorityClassRef.kind: Forbidden: cannot be changed while quota is reserved"));
  auto before = reserved("v1beta1"), now = reserved("v1beta1");
  for (auto* workload : {&before, &now}) {
    set(*workload, "spec", "priority", "7");
    set(*workload, "spec", "priorityClassSource", R"("scheduling.k8s.io/priorityclass")");
  }
  set(before, "spec", "priorityClassName", R"("a")");
  set(now, "spec", "priorityClassName", R"("b")");
  EXPECT_THAT(problems(before, now),
              ElementsAre("spec.priorityClassName: Forbidden: cannot be changed while quota is reserved"));
}

TEST_F(KueueWorkload, TheTimeOfOneThatIsAdmittedStays) {
  auto before = reserved(), now = reserved();
  condition(before, "Admitted");
  condition(now, "Admitted");
  set(now, "spec", "maximumExecutionTimeSeconds", "7");
  EXPECT_THAT(
      problems(before, now),
      ElementsAre("spec.maximumExecutionTimeSeconds: Forbidden: cannot be changed while the workload is admitted"));
}

TEST_F(KueueWorkload, AnAdmissionIsGivenAndTakenNotChanged) {
  EXPECT_THAT(problems(a_workload(), reserved(), "status"), ElementsAre());
  EXPECT_THAT(problems(reserved(), a_workload(), "status"), ElementsAre());
  auto other = reserved();
  other.at("status").at("admission").as_object()["clusterQueue"] = "other";
  EXPECT_THAT(problems(reserved(), other, "status"),
              ElementsAre("status.admission: Forbidden: can be set and taken back, not changed"));
  auto placed = reserved();
  placed.at("status").at("admission").at("podSetAssignments").at(1).as_object()["topologyAssignment"] =
      json::parse(
          R"({"levels":["rack"],"slices":[{"domainCount":2,"valuesPerLevel":[{"individual":{"roots":["a","b"]}}],
                      "podCounts":{"universal":2}}]})")
          .value();
  EXPECT_THAT(problems(reserved(), placed, "status"), ElementsAre());
}

TEST_F(KueueWorkload, AnAdmissionIsForItsPodSets) {
  auto workload = reserved();
  set(workload, "status", "admission", R"({"clusterQueue":"cq","podSetAssignments":[{"name":"boss"}]})");
  set(workload, "status", "clusterName", R"("far")");
  set(workload, "status", "nominatedClusterNames", R"(["near"])");
  set(workload, "status", "admissionChecks",
      R"([{"name":"c","podSetUpdates":[{"name":"boss","labels":{"a b":"c"}}]}])");
  EXPECT_THAT(
      problems(a_workload(), workload, "status"),
      ElementsAre("status.admission.podSetAssignments: Invalid value: 1: must have one entry for each of the 2 "
                  "pod sets",
                  "status.admission.podSetAssignments[0].name: Invalid value: \"boss\": is not the name of a "
                  "pod set",
                  "status.admissionChecks[0].podSetUpdates[0].name: Invalid value: \"boss\": is not the name "
                  "of a pod set",
                  testing::StartsWith("status.admissionChecks[0].podSetUpdates[0].labels: Invalid value: \"a b\""),
                  "status.nominatedClusterNames: Forbidden: clusterName says who took it"));
}

TEST_F(KueueWorkload, TopologiesHaveAValueForEveryDomainAndLevel) {
  auto workload = reserved();
  workload.at("status").at("admission").at("podSetAssignments").at(0).as_object()["topologyAssignment"] =
      json::parse(R"({"levels":["block","rack"],"slices":[
          {"domainCount":2,"valuesPerLevel":[{"individual":{"roots":["a"]}}],"podCounts":{"individual":[1,2,3]}},
          {"domainCount":99999,"valuesPerLevel":[{"universal":"b"},{"universal":"b","individual":{"roots":["a"]}}],
           "podCounts":{}}]})")
          .value();
  const std::string place = "status.admission.podSetAssignments[0].topologyAssignment.slices";
  EXPECT_THAT(problems(reserved(), workload, "status"),
              ElementsAre(place + "[0].valuesPerLevel: Invalid value: 1: must have one entry for each of the 2 levels",
                          place + "[0].valuesPerLevel[0].individual.roots: Invalid value: 1: must have one entry for "
                                  "each of the 2 domains",
                          place + "[0].podCounts.individual: Invalid value: 3: must have one entry for each of the 2 "
                                  "domains",
                          place + "[1].valuesPerLevel[1]: Invalid value: \"both\": must have universal or individual",
                          place + "[1].valuesPerLevel[1].individual.roots: Invalid value: 1: must have one entry for "
                                  "each of the 99999 domains",
                          place + "[1].podCounts: Invalid value: \"neither\": must have universal or individual",
                          place + ": Invalid value: 100001: must have no more than 100000 domains in all"));
}

TEST_F(KueueWorkload, WhatIsReclaimedStaysReclaimed) {
  const auto with = [](const char* pods) {
    auto workload = reserved();
    set(workload, "status", "reclaimablePods", pods);
    return workload;
  };
  EXPECT_THAT(problems(reserved(), with(R"([{"name":"worker","count":4}])"), "status"), ElementsAre());
  EXPECT_THAT(
      problems(reserved(), with(R"([{"name":"worker","count":5},{"name":"boss","count":1}])"), "status"),
      ElementsAre("status.reclaimablePods[0].count: Invalid value: 5: must not be more than the pod set has (4)",
                  "status.reclaimablePods[1].name: Invalid value: \"boss\": is not the name of a pod set"));
  EXPECT_THAT(
      problems(with(R"([{"name":"worker","count":3},{"name":"head","count":1}])"),
               with(R"([{"name":"worker","count":2}])"), "status"),
      ElementsAre("status.reclaimablePods[worker].count: Invalid value: 2: must not be less than it was (3)",
                  "status.reclaimablePods[head]: Required value: cannot be taken back while quota is reserved"));
  auto released = a_workload();
  EXPECT_THAT(problems(with(R"([{"name":"worker","count":3}])"), released, "status"), ElementsAre());
}

}  // namespace
}  // namespace gangway::apiserver
