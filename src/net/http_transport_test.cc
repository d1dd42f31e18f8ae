#include "net/http_transport.h"

#include <gtest/gtest.h>

#include <future>
#include <optional>

#include "net/test_client.h"

namespace gangway::net {
namespace {

using client::HttpClientRequest;
using client::HttpClientResponse;
using std::chrono::milliseconds;

// A transport on a loop of its own, used from the test's thread.
class Caller {
 public:
  explicit Caller(HttpTransportOptions options) {
    in_loop([&] { transport_ = HttpTransport::create(std::move(options), thread_.loop()).value(); });
  }
  ~Caller() {
    in_loop([&] { transport_.reset(); });
  }
  void in_loop(const sys::Task& task) {
    std::promise<void> ran;
    thread_.loop().post([&] {
      task();
      ran.set_value();
    });
    ran.get_future().wait();
  }
  Result<HttpClientResponse> call(HttpClientRequest request) {
    std::promise<Result<HttpClientResponse>> answer;
    in_loop([&] {
      transport_->send(std::move(request), [&](Result<HttpClientResponse> got) { answer.set_value(std::move(got)); });
    });
    return answer.get_future().get();
  }
  Result<HttpClientResponse> get(std::string target) {
    HttpClientRequest request;
    request.target = std::move(target);
    return call(std::move(request));
  }
  HttpTransport& transport() { return *transport_; }

 private:
  LoopThread thread_{"caller"};
  std::unique_ptr<HttpTransport> transport_;
};

HttpTransportOptions options_for(std::uint16_t port, const char* scheme = "http") {
  HttpTransportOptions options;
  options.server = std::string(scheme) + "://127.0.0.1:" + std::to_string(port);
  return options;
}

void describe(const sys::HttpRequest& request, sys::EventLoop&, const sys::Respond& respond) {
  auto response =
      text_response(request.method + " " + request.target + " " + std::string(request.headers.get("Authorization")) +
                        " [" + request.body + "] " + request.peer.common_name,
                    request.target == "/missing" ? 404 : 200);
  response.headers.add("X-Peer", request.peer.address);
  respond(std::move(response));
}

TEST(HttpTransport, CallsAndKeepsItsConnection) {
  TestServer server(describe);
  Caller caller(options_for(server.port()));
  const auto first = caller.get("/a");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->status, 200);
  EXPECT_EQ(first->body, "GET /a  [] ");
  HttpClientRequest post;
  post.method = "POST";
  post.target = "/b";
  post.body = std::string(100000, 'x');
  const auto second = caller.call(post);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->body, "POST /b  [" + post.body + "] ");
  EXPECT_EQ(second->headers.get("x-peer"), first->headers.get("x-peer")) << "a second connection was made";
  EXPECT_EQ(caller.get("/missing")->status, 404);
  EXPECT_EQ(server.server().connections(), 1U);
}

TEST(HttpTransport, ManyCallsShareABoundedNumberOfConnections) {
  TestServer server([](const sys::HttpRequest& request, sys::EventLoop& here, const sys::Respond& respond) {
    here.post([respond, target = request.target] { respond(text_response(target)); });
  });
  auto options = options_for(server.port());
  options.max_connections = 4;
  Caller caller(options);
  std::atomic<int> right = 0;
  caller.in_loop([&] {
    for (int i = 0; i < 200; ++i) {
      HttpClientRequest request;
      request.target = "/" + std::to_string(i);
      caller.transport().send(request, [&right, want = request.target](const Result<HttpClientResponse>& got) {
        if (got && got->body == want) ++right;
      });
    }
  });
  EXPECT_TRUE(wait_until([&] { return right == 200; }));
  EXPECT_LE(server.server().connections(), 4U);
}

