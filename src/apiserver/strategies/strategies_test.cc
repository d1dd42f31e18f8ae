// The small kinds: what each fills in and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/strategies/test_review.h"

namespace gangway::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;

struct Mistake {
  std::string_view group, kind, plural;
  std::string_view before;  // empty: a create
  std::string_view text;
  std::vector<std::string> problems;
};

TEST(SmallStrategies, NameTheFieldOfEachMistake) {
  const Mistake kMistakes[] = {
      {"",
       "ConfigMap",
       "configmaps",
       "",
       R"({"data":{"a b":"1"},"binaryData":{}})",
       {"data[a b]: Invalid value: \"a b\": a valid config key must consist of alphanumeric characters, '-', '_' or "
        "'.' (e.g. "
        "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"}},
      {"",
       "ConfigMap",
       "configmaps",
       "",
       R"({"data":{"a":"1"},"binaryData":{"a":"MQ=="}})",
       {"data[a]: Invalid value: \"a\": duplicate of key present in binaryData"}},
      {"",
       "ConfigMap",
       "configmaps",
       R"({"immutable":true,"data":{"a":"1"}})",
       R"({"immutable":true,"data":{"a":"2"}})",
       {"data: Forbidden: field is immutable when `immutable` is set"}},
      {"",
       "Secret",
       "secrets",
       "",
       R"({"type":"kubernetes.io/tls","data":{"tls.crt":""}})",
       {"data[tls.key]: Required value"}},
      {"",
       "Secret",
       "secrets",
       R"({"type":"Opaque"})",
       R"({"type":"other"})",
       {"type: Invalid value: \"other\": field is immutable"}},
      {"rbac.authorization.k8s.io",
       "RoleBinding",
       "rolebindings",
       R"({"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"a"}})",
       R"({"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"b"},"subjects":[{"kind":"Robot","name":"x"}]})",
       {"subjects[0].kind: Unsupported value: \"Robot\": supported values: \"ServiceAccount\", \"User\", \"Group\"",
        "roleRef: Invalid value: rbac.RoleRef{APIGroup:\"rbac.authorization.k8s.io\", Kind:\"Role\", Name:\"b\"}: "
        "cannot "
        "change roleRef"}},
      {"rbac.authorization.k8s.io",
       "Role",
       "roles",
       "",
       R"({"rules":[{"verbs":[],"resources":["pods"]}]})",
       {"rules[0].verbs: Required value: verbs must contain at least one value",
        "rules[0].apiGroups: Required value: resource rules must supply at least one api group"}},
      {"scheduling.k8s.io",
       "PriorityClass",
       "priorityclasses",
       "",
       R"({"metadata":{"name":"x"},"value":1000000001})",
       {"value: Forbidden: maximum allowed value of a user defined priority is 1000000000"}},
      {"scheduling.k8s.io",
       "PriorityClass",
       "priorityclasses",
       "",
       R"({"metadata":{"name":"system-x"},"value":1})",
       {"metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: "
        "system-x "
        "is not a known system priority class"}},
      {"scheduling.k8s.io",
       "PriorityClass",
       "priorityclasses",
       R"({"metadata":{"name":"x"},"value":1})",
       R"({"metadata":{"name":"x"},"value":2})",
       {"value: Forbidden: may not be changed in an update."}},
      {"policy",
       "PodDisruptionBudget",
       "poddisruptionbudgets",
       "",
       R"({"spec":{"minAvailable":1,"maxUnavailable":"120%","selector":{}}})",
       {"spec: Invalid value: {\"minAvailable\":1,\"maxUnavailable\":\"120%\",\"selector\":{}}: minAvailable and "
        "maxUnavailable cannot be both set",
        "spec.maxUnavailable: Invalid value: \"120%\": must not be greater than 100%"}},
      {"coordination.k8s.io",
       "Lease",
       "leases",
       "",
       R"({"spec":{"leaseDurationSeconds":0,"leaseTransitions":-1}})",
       {"spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0"}},
      {"storage.k8s.io",
       "StorageClass",
       "storageclasses",
       R"({"provisioner":"a"})",
       R"({"provisioner":"b"})",
       {"provisioner: Forbidden: updates to provisioner are forbidden."}},
      {"",
       "PersistentVolumeClaim",
       "persistentvolumeclaims",
       "",
       R"({"spec":{"resources":{}}})",
       {"spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value"}},
      {"",
       "PersistentVolume",
       "persistentvolumes",
       "",
       R"({"spec":{"accessModes":["X"],"capacity":{"storage":"1Gi"}}})",
       {"spec.accessModes: Unsupported value: \"X\": supported values: \"ReadOnlyMany\", \"ReadWriteMany\", "
        "\"ReadWriteOnce\", \"ReadWriteOncePod\"",
        "spec: Required value: must specify a volume type"}},
      {"",
       "Node",
       "nodes",
       "",
       R"({"spec":{"taints":[{"key":"a","effect":"Wrong"}]}})",
       {"metadata.taints[0].effect: Unsupported value: \"Wrong\": supported values: \"NoSchedule\", "
        "\"PreferNoSchedule\", "
        "\"NoExecute\""}},
      {"discovery.k8s.io",
       "EndpointSlice",
       "endpointslices",
       "",
       R"({"addressType":"IPv4","endpoints":[{"addresses":["127.0.0.1"]},{"addresses":[]}]})",
       {"endpoints[0].addresses[0]: Invalid value: \"127.0.0.1\": may not be in the loopback range (127.0.0.0/8, "
        "::1/128)",
        "endpoints[1].addresses: Required value: must contain at least 1 address"}},
      {"",
       "Event",
       "events",
       "",
       R"({"metadata":{"namespace":"ns"},"involvedObject":{"namespace":"other"}})",
       {"involvedObject.namespace: Invalid value: \"other\": does not match event.namespace"}},
      {"events.k8s.io",
       "Event",
       "events",
       "",
       R"({"metadata":{"namespace":"ns"},"eventTime":"2026-01-02T03:04:05.000000Z","regarding":{"namespace":"ns"},"type":"Normal",
           "reportingController":"gangway.dev/x","reportingInstance":"x-0","action":"Run","reason":""})",
       {"reason: Required value"}},
      {"",
       "Namespace",
       "namespaces",
       "",
       R"({"metadata":{"name":"x"},"spec":{"finalizers":["mine"]}})",
       {"spec.finalizers: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully "
        "qualified"}},
  };
  for (const auto& mistake : kMistakes) {
    TestWrites writes{std::string(mistake.group), std::string(mistake.kind), std::string(mistake.plural)};
    writes.user().groups = {"system:masters"};
    auto outcome = mistake.before.empty() ? writes.create(mistake.text) : writes.update(mistake.before, mistake.text);
    EXPECT_THAT(outcome.problems, ElementsAreArray(mistake.problems)) << mistake.kind << ' ' << mistake.text;
  }
}

