// Connections that leave HTTP behind, at both ends: HttpServer's and HttpTransport's.
#include <gtest/gtest.h>

#include <mutex>
#include <optional>

#include "net/http_transport.h"
#include "net/test_client.h"

namespace gangway::net {
namespace {

// A session driven by a test on another thread. It outlives its connection.
struct Probe {
  sys::EventLoop* loop = nullptr;
  sys::ByteChannel* channel = nullptr;
  std::atomic<bool> open = false;
  std::atomic<bool> closed = false;
  std::atomic<int> drained = 0;
  std::atomic<std::size_t> received = 0;
  std::mutex mutex;
  std::string bytes;

  std::string all() {
    const std::scoped_lock lock(mutex);
    return bytes;
  }
  // Runs on the connection's loop while it is there.
  void with(std::function<void(sys::ByteChannel&)> task) {
    loop->post([this, task = std::move(task)] {
      if (channel != nullptr) task(*channel);
    });
  }
};

class ProbedSession final : public sys::ByteSession {
 public:
  ProbedSession(Probe& probe, sys::EventLoop& loop) : probe_(probe) { probe_.loop = &loop; }
  void on_open(sys::ByteChannel& channel) override {
    probe_.channel = &channel;
    probe_.open = true;
  }
  void on_bytes(std::string_view bytes) override {
    const std::scoped_lock lock(probe_.mutex);
    probe_.bytes += bytes;
    probe_.received += bytes.size();
  }
  void on_drained() override { ++probe_.drained; }
  void on_shutdown() override { probe_.channel->close(); }
  void on_close() override {
    probe_.channel = nullptr;
    probe_.closed = true;
  }

