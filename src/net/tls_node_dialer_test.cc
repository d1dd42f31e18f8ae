#include "net/tls_node_dialer.h"

#include <gtest/gtest.h>

#include <future>

#include "net/test_client.h"

namespace gangway::net {
namespace {

using client::HttpClientResponse;

// What the agent at `to` answers, or why nobody does.
Result<HttpClientResponse> ask(TlsNodeDialer& dialer, const client::NodeAddress& to) {
  LoopThread thread("asks");
  std::unique_ptr<client::Transport> transport;
  std::promise<Result<HttpClientResponse>> answer;
  thread.loop().post([&] {
    auto dialed = dialer.dial(to, thread.loop());
    if (!dialed) return answer.set_value(dialed.error());
    transport = std::move(*dialed);
    client::HttpClientRequest request;
    request.target = "/";
    transport->send(std::move(request), [&](Result<HttpClientResponse> got) { answer.set_value(std::move(got)); });
  });
  auto got = answer.get_future().get();
  std::promise<void> ended;
  thread.loop().post([&] {
    transport.reset();
    ended.set_value();
  });
  ended.get_future().wait();
  return got;
}

TEST(TlsNodeDialer, WhatANodeSaysOfItselfIsNotAskedWhereTheAgentIsOwn) {
  const TestKeys keys = TestKeys::make();
  HttpServerOptions options;
  options.tls = sys::TlsServerConfig{keys.server, keys.authority.certificate_pem};
  TestServer agent(
      [](const sys::HttpRequest&, sys::EventLoop&, const sys::Respond& respond) { respond(text_response("agent")); },
      options);
  const std::string other = TestKeys::make().authority.certificate_pem;
  const std::string own = keys.authority.certificate_pem;

  // The test server's certificate is for localhost: that is the node's name. 127.0.0.9 is this machine's, and nobody
  // listens there.
  TlsNodeDialer with_own(own, keys.client, {{"localhost", "127.0.0.1"}});
  TlsNodeDialer without(own, keys.client);
  TlsNodeDialer of_another(own, keys.client, {{"gpu-1", "127.0.0.1"}});
  struct Case {
    const char* name;
    TlsNodeDialer& dialer;
    client::NodeAddress to;
    bool reached;
  };
  for (const auto& test : {
           Case{"where its object says", without, {"localhost", "127.0.0.1", agent.port(), ""}, true},
           Case{"nowhere else", without, {"localhost", "127.0.0.9", agent.port(), ""}, false},
           Case{"an authority of its own", without, {"localhost", "127.0.0.1", agent.port(), other}, false},
           Case{"an own one is where it listens", with_own, {"localhost", "127.0.0.9", agent.port(), ""}, true},
           Case{"and known by ours", with_own, {"localhost", "127.0.0.9", agent.port(), other}, true},
           Case{"the others are not", of_another, {"localhost", "127.0.0.9", agent.port(), ""}, false},
           Case{"nor is another taken for it", of_another, {"gpu-1", "127.0.0.1", agent.port(), ""}, false},
       }) {
    SCOPED_TRACE(test.name);
    const auto answer = ask(test.dialer, test.to);
    EXPECT_EQ(answer.has_value(), test.reached) << (answer ? "" : answer.error().message);
  }
}

}  // namespace
}  // namespace gangway::net