TEST(NamespaceStrategy, LivesAndDies) {
  TestWrites writes("", "Namespace", "namespaces", false);
  auto made = writes.create(R"({"metadata":{"name":"a"},"status":{"phase":"Terminating"}})").object;
  EXPECT_EQ(made.at("metadata").at("labels").at("kubernetes.io/metadata.name"), "a");
  EXPECT_EQ(made.at("spec").at("finalizers"), json::Value(json::Array{"kubernetes"}));
  EXPECT_EQ(made.at("status").at("phase"), "Active");
  auto kept = writes.update(made, R"({"metadata":{"name":"a"},"spec":{"finalizers":[]}})").object;
  EXPECT_EQ(kept.at("spec").at("finalizers"), json::Value(json::Array{"kubernetes"}));
  auto finalized = writes.update(made, R"({"metadata":{"name":"a"},"spec":{"finalizers":[]}})", "finalize").object;
  EXPECT_EQ(finalized.at("spec").at("finalizers"), json::Value(json::Array()));
  writes.strategy().on_delete(made);
  EXPECT_EQ(made.at("status").at("phase"), "Terminating");
  EXPECT_THAT(writes.remove(R"({"metadata":{"name":"default"}})").problems,
              ElementsAre("namespaces \"default\" is forbidden: this namespace may not be deleted"));
  EXPECT_THAT(writes.remove(R"({"metadata":{"name":"mine"}})").problems, IsEmpty());
}

