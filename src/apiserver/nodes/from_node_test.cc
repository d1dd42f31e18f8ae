// Log, exec, attach, port-forward and nodes/proxy: what is asked of the agents, and what becomes of their answers.
#include <gtest/gtest.h>

#include "apiserver/nodes/node_address.h"
#include "apiserver/nodes/test_dialer.h"
#include "apiserver/test_server.h"
#include "testing/recorded_channels.h"

namespace gangway::apiserver {
namespace {

const std::string kPod = "/api/v1/namespaces/default/pods/web";
using Headers = std::vector<std::pair<std::string, std::string>>;
const Headers kSpdy{{"Connection", "Upgrade"},
                    {"Upgrade", "SPDY/3.1"},
                    {"X-Stream-Protocol-Version", "v4.channel.k8s.io"},
                    {"X-Stream-Protocol-Version", "v3.channel.k8s.io"},
                    {"Authorization", "Bearer secret"}};

struct FromNodeTest : ::testing::Test {
  // The server's own loop is not there yet when the dialer is made; nothing of the dialer's is posted before it is.
  testing::ManualLoop dialer_loop;
  TestDialer dialer{dialer_loop};
  TestServer server{&dialer};

  FromNodeTest() {
    server.post("/api/v1/namespaces/default/serviceaccounts", R"({"metadata":{"name":"default"}})");
    server.post("/api/v1/nodes", R"({"metadata":{"name":"n0"}})");
    server.request("PATCH", "/api/v1/nodes/n0/status",
                   {.body = R"({"status":{"addresses":[{"type":"Hostname","address":"n0"},
        {"type":"InternalIP","address":"10.1.2.3"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}}}})",
                    .content_type = "application/merge-patch+json"});
    auto made =
        server.post("/api/v1/namespaces/default/pods",
                    R"({"metadata":{"name":"web"},"spec":{"nodeName":"n0","containers":[{"name":"main","image":"i"},
        {"name":"side","image":"i"}]}})");
    EXPECT_EQ(made.status, 201) << made.text;
  }
  // Connections that are still open end while the server's loop is there.
  ~FromNodeTest() override {
    dialer.exchanges.clear();
    server.loop.run_until_idle();
  }

  // A request that the agent has not answered yet.
  struct Pending {
    std::optional<sys::HttpResponse> response;
  };
  std::shared_ptr<Pending> ask(std::string method, std::string target, const Headers& headers = {}) {
    sys::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.peer.common_name = "admin";
    request.peer.organizations = {"system:masters"};
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    auto pending = std::make_shared<Pending>();
    server.server->handle(std::move(request), server.loop,
                          [pending](sys::HttpResponse&& response) { pending->response = std::move(response); });
    server.loop.run_until_idle();
    return pending;
  }
  TestExchange& exchange() { return *dialer.exchanges.at(0); }
  static std::string text(const sys::HttpResponse& response) {
    std::string out;
    for (const auto& piece : response.body) out += *piece;
    return out;
  }
  static std::string read(sys::BodyStream& stream, sys::BodyStream::State want) {
    std::vector<sys::Buffer> pieces;
    EXPECT_EQ(stream.read(pieces, 65536), want);
    std::string out;
    for (const auto& piece : pieces) out += *piece;
    return out;
  }
  static client::HttpClientResponse head(int status, std::string body = "") {
    client::HttpClientResponse response;
    response.status = status;
    response.headers.add("Content-Type", "text/plain");
    response.headers.add("Content-Length", "999");
    response.body = std::move(body);
    return response;
  }
  using State = sys::BodyStream::State;
};

