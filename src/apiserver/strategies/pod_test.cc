#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/strategies/test_review.h"

namespace gangway::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TestWrites pods() {
  TestWrites writes("", "Pod", "pods");
  writes.state().put("serviceaccounts", R"({"metadata":{"name":"default","namespace":"ns","resourceVersion":"1"}})");
  return writes;
}

std::string pod_with(std::string_view spec) {
  return R"({"metadata":{"name":"web","namespace":"ns","uid":"u1"},"spec":)" + std::string(spec) + "}";
}

TEST(PodStrategy, FillsInWhatFollowsFromOtherFields) {
  auto writes = pods();
  auto made = writes.create(pod_with(R"({"containers":[
      {"name":"a","image":"nginx","resources":{"limits":{"cpu":"1","memory":"1Gi"}}},
      {"name":"b","image":"host:5000/x@sha256:00","ports":[{"containerPort":80,"protocol":"TCP"}]}],
      "hostNetwork":true,"volumes":[{"name":"v"}]})"));
  EXPECT_THAT(made.problems, IsEmpty());
  const auto& spec = made.object.at("spec");
  const auto& containers = spec.at("containers").as_array();
  EXPECT_EQ(containers[0].at("imagePullPolicy"), "Always");
  EXPECT_EQ(containers[1].at("imagePullPolicy"), "IfNotPresent");
  EXPECT_EQ(containers[0].at("resources").at("requests").at("memory"), "1Gi");
  EXPECT_EQ(containers[1].at("ports").as_array()[0].at("hostPort"), 80);
  EXPECT_TRUE(spec.at("volumes").as_array()[0].at("emptyDir").is_object());
  EXPECT_EQ(spec.at("serviceAccountName"), "default");
  EXPECT_EQ(spec.at("serviceAccount"), "default");
  EXPECT_EQ(spec.at("priority"), 0);
  EXPECT_EQ(spec.at("preemptionPolicy"), "PreemptLowerPriority");
  EXPECT_EQ(spec.at("tolerations").as_array().size(), 2U);
  EXPECT_EQ(made.object.at("status").at("phase"), "Pending");
  EXPECT_EQ(made.object.at("status").at("qosClass"), "Burstable");
}

