#include "controllers/endpoints.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "controllers/endpoint_slices.h"
#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;
using client::resources::kEndpoints;
using client::resources::kEndpointSlices;
using client::resources::kNodes;
using client::resources::kPods;
using client::resources::kServices;

struct ServiceBench : Bench {
  void service(const std::string& spec, const std::string& name = "web") {
    api.create(kServices, testing::an_object("v1", "Service", "default", name)
                              .label("team", "x")
                              .with(R"({"spec":{"clusterIP":"10.96.0.1","ipFamilies":["IPv4"],
                                        "selector":{"app":"web"}}})")
                              .with(R"({"spec":)" + spec + "}"));
  }
  void pod(const std::string& name, const std::string& ip, bool ready, const std::string& more = "{}") {
    api.create(kPods, testing::a_pod("default", name)
                          .label("app", "web")
                          .with(R"({"spec":{"nodeName":"n0","containers":[{"name":"c"}]},
                                    "status":{"phase":"Running","podIP":")" +
                                ip + R"(","podIPs":[{"ip":")" + ip + R"("}],"conditions":[{"type":"Ready","status":")" +
                                (ready ? "True" : "False") + R"("}]}})")
                          .with(more));
  }
};

std::string text(const json::Value& value, std::string_view key) {
  return std::string(json::string_at(value, {key}));
}

struct EndpointsTest : ::testing::Test {
  ServiceBench bench;
  testing::FakeApi& api = bench.api;
  EndpointsController reconciler;

  // "10.1.0.8,10.1.0.9|10.1.0.10:http=8080/TCP,dbg=9999/TCP;…": ready, not ready, ports of each subset.
  std::string subsets() {
    const json::Value tree = api.tree(kEndpoints, {"default", "web"});
    if (tree.is_null()) return "none";
    std::string all;
    for (const json::Value& subset : json::array_at(tree, {"subsets"})) {
      const auto ips = [&](const char* key) {
        std::string list;
        for (const json::Value& address : json::array_at(subset, {key}))
          list += (list.empty() ? "" : ",") + text(address, "ip");
        return list;
      };
      std::string ports;
      for (const json::Value& port : json::array_at(subset, {"ports"}))
        ports += (ports.empty() ? "" : ",") + text(port, "name") + "=" +
                 std::to_string(json::integer_at(port, {"port"})) + "/" + text(port, "protocol");
      all += (all.empty() ? "" : ";") + ips("addresses") + "|" + ips("notReadyAddresses") + ":" + ports;
    }
    return all;
  }
};

// What the real controller makes of the same objects: ports that have the same pods behind them share a subset.
TEST_F(EndpointsTest, GroupsPortsByThePodsBehindThem) {
  bench.service(R"({"ports":[{"name":"http","port":80,"targetPort":"web"},
                             {"name":"dbg","port":81,"targetPort":9999,"appProtocol":"h2c"}]})");
  const auto port = [](int number) {
    return R"({"spec":{"containers":[{"name":"c","ports":[{"name":"web","containerPort":)" + std::to_string(number) +
           "}]}]}}";
  };
  bench.pod("p0", "10.1.0.10", true, port(8080));
  bench.pod("p1", "10.1.0.9", false, port(8080));
  bench.pod("p2", "10.1.0.8", true, port(8081));
  bench.start(reconciler);
  EXPECT_EQ(subsets(),
            "10.1.0.10,10.1.0.8|10.1.0.9:dbg=9999/TCP;"
            "10.1.0.10|10.1.0.9:http=8080/TCP;"
            "10.1.0.8|:http=8081/TCP");
  const json::Value tree = api.tree(kEndpoints, {"default", "web"});
  EXPECT_EQ(json::serialize(json::map_at(tree, {"metadata", "labels"})),
            R"({"team":"x","endpoints.kubernetes.io/managed-by":"endpoint-controller"})");
  const json::Value& first = json::array_at(json::array_at(tree, {"subsets"}).at(0), {"addresses"}).at(0);
  EXPECT_EQ(text(first, "nodeName"), "n0");
  EXPECT_EQ(json::string_at(first, {"targetRef", "name"}), "p0");
  EXPECT_EQ(json::string_at(first, {"targetRef", "uid"}), api.get(kPods, {"default", "p0"}).header->uid);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

