#include "agent/endpoints/node_endpoints.h"

#include <gtest/gtest.h>

#include "agent/endpoints/test_runtime.h"
#include "agent/logs/test_log.h"
#include "testing/manual_loop.h"

namespace gangway::agent {
namespace {

class OpenAccess final : public Access {
 public:
  void check(const sys::HttpRequest&, std::string_view, std::function<void(Result<void>)> done) override {
    if (open) return done({});
    done(Error{.reason = Reason::kForbidden, .message = "not you", .subject = {}, .causes = {}});
  }
  bool open = true;
};

struct NodeEndpointsTest : ::testing::Test {
  NodeEndpointsTest() { directory.all.push_back(TestDirectory::running_pod()); }

  sys::HttpResponse ask(std::string method, std::string target,
                        const std::vector<std::pair<std::string, std::string>>& headers = {}) {
    sys::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    sys::HttpResponse answer;
    answer.status = 0;
    endpoints.handle(std::move(request), loop, [&](sys::HttpResponse&& response) { answer = std::move(response); });
    loop.run_until_idle();
    return answer;
  }
  // The whole body of an answer that ends.
  static std::string text(const sys::HttpResponse& response) {
    std::vector<sys::Buffer> pieces = response.body;
    while (response.stream && response.stream->read(pieces, 65536) == sys::BodyStream::State::kMore) {
    }
    std::string out;
    for (const auto& piece : pieces) out += *piece;
    return out;
  }
  // "status: text" of an answer.
  std::string told(std::string method, std::string target,
                   const std::vector<std::pair<std::string, std::string>>& headers = {}) {
    const auto answer = ask(std::move(method), std::move(target), headers);
    return std::to_string(answer.status) + ": " + text(answer);
  }