TEST(SecretStrategy, StringDataBecomesData) {
  TestWrites writes("", "Secret", "secrets");
  auto made = writes.create(R"({"type":"Opaque","data":{"a":"MQ==","b":"Mg=="},"stringData":{"a":"one"}})").object;
  EXPECT_EQ(made, json::parse(R"({"type":"Opaque","data":{"a":"b25l","b":"Mg=="}})").value());
}

TEST(EventStrategy, BothFormsAreOneObject) {
  const auto& strategy = strategy_for("events.k8s.io", "Event");
  auto event =
      json::parse(R"({"metadata":{"name":"e"},"regarding":{"name":"p"},"note":"hello","reportingController":"c",
      "reportingInstance":"i","deprecatedCount":2})")
          .value();
  auto stored = event;
  strategy.to_storage(stored);
  EXPECT_EQ(stored, json::parse(R"({"metadata":{"name":"e"},"involvedObject":{"name":"p"},"message":"hello",
      "reportingComponent":"c","reportingInstance":"i","count":2})")
                        .value());
  strategy.from_storage(stored);
  EXPECT_EQ(stored, event);
}

TEST(PriorityClassStrategy, OnlyOneIsTheDefault) {
  TestWrites writes("scheduling.k8s.io", "PriorityClass", "priorityclasses", false);
  writes.state().put("priorityclasses.scheduling.k8s.io",
                     R"({"metadata":{"name":"low"},"value":5,"globalDefault":true})");
  EXPECT_THAT(
      writes.create(R"({"metadata":{"name":"x"},"value":1,"globalDefault":true})").problems,
      ElementsAre("priorityclasses.scheduling.k8s.io \"x\" is forbidden: PriorityClass low is already marked as "
                  "default. Only one default can exist"));
  constexpr std::string_view kSame = R"({"metadata":{"name":"low"},"value":5,"globalDefault":true})";
  EXPECT_THAT(writes.update(kSame, kSame).problems, IsEmpty());
}

TEST(PriorityClassStrategy, TheSystemsOwnStay) {
  TestWrites writes("scheduling.k8s.io", "PriorityClass", "priorityclasses", false);
  EXPECT_THAT(writes.remove(R"({"metadata":{"name":"system-cluster-critical"}})").problems,
              ElementsAre("priorityclasses.scheduling.k8s.io \"system-cluster-critical\" is forbidden: this is a "
                          "system priority class and cannot be deleted"));
  EXPECT_THAT(writes.remove(R"({"metadata":{"name":"low"}})").problems, IsEmpty());
}

TEST(NodeStrategy, NewNodesTakeNoPods) {
  TestWrites writes("", "Node", "nodes", false);
  auto taints = [&](std::string_view node) {
    return json::serialize(writes.create(node).object.at("spec").at("taints"));
  };
  constexpr std::string_view kTaint = R"({"effect":"NoSchedule","key":"node.kubernetes.io/not-ready"})";
  EXPECT_EQ(taints(R"({"metadata":{"name":"n"},"status":{"conditions":[{"type":"Ready","status":"True"}]}})"),
            "[" + std::string(kTaint) + "]");
  EXPECT_EQ(taints(R"({"metadata":{"name":"n"},"spec":{"taints":[)" + std::string(kTaint) + "]}}"),
            "[" + std::string(kTaint) + "]");
}

