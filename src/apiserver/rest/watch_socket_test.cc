#include "apiserver/rest/watch_socket.h"

#include <gtest/gtest.h>

#include "apiserver/test_server.h"

namespace gangway::apiserver {
namespace {

constexpr auto kConfigMaps = "/api/v1/namespaces/default/configmaps";

// A peer that takes everything at once, or nothing.
struct TestChannel final : sys::WebSocketChannel {
  void send(const sys::WebSocketMessage& message) override {
    EXPECT_FALSE(message.binary);
    messages.push_back(message.data);
    if (stalled) waiting += message.data.size();
  }
  std::size_t unsent() const override { return waiting; }
  void pause(bool) override {}
  void close(std::uint16_t with, std::string_view) override { code = with; }

  std::vector<std::string> messages;
  std::size_t waiting = 0;
  bool stalled = false;
  std::uint16_t code = 0;
};

class WatchSocketTest : public ::testing::Test {
 protected:
  sys::HttpResponse ask(std::string target, std::string protocol = "") {
    sys::HttpRequest request;
    request.method = "GET";
    request.target = std::move(target);
    request.headers.add("Connection", "Upgrade");
    request.headers.add("Upgrade", "WebSocket");
    if (!protocol.empty()) request.headers.add("Sec-WebSocket-Protocol", std::move(protocol));
    request.peer.common_name = "admin";
    request.peer.organizations = {"system:masters"};
    sys::HttpResponse answer;
    server_.server->handle(std::move(request), server_.loop,
                           [&](sys::HttpResponse&& response) { answer = std::move(response); });
    server_.loop.run_until_idle();
    return answer;
  }
  void make(const std::string& name, const std::string& data = "") {
    auto made = server_.post(kConfigMaps, R"({"metadata":{"name":")" + name + R"("},"data":{"x":")" + data + R"("}})");
    ASSERT_EQ(made.status, 201) << made.text;
  }

  TestServer server_;
};

TEST_F(WatchSocketTest, SendsEachEventAsAMessage) {
  make("a");
  auto answer = ask(std::string(kConfigMaps) + "?watch=1", "base64.binary.k8s.io, other");
  ASSERT_EQ(answer.status, 101);
  ASSERT_NE(answer.websocket, nullptr);
  EXPECT_EQ(answer.websocket_protocol, "base64.binary.k8s.io");
  TestChannel channel;
  answer.websocket->on_open(channel);
  make("b");
  ASSERT_EQ(channel.messages.size(), 2u);
  EXPECT_EQ(json::string_at(*json::parse(channel.messages[0]), {"object", "metadata", "name"}), "a");
  EXPECT_EQ(json::string_at(*json::parse(channel.messages[1]), {"type"}), "ADDED");
  EXPECT_EQ(json::string_at(*json::parse(channel.messages[1]), {"object", "metadata", "name"}), "b");
  answer.websocket->on_message({false, "nobody listens"});
  EXPECT_EQ(channel.code, 0);
  answer.websocket->on_close();
  make("c");
  EXPECT_EQ(channel.messages.size(), 2u);
}

TEST_F(WatchSocketTest, EndsWithTheWatch) {
  auto answer = ask(std::string(kConfigMaps) + "?watch=1&timeoutSeconds=5");
  TestChannel channel;
  answer.websocket->on_open(channel);
  server_.loop.advance(std::chrono::seconds(6));
  EXPECT_EQ(channel.code, 1000);
}

TEST_F(WatchSocketTest, WhatIsWrongWithTheRequestIsAnAnswerOverHttp) {
  auto answer = ask(std::string(kConfigMaps) + "?watch=1&resourceVersionMatch=Exact");
  EXPECT_EQ(answer.status, 422);
  EXPECT_EQ(answer.websocket, nullptr);
  EXPECT_EQ(ask(kConfigMaps).status, 200) << "only watches are streams";
}

// 20 events of 50 kB: a quarter of a megabyte waits at most, and the rest comes once that has gone.
TEST_F(WatchSocketTest, SendsNoFasterThanThePeerReads) {
  auto answer = ask(std::string(kConfigMaps) + "?watch=1");
  TestChannel channel;
  channel.stalled = true;
  answer.websocket->on_open(channel);
  for (int i = 0; i < 20; ++i) make("m" + std::to_string(i), std::string(50'000, 'x'));
  EXPECT_LT(channel.messages.size(), 10u);
  EXPECT_GE(channel.waiting, 256u * 1024);
  channel.stalled = false;
  channel.waiting = 0;
  answer.websocket->on_drained();
  EXPECT_EQ(channel.messages.size(), 20u);
  EXPECT_EQ(channel.code, 0);
}

TEST_F(WatchSocketTest, GivesUpAPeerThatReadsNothing) {
  auto answer = ask(std::string(kConfigMaps) + "?watch=1");
  TestChannel channel;
  channel.stalled = true;
  answer.websocket->on_open(channel);
  for (int i = 0; i < 10; ++i) make("m" + std::to_string(i), std::string(50'000, 'x'));
  server_.loop.advance(std::chrono::seconds(29));
  EXPECT_EQ(channel.code, 0);
  server_.loop.advance(std::chrono::seconds(2));
  EXPECT_EQ(channel.code, 1013);
}

}  // namespace
}  // namespace gangway::apiserver