 private:
  Probe& probe_;
};

FunctionHandler::Function upgrading(Probe& probe) {
  return [&probe](const sys::HttpRequest& request, sys::EventLoop& here, const sys::Respond& respond) {
    if (request.target != "/up") return respond(text_response("no such thing", 404));
    sys::HttpResponse response;
    response.status = 101;
    response.headers.add("Upgrade", "SPDY/3.1");
    response.headers.add("Connection", "Upgrade");
    response.upgrade = std::make_unique<ProbedSession>(probe, here);
    respond(std::move(response));
  };
}

constexpr std::string_view kUp = "POST /up HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n";

TEST(Upgrade, CarriesBytesBothWays) {
  Probe probe;
  TestServer server(upgrading(probe));
  TestClient client(server.port());
  ASSERT_TRUE(client.send(std::string(kUp) + "early"));
  const std::string head = client.receive_until("\r\n\r\n");
  EXPECT_EQ(head, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n");
  ASSERT_TRUE(wait_until([&] { return probe.all() == "early"; }));
  ASSERT_TRUE(client.send(" and late"));
  ASSERT_TRUE(wait_until([&] { return probe.all() == "early and late"; }));
  client.forget();
  probe.with([](sys::ByteChannel& channel) { channel.send("an answer"); });
  EXPECT_EQ(client.receive_until("answer"), "an answer");
  ASSERT_TRUE(wait_until([&] { return probe.drained > 0; }));
  client.shutdown_write();
  client.receive_until_closed();
  EXPECT_TRUE(wait_until([&] { return probe.closed.load(); }));
}

TEST(Upgrade, TheLastBytesArriveHoweverSlowTheReader) {
  Probe probe;
  HttpServerOptions options;
  options.stall_timeout = options.linger_timeout = std::chrono::milliseconds(20);
  options.max_pending_write = 64 * 1024 * 1024;
  TestServer server(upgrading(probe), options);
  TestClient client(server.port());
  ASSERT_TRUE(client.send(kUp));
  client.receive_until("\r\n\r\n");
  client.forget();
  const std::string much(32 * 1024 * 1024, 'x');
  probe.with([&](sys::ByteChannel& channel) {
    channel.send(much);
    channel.close();
  });
  ASSERT_TRUE(wait_until([&] { return probe.closed.load(); }));
  const auto rested = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  wait_until([&] { return std::chrono::steady_clock::now() > rested; });
  EXPECT_EQ(client.receive_until_closed().size(), much.size());
  EXPECT_FALSE(client.timed_out());
}

TEST(Upgrade, APausedSessionMakesThePeerWait) {
  Probe probe;
  TestServer server(upgrading(probe));
  TestClient client(server.port());
  ASSERT_TRUE(client.send(kUp));
  client.receive_until("\r\n\r\n");
  std::atomic<bool> paused = false;
  probe.with([&](sys::ByteChannel& channel) {
    channel.pause(true);
    probe.loop->post([&] { paused = true; });
  });
  ASSERT_TRUE(wait_until([&] { return paused.load(); }));
  constexpr std::size_t kMuch = 64 * 1024 * 1024;
  std::atomic<bool> sent = false;
  std::thread sender([&] {
    EXPECT_TRUE(client.send(std::string(kMuch, 'x')));
    sent = true;
  });
  const auto rested = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  wait_until([&] { return std::chrono::steady_clock::now() > rested; });
  EXPECT_FALSE(sent);
  EXPECT_EQ(probe.received, 0U);
  probe.with([](sys::ByteChannel& channel) { channel.pause(false); });
  EXPECT_TRUE(wait_until([&] { return probe.received == kMuch; }));
  sender.join();
}

TEST(Upgrade, EndsWithTheServer) {
  Probe probe;
  TestServer server(upgrading(probe));
  TestClient client(server.port());
  ASSERT_TRUE(client.send(kUp));
  client.receive_until("\r\n\r\n");
  ASSERT_TRUE(wait_until([&] { return probe.open.load(); }));
  std::thread stopping([&] { server.stop(std::chrono::seconds(20)); });
  client.receive_until_closed();
  EXPECT_FALSE(client.timed_out());
  client.shutdown_write();
  stopping.join();
  EXPECT_TRUE(probe.closed);
}

// A transport on a loop of its own, towards a test server.
struct Dialed {
  explicit Dialed(std::uint16_t port, const std::string& scheme = "http", sys::TlsClientConfig tls = {}) {
    HttpTransportOptions options;
    options.server = scheme + "://127.0.0.1:" + std::to_string(port);
    options.tls = std::move(tls);
    run([&] { transport = HttpTransport::create(std::move(options), thread.loop()).value(); });
  }
  ~Dialed() {
    run([&] { transport.reset(); });
  }
  void run(const std::function<void()>& task) {
    std::atomic<bool> done = false;
    thread.loop().post([&] {
      task();
      done = true;
    });
    ASSERT_TRUE(wait_until([&] { return done.load(); }));
  }
  // The answer to an upgrade of `target`.
  client::HttpClientResponse upgrade(const std::string& target, Probe& probe) {
    client::HttpClientRequest request;
    request.method = "POST";
    request.target = target;
    request.headers.add("Connection", "Upgrade");
    request.headers.add("Upgrade", "SPDY/3.1");
    std::optional<Result<client::HttpClientResponse>> answer;
    std::atomic<bool> answered = false;
    run([&] {
      transport->upgrade(std::move(request), std::make_unique<ProbedSession>(probe, thread.loop()),
                         [&](Result<client::HttpClientResponse> response) {
                           answer = std::move(response);
                           answered = true;
                         });
    });
    EXPECT_TRUE(wait_until([&] { return answered.load(); }));
    return answer && *answer ? **answer : client::HttpClientResponse{};
  }
  LoopThread thread{"test-dial"};
  std::unique_ptr<HttpTransport> transport;
};

TEST(Upgrade, ATransportReachesIt) {
  const TestKeys keys = TestKeys::make();
  for (const bool tls : {false, true}) {
    SCOPED_TRACE(tls ? "tls" : "plain");
    Probe far;
    Probe near;
    HttpServerOptions options;
    if (tls) options.tls = sys::TlsServerConfig{keys.server, ""};
    TestServer server(upgrading(far), options);
    Dialed dialed(server.port(), tls ? "https" : "http", {.ca_pem = keys.authority.certificate_pem});
    const auto answer = dialed.upgrade("/up", near);
    EXPECT_EQ(answer.status, 101);
    EXPECT_EQ(answer.headers.get("Upgrade"), "SPDY/3.1");
    ASSERT_TRUE(wait_until([&] { return near.open && far.open; }));
    near.with([](sys::ByteChannel& channel) { channel.send("ping"); });
    ASSERT_TRUE(wait_until([&] { return far.all() == "ping"; }));
    far.with([](sys::ByteChannel& channel) {
      channel.send("pong");
      channel.close();
    });
    ASSERT_TRUE(wait_until([&] { return near.all() == "pong" && near.closed; }));
  }
}

TEST(Upgrade, ARefusalComesWhole) {
  Probe far;
  Probe near;
  TestServer server(upgrading(far));
  Dialed dialed(server.port());
  const auto answer = dialed.upgrade("/other", near);
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "no such thing");
  EXPECT_FALSE(near.open);
}

TEST(Upgrade, EndsWithItsTransport) {
  Probe far;
  Probe near;
  TestServer server(upgrading(far));
  {
    Dialed dialed(server.port());
    dialed.upgrade("/up", near);
    ASSERT_TRUE(wait_until([&] { return near.open && far.open; }));
  }
  EXPECT_TRUE(near.closed);
  EXPECT_TRUE(wait_until([&] { return far.closed.load(); }));
}

// A body of `size` bytes that counts how much of it was taken.
class Endless final : public sys::BodyStream {
 public:
  explicit Endless(std::atomic<std::size_t>& taken) : taken_(taken) {}
  State read(std::vector<sys::Buffer>& out, std::size_t max_bytes) override {
    out.push_back(sys::make_buffer(std::string(max_bytes, 'x')));
    taken_ += max_bytes;
    return State::kMore;
  }
  void set_waker(sys::Task) override {}
  bool may_stall() const override { return true; }