struct WhoCase {
  const char* name;
  const char* service;
  const char* pod;
  const char* want;
};

// The pod is ready, at 10.1.0.1, and selected; the Service has port 80.
const WhoCase kWhoCases[] = {
    {"ready", "{}", "{}", "10.1.0.1|:=80/TCP"},
    {"not_ready", "{}", R"({"status":{"conditions":null}})", "|10.1.0.1:=80/TCP"},
    {"not_ready_but_published", R"({"publishNotReadyAddresses":true})", R"({"status":{"conditions":null}})",
     "10.1.0.1|:=80/TCP"},
    {"no_address_yet", "{}", R"({"status":{"podIP":null,"podIPs":null}})", ""},
    {"ended", "{}", R"({"status":{"phase":"Succeeded"}})", ""},
    {"not_selected", "{}", R"({"metadata":{"labels":{"app":"other"}}})", ""},
    {"an_address_of_another_family", "{}", R"({"status":{"podIP":"fd00::1","podIPs":[{"ip":"fd00::1"}]}})", ""},
    {"no_port_of_that_name", R"({"ports":[{"port":80,"targetPort":"missing"}]})", "{}", ""},
    {"a_port_of_another_protocol", R"({"ports":[{"port":53,"protocol":"UDP","targetPort":"dns"}]})",
     R"({"spec":{"containers":[{"ports":[{"name":"dns","containerPort":53}]}]}})", ""},
    {"a_port_of_a_sidecar", R"({"ports":[{"port":53,"targetPort":"dns"}]})",
     R"({"spec":{"initContainers":[{"restartPolicy":"Always","ports":[{"name":"dns","containerPort":53}]}]}})",
     "10.1.0.1|:=53/TCP"},
    {"headless_without_ports", R"({"clusterIP":"None","ports":null})", "{}", "10.1.0.1|:"},
    {"without_a_selector", R"({"selector":null})", "{}", "none"},
    {"with_an_empty_selector", R"({"selector":{"app":null}})", "{}", "none"},
    {"a_name_for_something_else", R"({"type":"ExternalName"})", "{}", "none"},
};

class WhoTest : public EndpointsTest, public ::testing::WithParamInterface<WhoCase> {};

TEST_P(WhoTest, IsBehindAService) {
  bench.service(R"({"ports":[{"port":80}]})");
  api.patch(kServices, {"default", "web"}, testing::parsed(R"({"spec":)" + std::string(GetParam().service) + "}"));
  bench.pod("p", "10.1.0.1", true, GetParam().pod);
  bench.start(reconciler);
  EXPECT_EQ(subsets(), GetParam().want);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Pods, WhoTest, ::testing::ValuesIn(kWhoCases),
                         [](const auto& each) { return each.param.name; });