  testing::ManualLoop loop;
  TestRuntime runtime{loop};
  TestDirectory directory;
  OpenAccess access;
  sys::Metrics metrics;
  UsageSamples usage{loop, runtime, directory, "n0"};
  NodeEndpoints endpoints{{"n0", loop, runtime, directory, access, usage, &metrics}};
};

using Headers = std::vector<std::pair<std::string, std::string>>;
const Headers kWebSocket{
    {"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Protocol", "v5.channel.k8s.io"}};
const Headers kSpdyExec{{"Connection", "Upgrade"},
                        {"Upgrade", "SPDY/3.1"},
                        {"X-Stream-Protocol-Version", "v5.channel.k8s.io"},
                        {"X-Stream-Protocol-Version", "v4.channel.k8s.io"}};

TEST_F(NodeEndpointsTest, ServesLogs) {
  TestLog log;
  log.line("one");
  log.line("two");
  runtime.logs[{"u1", "main", 0}] = log.path();
  EXPECT_EQ(told("GET", "/containerLogs/default/web/main"), "200: one\ntwo\n");
  EXPECT_EQ(told("GET", "/containerLogs/default/web/main?tailLines=1"), "200: two\n");
  EXPECT_EQ(told("GET", "/containerLogs/default/other/main"), "404: pod \"other\" does not exist");
  EXPECT_EQ(told("GET", "/containerLogs/default/web/side"), "400: container \"side\" in pod \"web\" is not available");
  EXPECT_EQ(told("GET", "/containerLogs/default/web/main?previous=true"),
            "400: previous terminated container \"main\" in pod \"web\" not found");
  EXPECT_EQ(told("GET", "/containerLogs/default/web/main?tailLines=-5"), "400: tailLines: must be at least 0 (got -5)");
  EXPECT_EQ(told("GET", "/containerLogs/default/web"), "404: 404 page not found\n");
}

TEST_F(NodeEndpointsTest, ServesLogsOfPodsThatAreGone) {
  TestLog log;
  log.line("before");
  runtime.logs[{"u0", "main", 0}] = log.path();
  EXPECT_EQ(told("GET", "/containerLogs/default/web/u0/main"), "200: before\n");
  EXPECT_EQ(told("GET", "/containerLogs/default/web/u0/main?follow=true"), "200: before\n") << "nothing more will come";
  EXPECT_EQ(told("GET", "/containerLogs/default/web/u7/main"), "404: no log of pod \"web\" with uid u7 is kept here");
  EXPECT_EQ(told("GET", "/containerLogs/default/web/..%2Fu0/main"), "404: 404 page not found\n");
  EXPECT_EQ(told("GET", "/containerLogs/default/web/u0/.."), "404: no log of pod \"web\" with uid u0 is kept here");
  // Of one that is there, the uid only says so.
  runtime.logs[{"u1", "main", 0}] = log.path();
  EXPECT_EQ(told("GET", "/containerLogs/default/web/u1/main"), "200: before\n");
}

TEST_F(NodeEndpointsTest, AFollowedLogEndsWithItsContainer) {
  TestLog log;
  log.line("one");
  runtime.logs[{"u1", "main", 0}] = log.path();
  const auto answer = ask("GET", "/containerLogs/default/web/main?follow=true");
  EXPECT_EQ(text(answer), "one\n");
  std::vector<sys::Buffer> more;
  EXPECT_EQ(answer.stream->read(more, 65536), sys::BodyStream::State::kWait);
  directory.all[0].containers[0].running = false;
  log.line("two");
  EXPECT_EQ(text(answer), "two\n");
  EXPECT_EQ(answer.stream->read(more, 65536), sys::BodyStream::State::kEnd);
}

TEST_F(NodeEndpointsTest, UpgradesToWhatTheClientSpeaks) {
  const std::string exec = "/exec/default/web/main?output=1&command=ls";
  const auto websocket = ask("GET", exec, kWebSocket);
  EXPECT_EQ(websocket.status, 101);
  EXPECT_EQ(websocket.websocket_protocol, "v5.channel.k8s.io");
  const auto spdy = ask("POST", exec, kSpdyExec);
  EXPECT_EQ(spdy.status, 101);
  EXPECT_EQ(spdy.headers.get("Upgrade"), "SPDY/3.1");
  EXPECT_EQ(spdy.headers.get("X-Stream-Protocol-Version"), "v4.channel.k8s.io");
  EXPECT_NE(spdy.upgrade, nullptr);
  EXPECT_EQ(ask("POST", "/attach/default/web/main?output=1", kSpdyExec).status, 101);
  EXPECT_EQ(ask("POST", "/exec/default/web/u1/main?output=1&command=ls", kSpdyExec).status, 101);
  const Headers tunnel{
      {"Connection", "Upgrade"}, {"Upgrade", "websocket"}, {"Sec-WebSocket-Protocol", "SPDY/3.1+portforward.k8s.io"}};
  EXPECT_EQ(ask("GET", "/portForward/default/web", tunnel).websocket_protocol, "SPDY/3.1+portforward.k8s.io");
  EXPECT_EQ(ask("GET", "/portForward/default/web?port=80", kWebSocket).websocket_protocol, "v5.channel.k8s.io");
  const Headers spdy_forward{
      {"Connection", "Upgrade"}, {"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", "portforward.k8s.io"}};
  EXPECT_EQ(ask("POST", "/portForward/default/web", spdy_forward).headers.get("X-Stream-Protocol-Version"),
            "portforward.k8s.io");
}

TEST_F(NodeEndpointsTest, SaysWhyItDoesNot) {
  const std::string exec = "/exec/default/web/main?output=1&command=ls";
  EXPECT_EQ(ask("GET", exec).status, 400);
  EXPECT_EQ(told("POST", "/exec/default/web/main?command=ls", kSpdyExec),
            "400: you must specify at least 1 of stdin, stdout, stderr");
  EXPECT_EQ(told("POST", "/exec/default/gone/main?output=1&command=ls", kSpdyExec), "404: pod does not exist");
  EXPECT_EQ(told("POST", "/exec/default/web/u2/main?output=1&command=ls", kSpdyExec), "404: pod does not exist");
  EXPECT_EQ(told("POST", "/exec/default/web/side?output=1&command=ls", kSpdyExec),
            "500: container not found (\"side\")");
  EXPECT_EQ(ask("POST", exec, {{"Connection", "Upgrade"}, {"Upgrade", "SPDY/3.1"}, {"X-Stream-Protocol-Version", "v9"}})
                .status,
            403);
  EXPECT_EQ(told("GET", "/portForward/default/web", kWebSocket), "400: query parameter \"port\" is required");
}

TEST_F(NodeEndpointsTest, ListsPodsAndSaysHowItIs) {
  directory.all[0].object.json = sys::make_buffer(R"({"metadata":{"name":"web"}})");
  EXPECT_EQ(
      told("GET", "/pods"),
      "200: "
      "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":[{\"metadata\":{\"name\":\"web\"}}]}\n");
  EXPECT_EQ(ask("GET", "/runningpods/").status, 200);
  EXPECT_EQ(told("GET", "/healthz"), "200: ok");
  EXPECT_EQ(ask("GET", "/stats/summary").status, 200);
  EXPECT_EQ(ask("GET", "/metrics/resource").status, 200);
  EXPECT_EQ(ask("GET", "/metrics").status, 200);
  EXPECT_EQ(ask("GET", "/").status, 404);
  EXPECT_EQ(ask("DELETE", "/pods").status, 405);
  EXPECT_EQ(ask("GET", "/%zz").status, 400);
}

TEST_F(NodeEndpointsTest, AsksWhoMay) {
  access.open = false;
  EXPECT_EQ(told("GET", "/pods"), "403: not you");
}

}  // namespace
}  // namespace gangway::agent