TEST(PodStrategy, MountsTheTokenOnceAndTheSameForTheSameUid) {
  auto writes = pods();
  auto text = pod_with(R"({"initContainers":[{"name":"i","image":"x:1"}],"containers":[{"name":"a","image":"x:1",
      "volumeMounts":[{"name":"kube-api-access-own","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}]}]})");
  auto first = writes.create(pod_with(R"({"containers":[{"name":"a","image":"x:1"}]})"));
  auto again = writes.create(pod_with(R"({"containers":[{"name":"a","image":"x:1"}]})"));
  EXPECT_EQ(first.object, again.object);
  const auto& volume = first.object.at("spec").at("volumes").as_array().at(0);
  std::string name(volume.at("name").as_string());
  EXPECT_EQ(name.size(), std::string("kube-api-access-").size() + 5);
  EXPECT_EQ(volume.at("projected").at("sources").as_array().size(), 3U);
  EXPECT_EQ(first.object.at("spec").at("containers").as_array()[0].at("volumeMounts").as_array()[0].at("name"),
            json::Value(name));
  auto mixed = writes.create(text);
  EXPECT_EQ(mixed.object.at("spec").at("initContainers").as_array()[0].at("volumeMounts").as_array().size(), 1U);
  EXPECT_EQ(mixed.object.at("spec").at("containers").as_array()[0].at("volumeMounts").as_array().size(), 1U);
  auto none =
      writes.create(pod_with(R"({"automountServiceAccountToken":false,"containers":[{"name":"a","image":"x:1"}]})"));
  EXPECT_FALSE(none.object.at("spec").as_object().contains("volumes"));
}

TEST(PodStrategy, RefusesUnknownAccountsAndClasses) {
  auto writes = pods();
  EXPECT_THAT(
      writes.create(pod_with(R"({"serviceAccountName":"x","containers":[{"name":"a","image":"i"}]})")).problems,
      ElementsAre("pods \"web\" is forbidden: error looking up service account ns/x: serviceaccount \"x\" not found"));
  EXPECT_THAT(
      writes.create(pod_with(R"({"priorityClassName":"gold","containers":[{"name":"a","image":"i"}]})")).problems,
      ElementsAre("pods \"web\" is forbidden: no PriorityClass with name gold was found"));
}

TEST(PodStrategy, TakesPriorityFromItsClass) {
  auto writes = pods();
  writes.state().put("priorityclasses.scheduling.k8s.io",
                     R"({"metadata":{"name":"low"},"value":5,"globalDefault":true,"preemptionPolicy":"Never"})");
  writes.state().put("priorityclasses.scheduling.k8s.io",
                     R"({"metadata":{"name":"top","labels":{"gangway.dev/restricted":"true"}},"value":9})");
  auto made = writes.create(pod_with(R"({"containers":[{"name":"a","image":"i"}]})"));
  EXPECT_EQ(made.object.at("spec").at("priorityClassName"), "low");
  EXPECT_EQ(made.object.at("spec").at("priority"), 5);
  EXPECT_EQ(made.object.at("spec").at("preemptionPolicy"), "Never");
  EXPECT_THAT(
      writes.create(pod_with(R"({"priority":7,"containers":[{"name":"a","image":"i"}]})")).problems,
      ElementsAre("pods \"web\" is forbidden: the integer value of priority (7) must not be provided in pod spec; "
                  "priority admission controller computed 5 from the given PriorityClass name"));
  auto restricted = pod_with(R"({"priorityClassName":"top","containers":[{"name":"a","image":"i"}]})");
  EXPECT_THAT(writes.create(restricted).problems, IsEmpty());
  writes.allow(false);
  EXPECT_THAT(writes.create(restricted).problems,
              ElementsAre("pods \"web\" is forbidden: PriorityClass top is restricted: user \"ann\" needs the verb "
                          "\"use\" on priorityclasses.scheduling.k8s.io \"top\""));
}

struct Mistake {
  std::string_view spec;
  std::vector<std::string> problems;
};

TEST(PodStrategy, NamesTheFieldOfEachMistake) {
  const Mistake kMistakes[] = {
      {R"({"containers":[{"name":"A_","image":""}]})",
       {"spec.containers[0].name: Invalid value: \"A_\": a lowercase RFC 1123 label must consist of lower case "
        "alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "
        "'123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
        "spec.containers[0].image: Required value"}},
      {R"({"containers":[{"name":"a","image":"i"},{"name":"a","image":"i"}]})",
       {"spec.containers[1].name: Duplicate value: \"a\""}},
      {R"({"containers":[{"name":"a","image":"i"}],"initContainers":[{"name":"a","image":"i"}]})",
       {"spec.initContainers[0].name: Duplicate value: \"a\""}},
      {R"({"containers":[{"name":"a","image":"i","volumeMounts":[{"name":"v","mountPath":"/d"}]}]})",
       {"spec.containers[0].volumeMounts[0].name: Not found: \"v\""}},
      {R"({"containers":[{"name":"a","image":"i","resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}]})",
       {"spec.containers[0].resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1"}},
      {R"({"containers":[{"name":"a","image":"i","resources":{"requests":{"nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"2"}}}]})",
       {"spec.containers[0].resources.requests: Invalid value: \"1\": must be equal to nvidia.com/gpu limit of 2"}},
      {R"({"containers":[{"name":"a","image":"i","resources":{"requests":{"nvidia.com/gpu":"1"}}}]})",
       {"spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources"}},
      {R"({"containers":[{"name":"a","image":"i","resources":{"limits":{"nvidia.com/gpu":"1500m"}}}]})",
       {"spec.containers[0].resources.limits[nvidia.com/gpu]: Invalid value: \"1500m\": must be an integer",
        "spec.containers[0].resources.requests[nvidia.com/gpu]: Invalid value: \"1500m\": must be an integer"}},
      {R"({"containers":[{"name":"a","image":"i","resources":{"limits":{"gpu":"1"}}}]})",
       {"spec.containers[0].resources.limits[gpu]: Invalid value: \"gpu\": must be a standard resource type or fully "
        "qualified",
        "spec.containers[0].resources.limits[gpu]: Invalid value: \"gpu\": must be a standard resource for containers",
        "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a standard resource type or fully "
        "qualified",
        "spec.containers[0].resources.requests[gpu]: Invalid value: \"gpu\": must be a standard resource for "
        "containers"}},
      {R"({"containers":[{"name":"a","image":"i","env":[{"name":"A","value":"1","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}}]}]})",
       {"spec.containers[0].env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty"}},
      {R"({"containers":[{"name":"a","image":"i","livenessProbe":{"successThreshold":2}}]})",
       {"spec.containers[0].livenessProbe: Required value: must specify a handler type",
        "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"}},
      {R"({"containers":[{"name":"a","image":"i","ports":[{"containerPort":70000,"protocol":"TCP"}]}]})",
       {"spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive"}},
      {R"({"containers":[{"name":"a","image":"i"}],"tolerations":[{"operator":"Equal","value":"x"}]})",
       {"spec.tolerations[0].operator: Invalid value: \"Equal\": operator must be Exists when `key` is empty, which "
        "means "
        "\"match all values and all keys\""}},
      {R"({"containers":[{"name":"a","image":"i"}],"volumes":[{"name":"v","emptyDir":{},"hostPath":{"path":"/x"}}]})",
       {"spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"}},
      {R"({"containers":[{"name":"a","image":"i"}],"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[]}}}})",
       {"spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: Required value: "
        "must "
        "have at least one node selector term"}},
      {R"({"containers":[{"name":"a","image":"i"}],"topologySpreadConstraints":[{"maxSkew":0,"topologyKey":"z","whenUnsatisfiable":"DoNotSchedule"}]})",
       {"spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"}},
      {R"({"containers":[{"name":"a","image":"i"}],"nodeName":"n","schedulingGates":[{"name":"g"}]})",
       {"spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"}},
  };
  for (const auto& mistake : kMistakes) {
    auto writes = pods();
    EXPECT_THAT(writes.create(pod_with(mistake.spec)).problems, ::testing::ElementsAreArray(mistake.problems))
        << mistake.spec;
  }
}