TEST_F(FromNodeTest, ALogComesFromTheNodesAgent) {
  const auto pending = ask("GET", kPod + "/log?container=side&follow=true&tailLines=5&timestamps=false&pretty=true");
  ASSERT_EQ(dialer.exchanges.size(), 1U);
  EXPECT_EQ(exchange().to.node, "n0");
  EXPECT_EQ(exchange().to.host, "10.1.2.3");
  EXPECT_EQ(exchange().to.port, 10250);
  EXPECT_EQ(exchange().request.target, "/containerLogs/default/web/side?follow=true&tailLines=5");
  EXPECT_FALSE(pending->response);
  exchange().callbacks.on_head(head(200));
  ASSERT_TRUE(pending->response);
  EXPECT_EQ(pending->response->status, 200);
  EXPECT_EQ(pending->response->headers.get("Content-Type"), "text/plain");
  EXPECT_EQ(pending->response->headers.get("Content-Length"), "");
  auto& stream = *pending->response->stream;
  EXPECT_TRUE(stream.may_stall());
  int woken = 0;
  stream.set_waker([&] { ++woken; });
  EXPECT_EQ(read(stream, State::kWait), "");
  exchange().callbacks.on_data("one\n");
  exchange().callbacks.on_data("two\n");
  EXPECT_EQ(woken, 2);
  EXPECT_EQ(read(stream, State::kWait), "one\ntwo\n");
  exchange().callbacks.on_end({});
  EXPECT_EQ(woken, 3);
  EXPECT_EQ(read(stream, State::kEnd), "");
}

TEST_F(FromNodeTest, ASlowReaderOfALogStopsTheAgent) {
  const auto pending = ask("GET", kPod + "/log?container=main");
  exchange().callbacks.on_head(head(200));
  exchange().callbacks.on_data(std::string(1024 * 1024, 'x'));
  EXPECT_TRUE(exchange().paused);
  read(*pending->response->stream, State::kWait);
  EXPECT_FALSE(exchange().paused);
}

TEST_F(FromNodeTest, AReaderThatLeavesEndsTheAgentsAnswer) {
  const auto pending = ask("GET", kPod + "/log?container=main");
  exchange().callbacks.on_head(head(200));
  server.loop.run_until_idle();
  EXPECT_FALSE(exchange().dropped);
  pending->response.reset();
  server.loop.run_until_idle();
  EXPECT_TRUE(exchange().dropped);
}

TEST_F(FromNodeTest, WhatTheAgentRefusesIsToldAsAStatus) {
  struct Case {
    int status;
    std::string body;
    int want;
    std::string reason;
    std::string message;
  };
  const Case cases[] = {
      {400, "container \"main\" in pod \"web\" is waiting to start: ContainerCreating", 400, "BadRequest",
       "container \"main\" in pod \"web\" is waiting to start: ContainerCreating"},
      {404, "pod \"web\" does not exist", 404, "NotFound", "pod \"web\" does not exist"},
      {500, "disk full", 500, "InternalError", "Internal error occurred: disk full"},
      {403, "who are you", 500, "", "the agent answered 403: who are you"},
  };
  for (const auto& c : cases) {
    dialer.exchanges.clear();
    const auto pending = ask("GET", kPod + "/log?container=main");
    exchange().callbacks.on_head(head(c.status));
    exchange().callbacks.on_data(c.body);
    EXPECT_FALSE(pending->response);
    exchange().callbacks.on_end({});
    ASSERT_TRUE(pending->response);
    EXPECT_EQ(pending->response->status, c.want);
    const auto status = json::parse(text(*pending->response)).value();
    EXPECT_EQ(json::string_at(status, {"reason"}), c.reason);
    EXPECT_EQ(json::string_at(status, {"message"}), c.message);
  }
}