TEST(VolumeClaimStrategy, TakesTheDefaultClass) {
  TestWrites writes("", "PersistentVolumeClaim", "persistentvolumeclaims");
  writes.state().put(
      "storageclasses.storage.k8s.io",
      R"({"metadata":{"name":"fast","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}}})");
  constexpr std::string_view kSpec = R"("accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}})";
  auto claim = [&](std::string_view more) { return R"({"spec":{)" + std::string(kSpec) + std::string(more) + "}}"; };
  auto made = writes.create(claim(""));
  EXPECT_THAT(made.problems, IsEmpty());
  EXPECT_EQ(made.object.at("spec").at("storageClassName"), "fast");
  EXPECT_EQ(made.object.at("status").at("phase"), "Pending");
  EXPECT_EQ(writes.create(claim(R"(,"storageClassName":"")")).object.at("spec").at("storageClassName"), "");
  auto changed = made.object;
  changed.at("spec").as_object()["storageClassName"] = "slow";
  EXPECT_THAT(writes.update(made.object, json::serialize(changed)).problems,
              ElementsAre("spec: Forbidden: spec is immutable after creation except resources.requests and "
                          "volumeAttributesClassName for bound claims"));
  auto bound = made.object;
  bound.at("spec").as_object()["volumeName"] = "v";
  EXPECT_THAT(writes.update(made.object, json::serialize(bound)).problems, IsEmpty());
}

TEST(Strategies, HaveTheFlagsOfTheRealServer) {
  struct Flags {
    std::string_view group, kind;
    bool create_on_update, unconditional, returns_deleted;
    GenerationRule generation;
  };
  const Flags kFlags[] = {
      {"", "Pod", false, true, true, GenerationRule::kSpec},
      {"", "Service", true, true, true, GenerationRule::kNone},
      {"", "Namespace", false, true, true, GenerationRule::kNone},
      {"", "ConfigMap", false, true, false, GenerationRule::kNone},
      {"", "Endpoints", true, true, false, GenerationRule::kNone},
      {"", "Event", true, true, false, GenerationRule::kNone},
      {"apps", "Deployment", false, true, false, GenerationRule::kSpecOrAnnotations},
      {"batch", "Job", false, true, false, GenerationRule::kSpec},
      {"coordination.k8s.io", "Lease", true, false, false, GenerationRule::kNone},
      {"discovery.k8s.io", "EndpointSlice", false, true, false, GenerationRule::kContentOrLabels},
      {"policy", "PodDisruptionBudget", false, false, false, GenerationRule::kSpec},
      {"rbac.authorization.k8s.io", "ClusterRole", true, true, false, GenerationRule::kNone},
      {"scheduling.k8s.io", "PriorityClass", false, true, false, GenerationRule::kFixed},
      {"storage.k8s.io", "StorageClass", false, true, true, GenerationRule::kNone},
      {"apiextensions.k8s.io", "CustomResourceDefinition", false, false, false, GenerationRule::kSpec},
      {"example.com", "Unknown", false, true, false, GenerationRule::kNone},
  };
  for (const auto& flags : kFlags) {
    const auto& strategy = strategy_for(flags.group, flags.kind);
    EXPECT_EQ(strategy.create_on_update, flags.create_on_update) << flags.kind;
    EXPECT_EQ(strategy.unconditional_update, flags.unconditional) << flags.kind;
    EXPECT_EQ(strategy.returns_deleted, flags.returns_deleted) << flags.kind;
    EXPECT_EQ(strategy.generation, flags.generation) << flags.kind;
  }
  EXPECT_FALSE(custom_resource_strategy().unconditional_update);
  EXPECT_EQ(custom_resource_strategy().status_keeps, KeptMetadata::kAll);
}

}  // namespace
}  // namespace gangway::apiserver