TEST(PodStrategy, LetsLittleChange) {
  auto writes = pods();
  auto made =
      writes.create(pod_with(R"({"containers":[{"name":"a","image":"i:1"}],"activeDeadlineSeconds":10})")).object;
  auto edited = [&](auto edit) {
    auto copy = made;
    edit(copy.at("spec").as_object());
    return writes.update(made, json::serialize(copy)).problems;
  };
  EXPECT_THAT(edited([](auto& spec) { spec["containers"].as_array()[0].as_object()["image"] = "i:2"; }), IsEmpty());
  EXPECT_THAT(edited([](auto& spec) { spec["activeDeadlineSeconds"] = 5; }), IsEmpty());
  EXPECT_THAT(
      edited([](auto& spec) { spec["activeDeadlineSeconds"] = 11; }),
      ElementsAre("spec.activeDeadlineSeconds: Invalid value: 11: must be less than or equal to previous value"));
  EXPECT_THAT(
      edited([](auto& spec) { spec["tolerations"].as_array().push_back(json::Object{{"operator", "Exists"}}); }),
      IsEmpty());
  EXPECT_THAT(
      edited([](auto& spec) { spec["containers"].as_array().push_back(json::Object{{"name", "b"}, {"image", "i"}}); }),
      ElementsAre("spec.containers: Forbidden: pod updates may not add or remove containers"));
  EXPECT_THAT(edited([](auto& spec) { spec["nodeName"] = "n1"; }),
              ElementsAre("spec: Forbidden: pod updates may not change fields other than "
                          "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
                          "`spec.tolerations` (only additions to existing tolerations),"
                          "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously "
                          "negative)\nchanged: spec.nodeName"));
}

TEST(PodStrategy, GatedPodsMayBeTightened) {
  auto writes = pods();
  auto before = writes
                    .create(pod_with(R"({"containers":[{"name":"a","image":"i"}],"schedulingGates":[{"name":"g"}],
      "nodeSelector":{"a":"1"}})"))
                    .object;
  EXPECT_EQ(before.at("status").at("conditions").as_array()[0].at("reason"), "SchedulingGated");
  auto with_selector = [&](json::Object selector) {
    auto copy = before;
    copy.at("spec").as_object()["nodeSelector"] = std::move(selector);
    return writes.update(before, json::serialize(copy)).problems;
  };
  EXPECT_THAT(with_selector({{"a", "1"}, {"b", "2"}}), IsEmpty());
  EXPECT_THAT(with_selector({{"b", "2"}}),
              ElementsAre("spec.nodeSelector: Invalid value: map[string]string{\"b\":\"2\"}: only additions to "
                          "spec.nodeSelector are allowed "
                          "(no mutations or deletions)"));
  auto gates = before;
  gates.at("spec").as_object()["schedulingGates"] = json::Array{json::Object{{"name", "h"}}};
  EXPECT_THAT(writes.update(before, json::serialize(gates)).problems,
              ElementsAre("spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling "
                          "gate 'h'"));
}

TEST(PodStrategy, GivesTimeOnlyToPodsThatRun) {
  const auto grace = strategy_for("", "Pod").grace_seconds;
  auto bound =
      json::parse(R"({"spec":{"nodeName":"n","terminationGracePeriodSeconds":30},"status":{"phase":"Running"}})")
          .value();
  EXPECT_EQ(grace(bound, std::nullopt), 30);
  EXPECT_EQ(grace(bound, 5), 5);
  EXPECT_EQ(grace(bound, 0), 0);
  bound.at("status").as_object()["phase"] = "Succeeded";
  EXPECT_EQ(grace(bound, std::nullopt), 0);
  auto waiting = json::parse(R"({"spec":{"terminationGracePeriodSeconds":30}})").value();
  EXPECT_EQ(grace(waiting, 5), 0);
}

TEST(PodStrategy, SortsByQualityOfService) {
  struct Case {
    std::string_view resources;
    std::string_view want;
  };
  const Case kCases[] = {
      {R"({})", "BestEffort"},
      {R"({"requests":{"cpu":"1"}})", "Burstable"},
      {R"({"limits":{"cpu":"1","memory":"1Gi"}})", "Guaranteed"},
      {R"({"limits":{"cpu":"1"}})", "Burstable"},
      {R"({"requests":{"cpu":"500m"},"limits":{"cpu":"1","memory":"1Gi"}})", "Burstable"},
      {R"({"limits":{"nvidia.com/gpu":"1"}})", "BestEffort"},
  };
  for (const auto& one : kCases) {
    auto writes = pods();
    auto made = writes.create(
        pod_with(R"({"containers":[{"name":"a","image":"i","resources":)" + std::string(one.resources) + "}]}"));
    EXPECT_EQ(made.object.at("status").at("qosClass"), json::Value(one.want)) << one.resources;
  }
}

}  // namespace
}  // namespace gangway::apiserver
