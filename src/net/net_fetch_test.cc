#include "net/net_fetch.h"

#include <gtest/gtest.h>

#include <future>

#include "net/asio_loop.h"
#include "net/http_server.h"

namespace gangway::net {
namespace {

using namespace std::chrono_literals;

class Pages final : public sys::HttpHandler {
 public:
  void handle(sys::HttpRequest request, sys::EventLoop&, sys::Respond respond) override {
    sys::HttpResponse response;
    response.status = request.target == "/ok" ? 200 : 503;
    response.body.push_back(sys::make_buffer(std::string(request.headers.get("X-Asked"))));
    response.body.push_back(sys::make_buffer(request.body));
    respond(std::move(response));
  }
};

struct NetFetchTest : ::testing::Test {
  LoopThread thread{"test"};
  Pages pages;
  std::unique_ptr<HttpServer> server;
  NetFetch fetch{thread.loop()};

  void SetUp() override {
    auto started = HttpServer::start({}, {&thread.loop()}, pages);
    ASSERT_TRUE(started.has_value());
    server = std::move(*started);
  }
  void TearDown() override { server->stop_and_wait(1s); }

  template <class T>
  Result<T> wait(const std::function<void(sys::Completion<T>)>& call) {
    std::promise<Result<T>> promise;
    auto answer = promise.get_future();
    thread.loop().post([&] { call([&](Result<T> result) { promise.set_value(std::move(result)); }); });
    return answer.get();
  }
  Result<sys::FetchAnswer> get(const std::string& path, std::uint16_t port) {
    sys::FetchRequest request;
    request.host = "127.0.0.1";
    request.port = port;
    request.path = path;
    request.headers = {{"X-Asked", "yes"}};
    request.timeout = 5s;
    return wait<sys::FetchAnswer>([&](auto done) { fetch.fetch(request, done); });
  }
  Result<void> connect(const std::string& host, std::uint16_t port) {
    return wait<void>([&](auto done) { fetch.connect(host, port, 5s, done); });
  }
  // One that nobody listens on.
  std::uint16_t closed_port() {
    auto other = HttpServer::start({}, {&thread.loop()}, pages);
    const std::uint16_t port = (*other)->port();
    (*other)->stop_and_wait(1s);
    return port;
  }
};

TEST_F(NetFetchTest, AnyStatusIsAnAnswer) {
  auto ok = get("/ok", server->port());
  ASSERT_TRUE(ok.has_value()) << ok.error().message;
  EXPECT_EQ(ok->status, 200);
  EXPECT_EQ(ok->body, "yes");
  EXPECT_EQ(get("/bad", server->port())->status, 503);
}

TEST_F(NetFetchTest, ARequestMayHaveABody) {
  sys::FetchRequest request{.method = "POST", .host = "127.0.0.1", .port = server->port(), .path = "/ok"};
  request.body = R"({"a":1})";
  request.timeout = 5s;
  const auto answer = wait<sys::FetchAnswer>([&](auto done) { fetch.fetch(request, done); });
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(answer->body, R"({"a":1})");
}

TEST_F(NetFetchTest, NobodyIsAnError) {
  EXPECT_FALSE(get("/ok", closed_port()).has_value());
}

TEST_F(NetFetchTest, ConnectsWhereSomebodyListens) {
  EXPECT_TRUE(connect("127.0.0.1", server->port()).has_value());
  const auto port = closed_port();
  const auto refused = connect("127.0.0.1", port);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message, "dial tcp 127.0.0.1:" + std::to_string(port) + ": Connection refused");
  EXPECT_FALSE(connect("no.address", 80).has_value());
}

}  // namespace
}  // namespace gangway::net
