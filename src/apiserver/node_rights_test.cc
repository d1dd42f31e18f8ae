// What a node may do through the whole server: read and write what is its own, and nothing else.
#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kPods = "/api/v1/namespaces/default/pods";
constexpr std::string_view kLeases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

// Two nodes, each with a pod.
class NodeRights : public ::testing::Test {
 protected:
  NodeRights() {
    server_.post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
    for (std::string name : {"n1", "n2"}) {
      EXPECT_EQ(server_.post("/api/v1/nodes", R"({"metadata":{"name":")" + name + R"("}})").status, 201);
      auto pod = server_.post(std::string(kPods), R"({"metadata":{"name":"on-)" + name + R"("},"spec":{"nodeName":")" +
                                                      name + R"(","containers":[{"name":"c","image":"i"}]}})");
      EXPECT_EQ(pod.status, 201) << pod.text;
    }
  }

  TestResponse as_node(std::string method, std::string target, std::string body = {},
                       std::string content_type = "application/json") {
    return server_.request(std::move(method), std::move(target),
                           {.body = std::move(body),
                            .content_type = std::move(content_type),
                            .peer = "system:node:n1",
                            .groups = {"system:nodes", "system:authenticated"}});
  }
  int patched(const std::string& target, const std::string& body) {
    return as_node("PATCH", target, body, "application/merge-patch+json").status;
  }
  static std::string pod(std::string_view name) { return std::string(kPods) + "/" + std::string(name); }

  TestServer server_;
};

TEST_F(NodeRights, ReadsItsOwnPodsOnly) {
  EXPECT_EQ(as_node("GET", pod("on-n1")).status, 200);
  EXPECT_EQ(as_node("GET", pod("on-n2")).status, 403);
  EXPECT_EQ(as_node("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1").status, 200);
  EXPECT_EQ(as_node("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2").status, 403);
  EXPECT_EQ(as_node("GET", "/api/v1/pods").status, 403);
}

TEST_F(NodeRights, AreTheSameWithoutBytesInBetween) {
  DirectClient node(*server_.server, server_.store, server_.loop,
                    {"system:node:n1", "", {"system:nodes", "system:authenticated"}, {}});
  const auto may_list = [&](const std::string& plural, const std::string& selector) {
    client::ListRequest request;
    request.resource = {"", "v1", plural};
    request.field_selector = selector;
    std::optional<bool> allowed;
    node.list(request, [&](const Result<client::ListAnswer>& answer) { allowed = answer.has_value(); });
    server_.loop.run_until_idle();
    return allowed.value();
  };
  EXPECT_TRUE(may_list("pods", "spec.nodeName=n1"));
  EXPECT_FALSE(may_list("pods", "spec.nodeName=n2"));
  EXPECT_TRUE(may_list("nodes", "metadata.name=n1"));
  EXPECT_FALSE(may_list("nodes", "metadata.name=n2"));
}

TEST_F(NodeRights, WritesTheStatusOfItsOwnPodsOnly) {
  const std::string running = R"({"status":{"phase":"Running"}})";
  EXPECT_EQ(patched(pod("on-n1") + "/status", running), 200);
  EXPECT_EQ(patched(pod("on-n2") + "/status", running), 403);
  EXPECT_EQ(patched(pod("on-n1") + "/status", R"({"metadata":{"labels":{"a":"b"}}})"), 403);
  EXPECT_EQ(patched(pod("on-n1"), R"({"metadata":{"labels":{"a":"b"}}})"), 403);
}

TEST_F(NodeRights, DeletesAndEvictsItsOwnPodsOnly) {
  EXPECT_EQ(as_node("DELETE", pod("on-n2")).status, 403);
  EXPECT_EQ(as_node("POST", pod("on-n2") + "/eviction", R"({"metadata":{"name":"on-n2"}})").status, 403);
  EXPECT_EQ(server_.get(pod("on-n2")).status, 200);
  EXPECT_EQ(as_node("DELETE", pod("on-n1"), R"({"gracePeriodSeconds":0})").status, 200);
}

TEST_F(NodeRights, WritesItsOwnNodeButNotItsTaints) {
  EXPECT_EQ(patched("/api/v1/nodes/n1/status", R"({"status":{"phase":"Running"}})"), 200);
  EXPECT_EQ(patched("/api/v1/nodes/n2/status", R"({"status":{"phase":"Running"}})"), 403);
  EXPECT_EQ(patched("/api/v1/nodes/n2", R"({"spec":{"unschedulable":true}})"), 403);
  EXPECT_EQ(patched("/api/v1/nodes/n1", R"({"spec":{"taints":[{"key":"k","effect":"NoSchedule"}]}})"), 403);
  EXPECT_EQ(as_node("POST", "/api/v1/nodes", R"({"metadata":{"name":"n3"}})").status, 403);
}

TEST_F(NodeRights, RenewsItsOwnLeaseOnly) {
  EXPECT_EQ(as_node("POST", std::string(kLeases), R"({"metadata":{"name":"n2"},"spec":{}})").status, 403);
  EXPECT_EQ(as_node("POST", std::string(kLeases), R"({"metadata":{"name":"n1"},"spec":{}})").status, 201);
  EXPECT_EQ(patched(std::string(kLeases) + "/n1", R"({"spec":{"holderIdentity":"n1"}})"), 200);
}

TEST_F(NodeRights, GetsTokensForItsOwnPodsOnly) {
  const std::string tokens = "/api/v1/namespaces/default/serviceaccounts/default/token";
  auto request = [](std::string_view pod, std::string_view uid) {
    return R"({"spec":{"audiences":["test"],"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":")" +
           std::string(pod) + R"(","uid":")" + std::string(uid) + R"("}}})";
  };
  auto uid = [&](std::string_view name) { return std::string(server_.get(pod(name)).at({"metadata", "uid"})); };
  EXPECT_EQ(as_node("POST", tokens, request("on-n1", uid("on-n1"))).status, 201);
  EXPECT_EQ(as_node("POST", tokens, request("on-n2", uid("on-n2"))).status, 403);
  EXPECT_EQ(as_node("POST", tokens, R"({"spec":{"audiences":["test"]}})").status, 403);
}

}  // namespace
}  // namespace gangway::apiserver