TEST_F(FromNodeTest, AnAgentThatCannotBeReachedIsReported) {
  Error down;
  down.reason = Reason::kServiceUnavailable;
  down.message = "cannot reach https://10.1.2.3:10250: Connection refused";
  const std::string want = "error dialing backend: cannot reach https://10.1.2.3:10250: Connection refused";
  auto pending = ask("GET", kPod + "/log?container=main");
  exchange().callbacks.on_end(down);
  ASSERT_TRUE(pending->response);
  EXPECT_EQ(json::string_at(json::parse(text(*pending->response)).value(), {"message"}), want);
  dialer.exchanges.clear();
  pending = ask("POST", kPod + "/exec?container=main&command=ls&stdout=true", kSpdy);
  exchange().upgraded(down);
  ASSERT_TRUE(pending->response);
  EXPECT_EQ(json::string_at(json::parse(text(*pending->response)).value(), {"message"}), want);
  dialer.refuses = true;
  EXPECT_EQ(server.get(kPod + "/log?container=main").message(), "error dialing backend: the network is down");
}

TEST_F(FromNodeTest, AnUpgradeIsPassedOnInTheAgentsWords) {
  ask("POST", kPod + "/exec?container=main&stdin=true&stdout=1&stderr=false&tty=true&command=sh&command=-c&command=a+b",
      kSpdy);
  EXPECT_EQ(exchange().request.method, "POST");
  EXPECT_EQ(exchange().request.target,
            "/exec/default/web/main?input=1&output=1&tty=1&command=sh&command=-c&command=a%20b");
  const auto& headers = exchange().request.headers;
  EXPECT_EQ(headers.get("Upgrade"), "SPDY/3.1");
  EXPECT_EQ(headers.all("X-Stream-Protocol-Version").size(), 2U);
  EXPECT_EQ(headers.get("Authorization"), "") << "the user's secrets are none of the node's business";
  dialer.exchanges.clear();
  ask("GET", kPod + "/portforward?ports=80&ports=81", kSpdy);
  EXPECT_EQ(exchange().request.target, "/portForward/default/web?port=80%2C81");
  dialer.exchanges.clear();
  ask("GET", kPod + "/attach?container=side&stdout=true", kSpdy);
  EXPECT_EQ(exchange().request.target, "/attach/default/web/side?output=1");
}

TEST_F(FromNodeTest, MistakesAreFoundBeforeTheAgentIsAsked) {
  EXPECT_EQ(server.get(kPod + "/log").message(),
            "a container name must be specified for pod web, choose one of: [main side]");
  EXPECT_EQ(server.get(kPod + "/exec?container=main&command=ls").message(), "Upgrade request required");
  server.remove("/api/v1/nodes/n0");
  EXPECT_EQ(server.get(kPod + "/log?container=main").message(), "nodes \"n0\" not found");
  server.post("/api/v1/nodes", R"({"metadata":{"name":"n0"}})");
  auto silent = server.get(kPod + "/log?container=main");
  EXPECT_EQ(silent.status, 503);
  EXPECT_EQ(silent.message(), "node \"n0\" runs no agent");
  EXPECT_TRUE(dialer.exchanges.empty());
}

struct SpliceTest : FromNodeTest {
  // An exec whose both connections are open.
  void connect() {
    const auto pending = ask("POST", kPod + "/exec?container=main&command=sh&stdin=true", kSpdy);
    client::HttpClientResponse switching;
    switching.status = 101;
    switching.headers.add("Upgrade", "SPDY/3.1");
    switching.headers.add("Connection", "Upgrade");
    switching.headers.add("X-Stream-Protocol-Version", "v4.channel.k8s.io");
    exchange().upgraded(switching);
    ASSERT_TRUE(pending->response);
    EXPECT_EQ(pending->response->status, 101);
    EXPECT_EQ(pending->response->headers.get("Connection"), "Upgrade");
    EXPECT_EQ(pending->response->headers.get("X-Stream-Protocol-Version"), "v4.channel.k8s.io");
    client_session = std::move(pending->response->upgrade);
    agent_session = std::move(exchange().session);
    agent_session->on_open(agent);
  }
  void open_client() { client_session->on_open(client); }
  testing::RecordedBytes client;
  testing::RecordedBytes agent;
  std::unique_ptr<sys::ByteSession> client_session;
  std::unique_ptr<sys::ByteSession> agent_session;
};

