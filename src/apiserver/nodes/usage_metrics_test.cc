#include "apiserver/nodes/usage_metrics.h"

#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kSummary = R"({
  "node":{"nodeName":"n0","cpu":{"time":"2026-01-01T00:00:05Z","usageNanoCores":1500000000},
          "memory":{"workingSetBytes":2097152}},
  "pods":[{"podRef":{"name":"web","namespace":"default","uid":"@UID@"},"cpu":{"time":"2026-01-01T00:00:05Z"},
           "containers":[{"name":"main","cpu":{"usageNanoCores":250000000},"memory":{"workingSetBytes":1048576}}]},
          {"podRef":{"name":"new","namespace":"default","uid":"u9"},
           "containers":[{"name":"main","cpu":{},"memory":{"workingSetBytes":1}}]}]})";

// Agents that all answer the same, unless they are told not to.
class SummaryDialer final : public client::NodeDialer {
 public:
  Result<std::unique_ptr<client::Transport>> dial(const client::NodeAddress& node, sys::EventLoop& here) override {
    asked.push_back(node.node);
    return std::unique_ptr<client::Transport>(std::make_unique<SummaryTransport>(*this, here, node.node));
  }
  std::string summary;
  std::string down;  // the node that does not answer
  std::vector<std::string> asked;

 private:
  class SummaryTransport final : public client::Transport {
   public:
    SummaryTransport(SummaryDialer& dialer, sys::EventLoop& loop, std::string node)
        : dialer_(dialer), loop_(loop), node_(std::move(node)) {}
    void send(client::HttpClientRequest request, sys::Completion<client::HttpClientResponse> done) override {
      EXPECT_EQ(request.target, "/stats/summary");
      Result<client::HttpClientResponse> answer = client::HttpClientResponse{200, {}, dialer_.summary};
      if (node_ == dialer_.down) answer = internal_error("down");
      loop_.post([done = std::move(done), answer] { done(answer); });
    }
    std::unique_ptr<client::BodySource> stream(client::HttpClientRequest, client::StreamCallbacks) override {
      return nullptr;
    }
    void upgrade(client::HttpClientRequest, std::unique_ptr<sys::ByteSession>,
                 sys::Completion<client::HttpClientResponse>) override {}

   private:
    SummaryDialer& dialer_;
    sys::EventLoop& loop_;
    std::string node_;
  };
};

struct UsageMetricsTest : ::testing::Test {
  SummaryDialer dialer;
  TestServer server{&dialer};

  UsageMetricsTest() {
    server.post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
    for (const std::string name : {"n0", "n1"}) {
      server.post("/api/v1/nodes", R"({"metadata":{"name":")" + name + R"(","labels":{"zone":")" + name + R"("}}})");
      server.merge_patch("/api/v1/nodes/" + name + "/status",
                         R"({"status":{"addresses":[{"type":"InternalIP","address":"10.1.2.3"}],
          "daemonEndpoints":{"kubeletEndpoint":{"Port":10250}}}})");
    }
    server.post("/api/v1/nodes", R"({"metadata":{"name":"without-agent"}})");
    auto pod = server.post("/api/v1/namespaces/default/pods",
                           R"({"metadata":{"name":"web","labels":{"app":"web"}},"spec":{"nodeName":"n0",
        "containers":[{"name":"main","image":"i"}]}})");
    server.post("/api/v1/namespaces/default/pods",
                R"({"metadata":{"name":"new"},"spec":{"nodeName":"n1","containers":[{"name":"main","image":"i"}]}})");
    dialer.summary = kSummary;
    dialer.summary.replace(dialer.summary.find("@UID@"), 5, pod.at({"metadata", "uid"}));
  }
  static std::vector<std::string> names(const TestResponse& list) {
    std::vector<std::string> out;
    for (const auto& item : list.body.at("items").as_array())
      out.emplace_back(json::string_at(item, {"metadata", "name"}));
    return out;
  }
  const std::string base = "/apis/metrics.k8s.io/v1beta1/";
};

TEST_F(UsageMetricsTest, TellsWhatNodesUse) {
  auto list = server.get(base + "nodes");
  ASSERT_EQ(list.status, 200) << list.text;
  EXPECT_EQ(list.at({"kind"}), "NodeMetricsList");
  EXPECT_EQ(names(list), (std::vector<std::string>{"n0", "n1"}));
  const auto& first = list.body.at("items").as_array().at(0);
  EXPECT_EQ(json::string_at(first, {"usage", "cpu"}), "1500000000n");
  EXPECT_EQ(json::string_at(first, {"usage", "memory"}), "2048Ki");
  EXPECT_EQ(json::string_at(first, {"timestamp"}), "2026-01-01T00:00:05Z");
  EXPECT_EQ(json::string_at(first, {"metadata", "labels", "zone"}), "n0");
  EXPECT_EQ(names(server.get(base + "nodes?labelSelector=zone%3Dn1")), std::vector<std::string>{"n1"});
  auto one = server.get(base + "nodes/n0");
  EXPECT_EQ(one.at({"kind"}), "NodeMetrics");
  EXPECT_EQ(one.at({"apiVersion"}), "metrics.k8s.io/v1beta1");
}

TEST_F(UsageMetricsTest, TellsWhatPodsUse) {
  auto list = server.get(base + "namespaces/default/pods");
  ASSERT_EQ(list.status, 200) << list.text;
  // The other pod has no rate yet.
  EXPECT_EQ(names(list), std::vector<std::string>{"web"});
  const auto& container = list.body.at("items").as_array().at(0).at("containers").as_array().at(0);
  EXPECT_EQ(json::serialize(container), R"({"name":"main","usage":{"cpu":"250000000n","memory":"1024Ki"}})");
  EXPECT_EQ(names(server.get(base + "pods")), std::vector<std::string>{"web"});
  EXPECT_TRUE(names(server.get(base + "pods?labelSelector=app%3Dother")).empty());
  EXPECT_EQ(server.get(base + "namespaces/default/pods/web").at({"kind"}), "PodMetrics");
  EXPECT_EQ(server.get(base + "namespaces/default/pods/new").status, 404);
  EXPECT_EQ(server.get(base + "namespaces/default/pods/none").message(), "pods.metrics.k8s.io \"none\" not found");
}

TEST_F(UsageMetricsTest, AsksOnlyTheNodesThatAreConcerned) {
  server.get(base + "namespaces/default/pods/web");
  EXPECT_EQ(dialer.asked, std::vector<std::string>{"n0"});
}

TEST_F(UsageMetricsTest, ANodeThatDoesNotAnswerHidesNoOther) {
  dialer.down = "n0";
  EXPECT_EQ(names(server.get(base + "nodes")), std::vector<std::string>{"n1"});
}

TEST_F(UsageMetricsTest, IsReadOnlyAndGuarded) {
  EXPECT_EQ(server.remove(base + "nodes/n0").status, 405);
  auto refused = server.request("GET", base + "nodes", {.peer = "nobody", .groups = {}});
  EXPECT_EQ(refused.status, 403);
  auto discovery = server.get("/apis/metrics.k8s.io/v1beta1");
  EXPECT_EQ(discovery.status, 200);
  EXPECT_NE(discovery.text.find("NodeMetrics"), std::string::npos);
}

}  // namespace
}  // namespace gangway::apiserver