TEST_F(EndpointsTest, FollowsPodsAtOnce) {
  bench.service(R"({"ports":[{"port":80}]})");
  bench.start(reconciler);
  EXPECT_EQ(subsets(), "");
  bench.pod("p", "10.1.0.1", false);
  bench.loop.run_until_idle();
  EXPECT_EQ(subsets(), "|10.1.0.1:=80/TCP");
  api.patch(kPods, {"default", "p"}, testing::parsed(R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"),
            "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(subsets(), "10.1.0.1|:=80/TCP");
  api.patch(kPods, {"default", "p"}, testing::parsed(R"({"metadata":{"labels":{"app":"other"}}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(subsets(), "");
  api.patch(kPods, {"default", "p"}, testing::parsed(R"({"metadata":{"labels":{"app":"web"}}})"));
  api.patch(kPods, {"default", "p"}, testing::parsed(R"({"metadata":{"finalizers":["example.com/hold"]}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(subsets(), "10.1.0.1|:=80/TCP");
  api.remove(kPods, {"default", "p"});
  bench.loop.run_until_idle();
  EXPECT_EQ(subsets(), "");
}

TEST_F(EndpointsTest, NamesPodsOfAHeadlessService) {
  bench.service(R"({"clusterIP":"None","ports":[{"port":80}]})");
  bench.pod("a", "10.1.0.1", true, R"({"spec":{"hostname":"first","subdomain":"web"}})");
  bench.pod("b", "10.1.0.2", true, R"({"spec":{"hostname":"second","subdomain":"another"}})");
  bench.start(reconciler);
  const json::Value tree = api.tree(kEndpoints, {"default", "web"});
  const json::Array& addresses = json::array_at(json::array_at(tree, {"subsets"}).at(0), {"addresses"});
  EXPECT_EQ(text(addresses.at(0), "hostname"), "first");
  EXPECT_EQ(text(addresses.at(1), "hostname"), "");
  EXPECT_EQ(json::serialize(*json::find(tree, {"metadata", "labels", "service.kubernetes.io/headless"})), "\"\"");
}

TEST_F(EndpointsTest, GoWithTheirServiceAndOnlyThose) {
  bench.service(R"({"ports":[{"port":80}]})");
  api.create(kEndpoints, testing::an_object("v1", "Endpoints", "default", "by-hand"));
  bench.start(reconciler);
  api.remove(kServices, {"default", "web"});
  bench.loop.run_until_idle();
  EXPECT_FALSE(api.get(kEndpoints, {"default", "web"}));
  EXPECT_TRUE(api.get(kEndpoints, {"default", "by-hand"}));
}

TEST_F(EndpointsTest, AreMadeAgainAndPutRight) {
  bench.service(R"({"ports":[{"port":80}]})");
  bench.pod("p", "10.1.0.1", true);
  bench.start(reconciler);
  api.patch(kEndpoints, {"default", "web"}, testing::parsed(R"({"subsets":null,"metadata":{"labels":{"mine":"1"}}})"));
  bench.loop.run_until_idle();
  EXPECT_EQ(subsets(), "10.1.0.1|:=80/TCP");
  EXPECT_EQ(api.get(kEndpoints, {"default", "web"}).header->label("mine"), "");
  api.remove(kEndpoints, {"default", "web"});
  bench.loop.run_until_idle();
  EXPECT_EQ(subsets(), "10.1.0.1|:=80/TCP");
}

TEST_F(EndpointsTest, ListNoMoreThanAThousand) {
  bench.service(R"({"ports":[{"port":80}]})");
  for (int i = 0; i < 1003; ++i) {
    const std::string ip = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
    bench.pod("p" + std::to_string(i), ip, i % 2 == 0);
  }
  bench.start(reconciler);
  const json::Value tree = api.tree(kEndpoints, {"default", "web"});
  const json::Value& subset = json::array_at(tree, {"subsets"}).at(0);
  EXPECT_EQ(json::array_at(subset, {"addresses"}).size(), 502u);
  EXPECT_EQ(json::array_at(subset, {"notReadyAddresses"}).size(), 498u);
  EXPECT_EQ(json::string_at(tree, {"metadata", "annotations", "endpoints.kubernetes.io/over-capacity"}), "truncated");
}

struct SlicesTest : ::testing::Test {
  ServiceBench bench;
  testing::FakeApi& api = bench.api;
  EndpointSliceController reconciler;

  std::vector<json::Value> slices() {
    std::vector<json::Value> all;
    for (const auto& [name, version] : api.objects(kEndpointSlices)) all.push_back(api.tree(kEndpointSlices, name));
    return all;
  }
  // "10.1.0.1 rst": address and which of the three conditions hold.
  std::set<std::string> endpoints() {
    std::set<std::string> all;
    for (const json::Value& slice : slices()) {
      for (const json::Value& endpoint : json::array_at(slice, {"endpoints"})) {
        std::string line(json::string_at(json::array_at(endpoint, {"addresses"}).at(0), {}));
        line += " ";
        for (const char* condition : {"ready", "serving", "terminating"})
          line += json::flag_at(endpoint, {"conditions", condition}) ? condition[0] : '-';
        EXPECT_TRUE(all.insert(line).second) << line << " is listed twice";
      }
    }
    return all;
  }
};

TEST_F(SlicesTest, SayWhoIsReadyServesAndEnds) {
  bench.service(R"({"ports":[{"name":"http","port":80,"targetPort":8080,"appProtocol":"h2c"}]})");
  api.create(kNodes, testing::an_object("v1", "Node", "", "n0").label("topology.kubernetes.io/zone", "za"));
  bench.pod("a", "10.1.0.1", true);
  bench.pod("b", "10.1.0.2", false);
  bench.pod("c", "10.1.0.3", true, R"({"metadata":{"finalizers":["example.com/hold"]}})");
  api.remove(kPods, {"default", "c"});
  bench.start(reconciler);
  EXPECT_EQ(endpoints(), (std::set<std::string>{"10.1.0.1 rs-", "10.1.0.2 ---", "10.1.0.3 -st"}));
  ASSERT_EQ(slices().size(), 1u);
  const json::Value slice = slices()[0];
  EXPECT_EQ(text(slice, "addressType"), "IPv4");
  EXPECT_EQ(json::serialize(*json::find(slice, {"ports"})),
            R"([{"port":8080,"protocol":"TCP","appProtocol":"h2c","name":"http"}])");
  EXPECT_EQ(json::string_at(slice, {"metadata", "labels", "kubernetes.io/service-name"}), "web");
  EXPECT_EQ(json::string_at(slice, {"metadata", "labels", "endpointslice.kubernetes.io/managed-by"}),
            "endpointslice-controller.k8s.io");
  EXPECT_EQ(json::string_at(slice, {"metadata", "labels", "team"}), "x");
  const json::Value& owner = json::array_at(slice, {"metadata", "ownerReferences"}).at(0);
  EXPECT_EQ(text(owner, "uid"), api.get(kServices, {"default", "web"}).header->uid);
  EXPECT_TRUE(json::flag_at(owner, {"controller"}));
  const json::Value& endpoint = json::array_at(slice, {"endpoints"}).at(0);
  EXPECT_EQ(text(endpoint, "zone"), "za");
  EXPECT_EQ(text(endpoint, "nodeName"), "n0");
  EXPECT_EQ(json::string_at(endpoint, {"targetRef", "kind"}), "Pod");
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

TEST_F(SlicesTest, PublishThoseThatAreNotReadyWhenToldSo) {
  bench.service(R"({"ports":[{"port":80}],"publishNotReadyAddresses":true})");
  bench.pod("b", "10.1.0.2", false);
  bench.start(reconciler);
  EXPECT_EQ(endpoints(), std::set<std::string>{"10.1.0.2 r--"});
}

TEST_F(SlicesTest, AServiceWithoutPodsHasAnEmptySlice) {
  bench.service(R"({"ports":[{"port":80}]})");
  bench.start(reconciler);
  ASSERT_EQ(slices().size(), 1u);
  EXPECT_TRUE(endpoints().empty());
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
  bench.pod("a", "10.1.0.1", true);
  bench.loop.run_until_idle();
  EXPECT_EQ(endpoints().size(), 1u);
  EXPECT_EQ(slices().size(), 1u);
  api.remove(kPods, {"default", "a"});
  bench.loop.run_until_idle();
  ASSERT_EQ(slices().size(), 1u);
  EXPECT_TRUE(endpoints().empty());
}

TEST_F(SlicesTest, HaveAHundredEndpointsAtMostAndChangeOneAtATime) {
  bench.service(R"({"ports":[{"port":80}]})");
  const auto ip = [](int i) { return "10.1." + std::to_string(i / 200) + "." + std::to_string(i % 200 + 1); };
  for (int i = 0; i < 250; ++i) bench.pod("p" + std::to_string(i), ip(i), true);
  bench.start(reconciler);
  EXPECT_EQ(endpoints().size(), 250u);
  EXPECT_EQ(slices().size(), 3u);
  for (const json::Value& slice : slices()) EXPECT_LE(json::array_at(slice, {"endpoints"}).size(), 100u);
  api.forget_calls();
  api.patch(kPods, {"default", "p120"}, testing::parsed(R"({"status":{"conditions":null}})"), "status");
  bench.loop.run_until_idle();
  EXPECT_EQ(api.writes().size(), 1u);
  EXPECT_TRUE(endpoints().contains(ip(120) + " ---"));
  api.forget_calls();
  bench.pod("new", "10.9.9.9", true);
  bench.loop.run_until_idle();
  EXPECT_EQ(api.writes().size(), 1u);
  EXPECT_EQ(endpoints().size(), 251u);
  for (int i = 0; i < 250; ++i) api.remove(kPods, {"default", "p" + std::to_string(i)});
  bench.loop.run_until_idle();
  EXPECT_EQ(slices().size(), 1u);
  EXPECT_EQ(endpoints(), std::set<std::string>{"10.9.9.9 rs-"});
}

TEST_F(SlicesTest, PodsWithOtherPortsHaveSlicesOfTheirOwn) {
  bench.service(R"({"ports":[{"name":"http","port":80,"targetPort":"web"}]})");
  for (const int number : {8080, 8081})
    bench.pod("p" + std::to_string(number), "10.1.0." + std::to_string(number - 8000), true,
              R"({"spec":{"containers":[{"name":"c","ports":[{"name":"web","containerPort":)" + std::to_string(number) +
                  "}]}]}}");
  bench.start(reconciler);
  std::set<std::int64_t> numbers;
  for (const json::Value& slice : slices())
    numbers.insert(json::integer_at(json::array_at(slice, {"ports"}).at(0), {"port"}));
  EXPECT_EQ(numbers, (std::set<std::int64_t>{8080, 8081}));
  api.remove(kPods, {"default", "p8081"});
  bench.loop.run_until_idle();
  EXPECT_EQ(slices().size(), 1u);
}

TEST_F(SlicesTest, BothFamiliesHaveTheirOwn) {
  bench.service(R"({"ports":[{"port":80}],"ipFamilies":["IPv4","IPv6"]})");
  bench.pod("a", "10.1.0.1", true, R"({"status":{"podIPs":[{"ip":"10.1.0.1"},{"ip":"fd00::1"}]}})");
  bench.start(reconciler);
  EXPECT_EQ(endpoints(), (std::set<std::string>{"10.1.0.1 rs-", "fd00::1 rs-"}));
  EXPECT_EQ(slices().size(), 2u);
}

TEST_F(SlicesTest, ConvergeThroughBadWeather) {
  api.set_weather({.refused = 150, .lost = 150, .broken_watches = 50, .seed = 5});
  api.set_watch_lag(kEndpointSlices, 50ms);
  bench.service(R"({"ports":[{"port":80}]})");
  bench.start(reconciler);
  for (int i = 0; i < 120; ++i) {
    bench.pod("p" + std::to_string(i), "10.1.0." + std::to_string(i + 1), i % 3 != 0);
    bench.loop.advance(10ms);
    if (i >= 100) api.remove(kPods, {"default", "p" + std::to_string(i - 100)});
  }
  bench.loop.advance(10min);
  EXPECT_EQ(endpoints().size(), 100u);
  api.set_weather({});
  bench.loop.advance(1min);
  EXPECT_EQ(bench.writes_when_looking_again(), 0u);
}

}  // namespace
}  // namespace gangway::controllers
