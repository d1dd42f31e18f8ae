#include "agent/pod/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/pod/test_machine.h"

namespace gangway::agent {
namespace {

struct EnvironmentTest : ::testing::Test {
  NodeFacts node;
  PodRecord record;
  TestReferences references;

  EnvironmentTest() {
    node.name = "n0";
    node.address = "192.168.0.1";
    node.allocatable = {{"cpu", 4000}, {"memory", 1024}};
    record.addresses = {"10.0.0.7", "fd00::7"};
  }

  Resolved<Environment> resolve(std::string_view json_text) {
    pod = pod_of(json_text);
    return resolve_environment({pod, record, node, references}, pod.containers.front());
  }
  Environment environment(std::string_view container, std::string_view more = "{}") {
    auto resolved = resolve(fmt::format(
        R"({{"metadata": {}, "spec": {{"serviceAccountName": "robot", "containers": [{}]}}}})", more, container));
    EXPECT_TRUE(std::holds_alternative<Environment>(resolved));
    return std::holds_alternative<Environment>(resolved) ? std::get<Environment>(resolved) : Environment();
  }
  std::string problem(std::string_view container) {
    auto resolved = resolve(fmt::format(R"({{"spec": {{"containers": [{}]}}}})", container));
    EXPECT_TRUE(std::holds_alternative<Unresolved>(resolved));
    return std::holds_alternative<Unresolved>(resolved) ? std::get<Unresolved>(resolved).message : std::string();
  }

  PodSpec pod;
};

TEST(Expand, KnowsNamesEscapesAndLeavesTheRest) {
  const Environment environment{{"A", "1"}, {"LONG_NAME", "two"}};
  const std::pair<const char*, const char*> cases[] = {
      {"$(A)", "1"},    {"x$(A)y$(LONG_NAME)", "x1ytwo"},
      {"$(B)", "$(B)"}, {"$$(A)", "$(A)"},
      {"$$$(A)", "$1"}, {"$A ${A}", "$A ${A}"},
      {"$", "$"},       {"a$", "a$"},
      {"$(A", "$(A"},   {"", ""},
      {"$()", "$()"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(expand(text, environment), want) << text;
}

TEST_F(EnvironmentTest, ValuesSeeTheOnesBeforeThem) {
  const auto found = environment(R"x({"name": "c", "env": [
      {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"}, {"name": "C", "value": "3"}]})x");
  EXPECT_EQ(found.at("B"), "1$(C)");
  EXPECT_EQ(found.at("HOSTNAME"), "p");
}

TEST_F(EnvironmentTest, FieldsOfThePodAndTheNode) {
  const auto found = environment(R"({"name": "c", "env": [
      {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
      {"name": "NS", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
      {"name": "UID_", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}},
      {"name": "APP", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}},
      {"name": "NOTE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['a.b/c']"}}},
      {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
      {"name": "SA", "valueFrom": {"fieldRef": {"fieldPath": "spec.serviceAccountName"}}},
      {"name": "HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
      {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
      {"name": "IPS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIPs"}}}]})",
                                 R"({"labels": {"app": "web"}, "annotations": {"a.b/c": "yes"}})");
  EXPECT_EQ(found.at("NAME"), "p");
  EXPECT_EQ(found.at("NS"), "ns");
  EXPECT_EQ(found.at("UID_"), "u");
  EXPECT_EQ(found.at("APP"), "web");
  EXPECT_EQ(found.at("NOTE"), "yes");
  EXPECT_EQ(found.at("NODE"), "n0");
  EXPECT_EQ(found.at("SA"), "robot");
  EXPECT_EQ(found.at("HOST"), "192.168.0.1");
  EXPECT_EQ(found.at("IP"), "10.0.0.7");
  EXPECT_EQ(found.at("IPS"), "10.0.0.7,fd00::7");
}

struct ResourceCase {
  const char* resource;
  const char* divisor;
  const char* want;
};

TEST_F(EnvironmentTest, ResourcesInUnitsOfTheDivisor) {
  // Worked out by hand: 1500m of cpu, 100Mi = 104857600 bytes; the node has 4 cpus and 1024 bytes.
  for (const ResourceCase& each :
       {ResourceCase{"limits.cpu", "0", "2"}, ResourceCase{"limits.cpu", "1m", "1500"},
        ResourceCase{"limits.cpu", "1", "2"}, ResourceCase{"requests.memory", "0", "104857600"},
        ResourceCase{"requests.memory", "1Mi", "100"}, ResourceCase{"requests.memory", "30Mi", "4"},
        ResourceCase{"limits.memory", "0", "1024"}, ResourceCase{"requests.cpu", "0", "0"}}) {
    const auto found = environment(fmt::format(
        R"({{"name": "c", "resources": {{"limits": {{"cpu": "1500m"}}, "requests": {{"memory": "100Mi"}}}}, "env": [
            {{"name": "R", "valueFrom": {{"resourceFieldRef": {{"resource": "{}", "divisor": "{}"}}}}}}]}})",
        each.resource, each.divisor));
    EXPECT_EQ(found.at("R"), each.want) << each.resource << " / " << each.divisor;
  }
}

