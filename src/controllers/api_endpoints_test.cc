#include "controllers/api_endpoints.h"

#include <gtest/gtest.h>

#include "controllers/test_catalog.h"

namespace gangway::controllers {
namespace {

using client::resources::kEndpoints;
using client::resources::kEndpointSlices;
using client::resources::kServices;

const api::ObjectName kName{"default", "kubernetes"};

struct ApiEndpointsTest : ::testing::Test {
  ApiEndpointsTest() { bench.api.create(kServices, service()); }
  static json::Value service() {
    return testing::an_object("v1", "Service", "default", "kubernetes")
        .with(R"({"spec": {"clusterIP": "10.96.0.1"}})")
        .json();
  }
  void run(std::optional<ApiAddress> address) {
    bench.controller.reset();
    reconciler = std::make_unique<ApiEndpoints>(service(), std::move(address));
    bench.start(*reconciler);
  }
  json::Value part(const client::Resource& resource, std::string_view key) {
    const auto tree = bench.api.tree(resource, kName);
    const auto* value = json::find(tree, {key});
    return value ? *value : json::Value();
  }

  Bench bench;
  std::unique_ptr<ApiEndpoints> reconciler;
};

TEST_F(ApiEndpointsTest, NameTheAddressThatPodsReach) {
  run(ApiAddress{"10.244.4.1", 6443});
  EXPECT_EQ(part(kEndpointSlices, "endpoints"),
            testing::parsed(R"([{"addresses": ["10.244.4.1"], "conditions": {"ready": true}}])"));
  EXPECT_EQ(part(kEndpointSlices, "ports"), testing::parsed(R"([{"name": "https", "port": 6443, "protocol": "TCP"}])"));
  EXPECT_EQ(part(kEndpointSlices, "addressType"), json::Value("IPv4"));
  EXPECT_EQ(bench.api.get(kEndpointSlices, kName).header->label("kubernetes.io/service-name"), "kubernetes");
  EXPECT_EQ(part(kEndpoints, "subsets"), testing::parsed(R"([{"addresses": [{"ip": "10.244.4.1"}],
      "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}]}])"));
  EXPECT_EQ(bench.writes_when_looking_again(), 0U);
}

TEST_F(ApiEndpointsTest, FollowTheServer) {
  run(ApiAddress{"10.244.4.1", 6443});
  run(ApiAddress{"10.244.8.1", 7443});
  EXPECT_EQ(part(kEndpointSlices, "endpoints"),
            testing::parsed(R"([{"addresses": ["10.244.8.1"], "conditions": {"ready": true}}])"));
  run(std::nullopt);
  EXPECT_EQ(part(kEndpointSlices, "endpoints"), json::Value(json::Array()));
  EXPECT_EQ(part(kEndpoints, "subsets"), json::Value(json::Array()));
  EXPECT_EQ(bench.writes_when_looking_again(), 0U);
}

TEST_F(ApiEndpointsTest, ComeBackWithTheirService) {
  run(ApiAddress{"10.244.4.1", 6443});
  bench.api.remove(kEndpointSlices, kName);
  bench.api.remove(kServices, kName);
  bench.loop.run_until_idle();
  EXPECT_TRUE(bench.api.get(kServices, kName));
  EXPECT_TRUE(bench.api.get(kEndpointSlices, kName));
}

TEST_F(ApiEndpointsTest, LeaveOthersAlone) {
  bench.api.create(kServices, testing::an_object("v1", "Service", "team-a", "kubernetes"));
  bench.api.create(kServices, testing::an_object("v1", "Service", "default", "web"));
  run(ApiAddress{"10.244.4.1", 6443});
  EXPECT_EQ(bench.api.objects(kEndpointSlices).size(), 1U);
}

}  // namespace
}  // namespace gangway::controllers
