#include "agent/network/service_view.h"

#include <gtest/gtest.h>

#include "base/address.h"
#include "testing/builders.h"

namespace gangway::agent {
namespace {

using testing::an_object;

std::vector<std::string> texts(const std::vector<Backend>& backends) {
  std::vector<std::string> out;
  for (const auto& backend : backends) out.push_back(v4_text(backend.address) + ":" + std::to_string(backend.port));
  return out;
}

using Texts = std::vector<std::string>;

TEST(ServiceView, ReadsWhatTheNetworkNeeds) {
  auto service = service_view(an_object("v1", "Service", "team-a", "web").with(R"({
      "spec": {"type": "NodePort", "clusterIP": "10.96.3.4", "sessionAffinity": "ClientIP",
               "externalIPs": ["198.51.100.7", "2001:db8::1"],
               "ports": [{"name": "http", "port": 80, "nodePort": 30080},
                         {"name": "dns", "protocol": "UDP", "port": 53},
                         {"name": "odd", "protocol": "QUIC", "port": 443}]}})"));
  ASSERT_TRUE(service);
  EXPECT_EQ(service->name, (api::ObjectName{"team-a", "web"}));
  EXPECT_EQ(v4_text(*service->cluster_ip), "10.96.3.4");
  EXPECT_TRUE(service->sticky);
  EXPECT_FALSE(service->headless);
  ASSERT_EQ(service->external_ips.size(), 1U);
  EXPECT_EQ(v4_text(service->external_ips[0]), "198.51.100.7");
  ASSERT_EQ(service->ports.size(), 2U);
  EXPECT_EQ(service->ports[0].node_port, 30080);
  EXPECT_EQ(service->ports[0].protocol, Protocol::kTcp);
  EXPECT_EQ(service->ports[1].protocol, Protocol::kUdp);
  EXPECT_EQ(service->ports[1].node_port, 0);
}

TEST(ServiceView, TakesLoadBalancersAddressesOnlyOfLoadBalancers) {
  auto object = an_object("v1", "Service", "a", "web").with(R"({
      "spec": {"type": "LoadBalancer", "clusterIP": "10.96.3.4"},
      "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}, {"hostname": "lb.example.com"}]}}})");
  EXPECT_EQ(service_view(object)->external_ips.size(), 1U);
  object.with(R"({"spec": {"type": "ClusterIP"}})");
  EXPECT_TRUE(service_view(object)->external_ips.empty());
}

TEST(ServiceView, HasNothingForNamesOfOutsideHosts) {
  EXPECT_FALSE(service_view(an_object("v1", "Service", "a", "db")
                                .with(R"({"spec": {"type": "ExternalName", "externalName": "db.example.com"}})")));
  auto headless = service_view(an_object("v1", "Service", "a", "db").with(R"({"spec": {"clusterIP": "None"}})"));
  ASSERT_TRUE(headless);
  EXPECT_TRUE(headless->headless);
  EXPECT_FALSE(headless->cluster_ip);
}

TEST(ServiceView, RefusesNamesThatCouldBeSyntax) {
  for (const char* bad : {"web }\nflush ruleset", "web\n10.0.0.1 evil", "WEB", "a.b", ""})
    EXPECT_FALSE(service_view(an_object("v1", "Service", "a", bad).with(R"({"spec": {"clusterIP": "10.96.0.9"}})")))
        << bad;
}

json::Value slice(std::string_view rest) {
  return an_object("discovery.k8s.io/v1", "EndpointSlice", "a", "web-x1")
      .label("kubernetes.io/service-name", "web")
      .with(R"({"addressType": "IPv4", "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}]})")
      .with(rest)
      .json();
}

TEST(SliceView, KnowsWhoIsReadyAndWhoDrains) {
  auto view = slice_view(slice(R"({"endpoints": [
      {"addresses": ["10.244.0.5"]},
      {"addresses": ["10.244.0.6"], "conditions": {"ready": true}, "hostname": "web-0"},
      {"addresses": ["10.244.0.7"], "conditions": {"ready": false, "serving": true, "terminating": true}},
      {"addresses": ["10.244.0.8"], "conditions": {"ready": false, "serving": false, "terminating": true}},
      {"addresses": ["10.244.0.9"], "conditions": {"ready": false}, "hostname": "Not A Label"}]})"));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->service, (api::ObjectName{"a", "web"}));
  ASSERT_EQ(view->endpoints.size(), 5U);
  std::vector<bool> ready;
  std::vector<bool> draining;
  for (const auto& endpoint : view->endpoints) {
    ready.push_back(endpoint.ready);
    draining.push_back(endpoint.draining);
  }
  EXPECT_EQ(ready, (std::vector<bool>{true, true, false, false, false}));
  EXPECT_EQ(draining, (std::vector<bool>{false, false, true, false, false}));
  EXPECT_EQ(view->endpoints[1].hostname, "web-0");
  EXPECT_EQ(view->endpoints[4].hostname, "");
}

TEST(SliceView, IsNothingWithoutServiceOrIpv4) {
  EXPECT_FALSE(slice_view(slice(R"({"addressType": "IPv6", "endpoints": []})")));
  EXPECT_FALSE(slice_view(slice(R"({"metadata": {"labels": {"kubernetes.io/service-name": null}}, "endpoints": []})")));
}

TEST(Backends, AreTheReadyOnesOfAllSlicesOnce) {
  EndpointSlice first{{"a", "web"}, {{"http", Protocol::kTcp, 8080}}, {{3, true, false, ""}, {1, true, false, ""}}};
  EndpointSlice second{{"a", "web"}, {{"http", Protocol::kTcp, 8080}}, {{1, true, false, ""}, {2, false, true, ""}}};
  ServicePort port{"http", Protocol::kTcp, 80, 0};
  EXPECT_EQ(texts(backends_of(port, {&first, &second})), (Texts{"0.0.0.1:8080", "0.0.0.3:8080"}));
  // Those that drain serve only while nobody else does.
  EXPECT_EQ(texts(backends_of(port, {&second})), (Texts{"0.0.0.1:8080"}));
  second.endpoints[0].ready = false;
  EXPECT_EQ(texts(backends_of(port, {&second})), (Texts{"0.0.0.2:8080"}));
}

TEST(Backends, AreOfThePortWithTheName) {
  EndpointSlice slice{{"a", "web"},
                      {{"http", Protocol::kTcp, 8080}, {"dns", Protocol::kUdp, 5353}, {"dns", Protocol::kTcp, 5454}},
                      {{1, true, false, ""}}};
  EXPECT_EQ(texts(backends_of({"dns", Protocol::kUdp, 53, 0}, {&slice})), (Texts{"0.0.0.1:5353"}));
  EXPECT_EQ(texts(backends_of({"other", Protocol::kTcp, 80, 0}, {&slice})), Texts());
}

}  // namespace
}  // namespace gangway::agent