 private:
  std::atomic<std::size_t>& taken_;
};

TEST(TransportStream, MayBePaused) {
  std::atomic<std::size_t> taken = 0;
  TestServer server([&](const sys::HttpRequest&, sys::EventLoop&, const sys::Respond& respond) {
    sys::HttpResponse response;
    response.stream = std::make_unique<Endless>(taken);
    respond(std::move(response));
  });
  Dialed dialed(server.port());
  std::unique_ptr<client::BodySource> source;
  std::atomic<std::size_t> got = 0;
  std::atomic<bool> paused = false;
  dialed.run([&] {
    client::HttpClientRequest request;
    request.target = "/";
    source = dialed.transport->stream(std::move(request), {.on_head = [](client::HttpClientResponse) {},
                                                           .on_data =
                                                               [&](std::string_view bytes) {
                                                                 got += bytes.size();
                                                                 if (!paused.exchange(true)) source->pause(true);
                                                               },
                                                           .on_end = [](Result<void>) {}});
  });
  ASSERT_TRUE(wait_until([&] { return paused.load(); }));
  // It comes to rest: the kernel's buffers are full, and nobody reads.
  std::size_t before = taken;
  ASSERT_TRUE(wait_until([&] {
    const auto rested = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    wait_until([&] { return std::chrono::steady_clock::now() > rested; });
    return std::exchange(before, taken.load()) == taken.load();
  }));
  const std::size_t at_rest = got;
  EXPECT_LE(at_rest, 128U * 1024);
  dialed.run([&] { source->pause(false); });
  EXPECT_TRUE(wait_until([&] { return got > at_rest + 16 * 1024 * 1024; }));
  dialed.run([&] { source.reset(); });
}

}  // namespace
}  // namespace gangway::net