TEST_F(SpliceTest, PassesBytesBothWays) {
  connect();
  EXPECT_TRUE(agent.paused) << "until the client's connection is ready";
  agent_session->on_bytes("early");
  open_client();
  EXPECT_FALSE(agent.paused);
  agent_session->on_bytes(" late");
  client_session->on_bytes("input");
  EXPECT_EQ(client.sent, "early late");
  EXPECT_EQ(agent.sent, "input");
}

TEST_F(SpliceTest, EachSideMakesTheOtherWait) {
  connect();
  open_client();
  client.backlog = 1024 * 1024;
  agent_session->on_bytes("much");
  EXPECT_TRUE(agent.paused);
  client_session->on_drained();
  EXPECT_FALSE(agent.paused);
  agent.backlog = 1024 * 1024;
  client_session->on_bytes("much");
  EXPECT_TRUE(client.paused);
  agent_session->on_drained();
  EXPECT_FALSE(client.paused);
}

TEST_F(SpliceTest, OneEndIsTheOthersEnd) {
  connect();
  open_client();
  agent_session->on_close();
  EXPECT_TRUE(client.closed);
  client_session->on_close();
  agent_session.reset();
  EXPECT_FALSE(exchange().dropped);
  client_session.reset();
  server.loop.run_until_idle();
  EXPECT_TRUE(exchange().dropped) << "the transport goes with the last of the two";
}

TEST_F(SpliceTest, AClientThatLeavesEndsTheAgentsSide) {
  connect();
  open_client();
  client_session->on_close();
  client_session.reset();
  EXPECT_TRUE(agent.closed);
}

TEST_F(SpliceTest, AClientThatLeftBeforeItWasAnsweredDoesTheSame) {
  connect();
  client_session.reset();
  EXPECT_TRUE(agent.closed);
}

TEST_F(FromNodeTest, NodesProxyHandsOnWhateverItIs) {
  const auto pending = ask("GET", "/api/v1/nodes/n0/proxy/stats/a%20b?only=1");
  EXPECT_EQ(exchange().request.target, "/stats/a%20b?only=1");
  exchange().callbacks.on_head(head(418));
  ASSERT_TRUE(pending->response);
  EXPECT_EQ(pending->response->status, 418);
  dialer.exchanges.clear();
  const auto bare = ask("GET", "/api/v1/nodes/n0/proxy");
  EXPECT_EQ(exchange().request.target, "/");
  exchange().callbacks.on_end({});
  ASSERT_TRUE(bare->response);
  EXPECT_EQ(bare->response->status, 500);
  EXPECT_EQ(server.get("/api/v1/nodes/n9/proxy/pods").status, 404);
}

TEST(AgentAddress, IsReadOffTheNode) {
  const auto address = [](std::string_view status) {
    auto node =
        json::parse(R"({"metadata":{"name":"n0","annotations":{"gangway.dev/agent-authority":"PEM"}},"status":)" +
                    std::string(status) + "}")
            .value();
    auto found = agent_address(node);
    return found ? found->host + ":" + std::to_string(found->port) + " " + found->authority_pem : found.error().message;
  };
  const std::string port = R"("daemonEndpoints":{"kubeletEndpoint":{"Port":10250}})";
  EXPECT_EQ(address("{" + port + R"(,"addresses":[{"type":"ExternalIP","address":"1.2.3.4"},
      {"type":"InternalIP","address":"fd00::1"}]})"),
            "fd00::1:10250 PEM");
  EXPECT_EQ(address("{" + port + R"(,"addresses":[{"type":"Hostname","address":"192.168.0.1"}]})"),
            "192.168.0.1:10250 PEM");
  EXPECT_EQ(address("{" + port + R"(,"addresses":[{"type":"Hostname","address":"n0"}]})"),
            "node \"n0\" has no numeric address of type InternalIP or ExternalIP");
  EXPECT_EQ(address("{}"), "node \"n0\" runs no agent");
}

}  // namespace
}  // namespace gangway::apiserver