TEST(HttpTransport, ProvesWhoItIs) {
  const TestKeys keys = TestKeys::make();
  HttpServerOptions server_options;
  server_options.tls = sys::TlsServerConfig{keys.server, keys.authority.certificate_pem};
  TestServer server(describe, server_options);
  auto options = options_for(server.port(), "https");
  options.tls.ca_pem = keys.authority.certificate_pem;
  options.bearer_token = [] { return std::string("secret"); };
  EXPECT_EQ(Caller(options).get("/")->body, "GET / Bearer secret [] ");
  options.bearer_token = nullptr;
  options.tls.identity = keys.client;
  EXPECT_EQ(Caller(options).get("/")->body, "GET /  [] alice");
  options.server = "https://localhost:" + std::to_string(server.port());
  EXPECT_EQ(Caller(options).get("/")->body, "GET /  [] alice");
}

TEST(HttpTransport, RefusesServersItDoesNotTrust) {
  const TestKeys keys = TestKeys::make();
  HttpServerOptions server_options;
  server_options.tls = sys::TlsServerConfig{keys.server, ""};
  TestServer server(describe, server_options);
  auto options = options_for(server.port(), "https");
  options.tls.ca_pem = TestKeys::make().authority.certificate_pem;
  auto answer = Caller(options).get("/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::kServiceUnavailable);
  EXPECT_NE(answer.error().message.find("certificate"), std::string::npos) << answer.error().message;

  options.tls.ca_pem = keys.authority.certificate_pem;
  options.tls.server_name = "elsewhere";
  EXPECT_FALSE(Caller(options).get("/"));
  options.tls.skip_verify = true;
  EXPECT_TRUE(Caller(options).get("/"));
}

TEST(HttpTransport, SaysThatNobodyIsThere) {
  std::uint16_t port = 0;
  {
    port = TestServer(describe).port();
  }
  const auto answer = Caller(options_for(port)).get("/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::kServiceUnavailable);
  EXPECT_EQ(answer.error().message, "cannot reach http://127.0.0.1:" + std::to_string(port) + ": Connection refused");
}

TEST(HttpTransport, GivesUpInTime) {
  std::vector<sys::Respond> kept;
  TestServer server(
      [&](const sys::HttpRequest&, sys::EventLoop&, const sys::Respond& respond) { kept.push_back(respond); });
  Caller caller(options_for(server.port()));
  HttpClientRequest request;
  request.target = "/";
  request.timeout = milliseconds(20);
  const auto answer = caller.call(request);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::kTimeout);
}

TEST(HttpTransport, SendsSafeRequestsAgainWhenAKeptConnectionWasDead) {
  std::uint16_t port = 0;
  std::optional<Caller> caller;
  {
    TestServer server(describe);
    port = server.port();
    caller.emplace(options_for(port));
    ASSERT_TRUE(caller->get("/"));
  }
  HttpServerOptions same;
  same.port = port;
  TestServer restarted(describe, same);
  EXPECT_TRUE(caller->get("/"));
  caller.reset();
}

TEST(HttpTransport, RefusesRequestsThatWouldSmuggle) {
  TestServer server(describe);
  Caller caller(options_for(server.port()));
  for (const std::string target : {"", "relative", "/a b", "/a\r\nX: y"}) EXPECT_FALSE(caller.get(target)) << target;
  HttpClientRequest request;
  request.target = "/";
  request.headers.add("A", "b\r\nC: d");
  EXPECT_FALSE(caller.call(request));
}

// Sends what the test pushes, for as long as there is a listener.
class PushedStream final : public sys::BodyStream {
 public:
  struct Shared {
    sys::EventLoop* loop = nullptr;
    std::function<void()> waker;
    std::vector<std::string> ready;
    bool ended = false;
    std::atomic<bool> gone = false;
    void push(std::string text, bool last = false) {
      loop->post([this, text = std::move(text), last] {
        ready.push_back(text);
        ended = last;
        if (!gone) waker();
      });
    }
  };
  explicit PushedStream(Shared& shared) : shared_(shared) {}
  ~PushedStream() override { shared_.gone = true; }
  State read(std::vector<sys::Buffer>& out, std::size_t) override {
    for (auto& text : shared_.ready) out.push_back(sys::make_buffer(text));
    shared_.ready.clear();
    return shared_.ended ? State::kEnd : State::kWait;
  }
  void set_waker(sys::Task waker) override { shared_.waker = std::move(waker); }

 private:
  Shared& shared_;
};

TEST(HttpTransport, StreamsUntilTheEndOrUntilItIsCancelled) {
  for (const bool cancel : {false, true}) {
    SCOPED_TRACE(cancel ? "cancelled" : "ended");
    PushedStream::Shared shared;
    TestServer server([&](const sys::HttpRequest&, sys::EventLoop& here, const sys::Respond& respond) {
      shared.loop = &here;
      sys::HttpResponse response;
      response.stream = std::make_unique<PushedStream>(shared);
      respond(std::move(response));
    });
    Caller caller(options_for(server.port()));
    std::unique_ptr<sys::Subscription> stream;
    std::atomic<int> status = 0;
    std::atomic<int> ends = 0;
    std::string got;
    caller.in_loop([&] {
      HttpClientRequest request;
      request.target = "/watch";
      request.timeout = std::chrono::seconds(20);
      stream = caller.transport().stream(request, {[&](const HttpClientResponse& head) { status = head.status; },
                                                   [&](std::string_view bytes) {
                                                     got.append(bytes);
                                                     if (cancel) stream.reset();
                                                   },
                                                   [&](const Result<void>& end) { ends += end ? 1 : 100; }});
    });
    ASSERT_TRUE(wait_until([&] { return status == 200; }));
    shared.push("one,");
    if (cancel) {
      EXPECT_TRUE(wait_until([&] { return shared.gone.load(); }));
      caller.in_loop([] {});
      EXPECT_EQ(ends, 0);
      EXPECT_EQ(got, "one,");
    } else {
      shared.push("two", true);
      EXPECT_TRUE(wait_until([&] { return ends == 1; }));
      caller.in_loop([&] {
        EXPECT_EQ(got, "one,two");
        stream.reset();
      });
    }
  }
}

TEST(HttpTransport, AnAnswerThatIsCutShortIsAnError) {
  // A server that promises more than it sends.
  FileDescriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
  std::thread cheat([&] {
    const FileDescriptor peer(::accept(listener.get(), nullptr, nullptr));
    constexpr std::string_view kShort = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf";
    static_cast<void>(::send(peer.get(), kShort.data(), kShort.size(), MSG_NOSIGNAL));
    char block[4096];
    static_cast<void>(::recv(peer.get(), block, sizeof block, 0));
  });
  const auto answer = Caller(options_for(ntohs(address.sin_port))).get("/");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().reason, Reason::kServiceUnavailable);
  cheat.join();
}

TEST(HttpTransport, ReadsServerAddresses) {
  struct Case {
    const char* url;
    const char* host;  // nullptr: refused
    int port;
    bool tls;
  };
  for (const auto& [url, host, port, tls] :
       {Case{"https://127.0.0.1:6443", "127.0.0.1", 6443, true}, Case{"http://[::1]:80/", "::1", 80, false},
        Case{"https://example", "example", 443, true}, Case{"http://example", "example", 80, false},
        Case{"ftp://x", nullptr, 0, false}, Case{"https://", nullptr, 0, false}, Case{"https://x:0", nullptr, 0, false},
        Case{"https://x:65536", nullptr, 0, false}, Case{"https://x:8o", nullptr, 0, false},
        Case{"https://[::1", nullptr, 0, false}, Case{"https://u@x", nullptr, 0, false},
        Case{"https://x/path", nullptr, 0, false}}) {
    SCOPED_TRACE(url);
    const auto got = parse_endpoint(url);
    ASSERT_EQ(got.has_value(), host != nullptr);
    if (!got) continue;
    EXPECT_EQ(got->host, host);
    EXPECT_EQ(got->port, port);
    EXPECT_EQ(got->tls, tls);
  }
}

}  // namespace
}  // namespace gangway::net