TEST_F(EnvironmentTest, KeysOfConfigMapsAndSecrets) {
  references.config_maps["settings"] = {{"a", "1"}, {"b", "2"}};
  references.secrets["login"] = {{"password", "x"}};
  const auto found = environment(R"x({"name": "c",
      "envFrom": [{"configMapRef": {"name": "settings"}, "prefix": "S_"}, {"secretRef": {"name": "none", "optional": true}}],
      "env": [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "login", "key": "password"}}},
              {"name": "Q", "valueFrom": {"secretKeyRef": {"name": "login", "key": "other", "optional": true}}},
              {"name": "S_b", "value": "own"},
              {"name": "T", "value": "$(S_a)"}]})x");
  EXPECT_EQ(found.at("S_a"), "1");
  EXPECT_EQ(found.at("S_b"), "own") << "what is said one by one wins";
  EXPECT_EQ(found.at("P"), "x");
  EXPECT_EQ(found.at("T"), "1");
  EXPECT_FALSE(found.contains("Q"));
}

TEST_F(EnvironmentTest, SaysWhatIsMissing) {
  references.config_maps["settings"] = {};
  EXPECT_EQ(problem(R"({"name": "c", "envFrom": [{"configMapRef": {"name": "none"}}]})"),
            "configmap \"none\" not found");
  EXPECT_EQ(problem(R"({"name": "c", "envFrom": [{"secretRef": {"name": "none"}}]})"), "secret \"none\" not found");
  EXPECT_EQ(problem(R"({"name": "c", "env": [
      {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}]})"),
            "couldn't find key a in ConfigMap ns/settings");
}

TEST_F(EnvironmentTest, ServicesAreVariablesUnlessThePodWantsNone) {
  references.all_services["ns"] = {{"my-db", "10.96.0.9", {{"sql", 5432, "TCP"}, {"", 53, "UDP"}}}};
  references.all_services["default"] = {{"kubernetes", "10.96.0.1", {{"https", 443, "TCP"}}}};
  const auto found = environment(R"({"name": "c"})");
  EXPECT_EQ(found.at("MY_DB_SERVICE_HOST"), "10.96.0.9");
  EXPECT_EQ(found.at("MY_DB_SERVICE_PORT"), "5432");
  EXPECT_EQ(found.at("MY_DB_SERVICE_PORT_SQL"), "5432");
  EXPECT_EQ(found.at("MY_DB_PORT"), "tcp://10.96.0.9:5432");
  EXPECT_EQ(found.at("MY_DB_PORT_53_UDP"), "udp://10.96.0.9:53");
  EXPECT_EQ(found.at("MY_DB_PORT_53_UDP_ADDR"), "10.96.0.9");
  EXPECT_EQ(found.at("KUBERNETES_SERVICE_HOST"), "10.96.0.1");
  EXPECT_EQ(found.at("KUBERNETES_SERVICE_PORT"), "443");
  auto without = resolve(R"({"spec": {"enableServiceLinks": false, "containers": [{"name": "c"}]}})");
  EXPECT_FALSE(std::get<Environment>(without).contains("MY_DB_SERVICE_HOST"));
  EXPECT_EQ(std::get<Environment>(without).at("KUBERNETES_SERVICE_HOST"), "10.96.0.1");
}

TEST_F(EnvironmentTest, ContainersSeeTheirOwnGpusAndNoOthers) {
  node.gpus = 8;
  record.gpus["c"] = {2, 5};
  auto found = environment(R"({"name": "c", "env": [{"name": "CUDA_VISIBLE_DEVICES", "value": "0"}]})");
  EXPECT_EQ(found.at("NVIDIA_VISIBLE_DEVICES"), "2,5");
  EXPECT_EQ(found.at("CUDA_VISIBLE_DEVICES"), "2,5");
  found = environment(R"({"name": "other"})");
  EXPECT_EQ(found.at("NVIDIA_VISIBLE_DEVICES"), "void");
  EXPECT_EQ(found.at("CUDA_VISIBLE_DEVICES"), "");
  node.gpus = 0;
  EXPECT_FALSE(environment(R"({"name": "other"})").contains("NVIDIA_VISIBLE_DEVICES"));
}

}  // namespace
}  // namespace gangway::agent
