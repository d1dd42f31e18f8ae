#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apiserver/strategies/test_review.h"

namespace gangway::apiserver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TestWrites services() {
  return {"", "Service", "services"};
}

std::string service_with(std::string_view spec, std::string_view name = "web") {
  return R"({"metadata":{"namespace":"ns","name":")" + std::string(name) + R"("},"spec":)" + std::string(spec) + "}";
}

TEST(ServiceStrategy, GivesAnAddressThatNobodyHas) {
  auto writes = services();
  auto first = writes.create(service_with(R"({"type":"ClusterIP","sessionAffinity":"None","ports":[{"port":80}]})"));
  EXPECT_THAT(first.problems, IsEmpty());
  const auto& spec = first.object.at("spec");
  std::string address(spec.at("clusterIP").as_string());
  EXPECT_THAT(address, ::testing::StartsWith("10.96."));
  EXPECT_EQ(spec.at("clusterIPs"), json::Value(json::Array{json::Value(address)}));
  EXPECT_EQ(spec.at("ipFamilies"), json::Value(json::Array{"IPv4"}));
  EXPECT_EQ(spec.at("ipFamilyPolicy"), "SingleStack");
  EXPECT_EQ(spec.at("internalTrafficPolicy"), "Cluster");
  EXPECT_EQ(spec.at("ports").as_array()[0].at("targetPort"), 80);
  EXPECT_EQ(first.object.at("status").at("loadBalancer"), json::Value(json::Object()));

  // A neighbour that holds the very address makes the choice move on.
  writes.state().put("services",
                     R"({"metadata":{"namespace":"other","name":"x","resourceVersion":"1"},"spec":{"clusterIPs":[")" +
                         address + R"("],"ports":[{"nodePort":30100}]}})");
  auto second = writes.create(service_with(R"({"type":"NodePort","sessionAffinity":"None","ports":[{"port":80}]})"));
  EXPECT_NE(second.object.at("spec").at("clusterIP"), json::Value(address));
  auto port = second.object.at("spec").at("ports").as_array()[0].at("nodePort").as_int64();
  EXPECT_TRUE(port >= 30086 && port <= 32767 && port != 30100) << port;
  EXPECT_THAT(strategy_for("", "Service").claims(second.object),
              ElementsAre("clusterip/" + std::string(second.object.at("spec").at("clusterIP").as_string()),
                          "nodeport/" + std::to_string(port)));
  EXPECT_THAT(writes
                  .create(service_with(R"({"type":"NodePort","clusterIP":")" + address +
                                       R"(","ports":[{"port":80,"nodePort":30100}]})"))
                  .problems,
              ElementsAre("spec.clusterIPs: Invalid value: []string{\"" + address + "\"}: failed to allocate IP " +
                              address + ": provided IP is already allocated",
                          "spec.ports[0].nodePort: Invalid value: 30100: provided port is already allocated"));
}

TEST(ServiceStrategy, KnowsHeadlessAndExternalNames) {
  auto writes = services();
  auto headless = writes.create(service_with(R"({"type":"ClusterIP","clusterIP":"None","selector":{"a":"b"}})"));
  EXPECT_THAT(headless.problems, IsEmpty());
  EXPECT_EQ(headless.object.at("spec").at("clusterIPs"), json::Value(json::Array{"None"}));
  EXPECT_THAT(strategy_for("", "Service").claims(headless.object), IsEmpty());
  auto external = writes.create(service_with(R"({"type":"ExternalName","externalName":"example.com"})"));
  EXPECT_THAT(external.problems, IsEmpty());
  EXPECT_FALSE(external.object.at("spec").as_object().contains("clusterIP"));
  EXPECT_THAT(writes.create(service_with(R"({"type":"ExternalName"})")).problems,
              ElementsAre("spec.externalName: Required value"));
}

TEST(ServiceStrategy, NamesTheFieldOfEachMistake) {
  struct Mistake {
    std::string_view spec;
    std::vector<std::string> problems;
  };
  const Mistake kMistakes[] = {
      {R"({"type":"ClusterIP"})", {"spec.ports: Required value"}},
      {R"({"type":"ClusterIP","ports":[{"port":80},{"port":81,"name":"b"}]})", {"spec.ports[0].name: Required value"}},
      {R"({"type":"ClusterIP","ports":[{"port":80,"name":"a"},{"port":81,"name":"a"}]})",
       {"spec.ports[1].name: Duplicate value: \"a\""}},
      {R"({"type":"ClusterIP","ports":[{"port":80,"nodePort":30001}]})",
       {"spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"}},
      {R"({"type":"NodePort","ports":[{"port":80,"nodePort":80}]})",
       {"spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports "
        "is "
        "30000-32767"}},
      {R"({"type":"ClusterIP","clusterIP":"1.2.3.4","ports":[{"port":80}]})",
       {"spec.clusterIPs: Invalid value: []string{\"1.2.3.4\"}: failed to allocate IP 1.2.3.4: the provided IP "
        "(1.2.3.4) is "
        "not in the valid range. The range of valid IPs is 10.96.0.0/16"}},
      {R"({"type":"ClusterIP","clusterIP":"x","ports":[{"port":80}]})",
       {"spec.clusterIPs[0]: Invalid value: \"x\": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"}},
      {R"({"type":"NodePort","clusterIP":"None","ports":[{"port":80}]})",
       {"spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"}},
      {R"({"type":"ClusterIP","ports":[{"port":0}]})",
       {"spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        "spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive"}},
  };
  for (const auto& mistake : kMistakes) {
    auto writes = services();
    EXPECT_THAT(writes.create(service_with(mistake.spec)).problems, ::testing::ElementsAreArray(mistake.problems))
        << mistake.spec;
  }
}

TEST(ServiceStrategy, KeepsWhatWasGivenAcrossUpdates) {
  auto writes = services();
  auto made = writes.create(service_with(R"({"type":"NodePort","ports":[{"port":80}]})")).object;
  auto again = writes.update(made, service_with(R"({"type":"NodePort","ports":[{"port":8080}]})"));
  EXPECT_THAT(again.problems, IsEmpty());
  EXPECT_EQ(again.object.at("spec").at("clusterIP"), made.at("spec").at("clusterIP"));
  EXPECT_EQ(again.object.at("spec").at("ports").as_array()[0].at("nodePort"),
            made.at("spec").at("ports").as_array()[0].at("nodePort"));
  auto moved =
      writes.update(made, service_with(R"({"type":"ClusterIP","clusterIP":"10.96.7.7","ports":[{"port":80}]})"));
  EXPECT_THAT(moved.problems,
              ElementsAre("spec.clusterIPs[0]: Invalid value: []string{\"10.96.7.7\"}: may not change once set"));
  auto plain = made;
  plain.at("spec").as_object()["type"] = "ClusterIP";
  auto changed = writes.update(made, json::serialize(plain));
  EXPECT_THAT(changed.problems, IsEmpty());
  EXPECT_FALSE(changed.object.at("spec").at("ports").as_array()[0].as_object().contains("nodePort"));
  EXPECT_FALSE(changed.object.at("spec").as_object().contains("externalTrafficPolicy"));
  plain.at("spec").as_object()["type"] = "ExternalName";
  plain.at("spec").as_object()["externalName"] = "example.com";
  auto external = writes.update(made, json::serialize(plain));
  EXPECT_THAT(external.problems, IsEmpty());
  EXPECT_FALSE(external.object.at("spec").as_object().contains("clusterIPs"));
}

}  // namespace
}  // namespace gangway::apiserver
