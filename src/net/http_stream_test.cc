// Answers that go on, WebSockets, and the end of the server.
#include <gtest/gtest.h>

#include <mutex>

#include "net/test_client.h"
#include "net/websocket.h"

namespace gangway::net {
namespace {

using std::chrono::milliseconds;
using State = sys::BodyStream::State;

// What a test does to a stream, and learns of it. Lives longer than the stream.
struct StreamProbe {
  sys::EventLoop* loop = nullptr;
  std::function<void()> waker;
  std::vector<std::string> ready;
  bool ended = false;
  std::atomic<bool> opened = false;
  std::atomic<bool> destroyed = false;
  std::atomic<std::size_t> pulled = 0;

  void push(std::string text, bool last = false) {
    loop->post([this, text = std::move(text), last] {
      ready.push_back(text);
      ended = ended || last;
      if (!destroyed) waker();
    });
  }
};

class ProbedStream final : public sys::BodyStream {
 public:
  explicit ProbedStream(StreamProbe& probe) : probe_(probe) {}
  ~ProbedStream() override { probe_.destroyed = true; }
  State read(std::vector<sys::Buffer>& out, std::size_t) override {
    if (probe_.ready.empty()) return probe_.ended ? State::kEnd : State::kWait;
    out.push_back(sys::make_buffer(probe_.ready.front()));
    probe_.pulled += probe_.ready.front().size();
    probe_.ready.erase(probe_.ready.begin());
    return State::kMore;
  }
  void set_waker(sys::Task waker) override {
    probe_.waker = std::move(waker);
    probe_.opened = true;
  }

 private:
  StreamProbe& probe_;
};

// A log in a pager.
class PatientStream final : public sys::BodyStream {
 public:
  explicit PatientStream(StreamProbe& probe) : inner_(probe) {}
  State read(std::vector<sys::Buffer>& out, std::size_t max_bytes) override { return inner_.read(out, max_bytes); }
  void set_waker(sys::Task waker) override { inner_.set_waker(std::move(waker)); }
  bool may_stall() const override { return true; }

 private:
  ProbedStream inner_;
};

FunctionHandler::Function streaming(StreamProbe& probe) {
  return [&probe](const sys::HttpRequest& request, sys::EventLoop& here, const sys::Respond& respond) {
    if (request.target != "/watch") return respond(text_response("plain"));
    probe.loop = &here;
    sys::HttpResponse response;
    response.stream = std::make_unique<ProbedStream>(probe);
    respond(std::move(response));
  };
}

constexpr std::string_view kWatch = "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(HttpStream, SendsChunksAsTheyComeAndKeepsTheConnection) {
  StreamProbe probe;
  TestServer server(streaming(probe));
  TestClient client(server.port());
  ASSERT_TRUE(client.send(kWatch));
  // The header comes before any data.
  EXPECT_NE(client.receive_until("\r\n\r\n").find("\r\nTransfer-Encoding: chunked\r\n"), std::string::npos);
  client.forget();
  probe.push("hello");
  EXPECT_EQ(client.receive_until("hello\r\n"), "5\r\nhello\r\n");
  client.forget();
  probe.push(std::string(300000, 'x'));
  probe.push("bye", true);
  const std::string rest = client.receive_until("0\r\n\r\n");
  EXPECT_EQ(rest, "493e0\r\n" + std::string(300000, 'x') + "\r\n3\r\nbye\r\n0\r\n\r\n");
  EXPECT_TRUE(probe.destroyed);
  client.forget();
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(client.receive_until("plain").starts_with("HTTP/1.1 200 OK"));
}

TEST(HttpStream, BodyComesBeforeTheStream) {
  StreamProbe probe;
  TestServer server([&](const sys::HttpRequest&, sys::EventLoop& here, const sys::Respond& respond) {
    probe.loop = &here;
    sys::HttpResponse response = text_response("first");
    response.stream = std::make_unique<ProbedStream>(probe);
    respond(std::move(response));
  });
  TestClient client(server.port());
  ASSERT_TRUE(client.send(kWatch));
  EXPECT_TRUE(client.receive_until("first\r\n").ends_with("\r\n\r\n5\r\nfirst\r\n"));
}

TEST(HttpStream, AnOldClientGetsTheBareBytes) {
  StreamProbe probe;
  TestServer server(streaming(probe));
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /watch HTTP/1.0\r\n\r\n"));
  ASSERT_TRUE(wait_until([&] { return probe.opened.load(); }));
  probe.push("abc", true);
  EXPECT_TRUE(client.receive_until_closed().ends_with("\r\n\r\nabc"));
}

TEST(HttpStream, EndsWhenTheClientLeaves) {
  const TestKeys keys = TestKeys::make();
  const auto context = TlsContext::for_client({.ca_pem = keys.authority.certificate_pem}).value();
  for (const bool tls : {false, true}) {
    SCOPED_TRACE(tls ? "tls" : "plain");
    StreamProbe probe;
    HttpServerOptions options;
    if (tls) options.tls = sys::TlsServerConfig{keys.server, ""};
    TestServer server(streaming(probe), options);
    {
      TestClient client(server.port(), tls ? context.get() : nullptr);
      ASSERT_TRUE(client.send(kWatch));
      client.receive_until("\r\n\r\n");
      EXPECT_FALSE(probe.destroyed);
    }
    EXPECT_TRUE(wait_until([&] { return probe.destroyed.load(); }));
    EXPECT_TRUE(wait_until([&] { return server.server().connections() == 0; }));
  }
}

TEST(HttpStream, ASlowReaderHoldsBackTheStreamAndIsCutOff) {
  StreamProbe probe;
  HttpServerOptions options;
  options.stall_timeout = milliseconds(200);
  TestServer server(streaming(probe), options);
  TestClient client(server.port());
  ASSERT_TRUE(client.send(kWatch));
  client.receive_until("\r\n\r\n");
  constexpr std::size_t kOffered = 256 * 1024 * 1024;
  const std::string megabyte(1024 * 1024, 'x');
  probe.loop->post([&] {
    probe.ready.assign(kOffered / megabyte.size(), megabyte);
    probe.waker();
  });
  EXPECT_TRUE(wait_until([&] { return probe.destroyed.load(); }));
  // What the kernel's buffers take, and not all that there is.
  EXPECT_LT(probe.pulled, kOffered / 2);
}

TEST(HttpStream, AStreamMayLetItsReaderRest) {
  StreamProbe probe;
  HttpServerOptions options;
  options.stall_timeout = milliseconds(20);
  TestServer server(
      [&](const sys::HttpRequest&, sys::EventLoop& here, const sys::Respond& respond) {
        probe.loop = &here;
        sys::HttpResponse response;
        response.stream = std::make_unique<PatientStream>(probe);
        respond(std::move(response));
      },
      options);
  TestClient client(server.port());
  ASSERT_TRUE(client.send(kWatch));
  client.receive_until("\r\n\r\n");
  client.forget();
  const std::string megabyte(1024 * 1024, 'x');
  probe.loop->post([&] {
    probe.ready.assign(32, megabyte);
    probe.ended = true;
    probe.waker();
  });
  ASSERT_TRUE(wait_until([&] { return probe.pulled > 0; }));
  const auto rested = std::chrono::steady_clock::now() + milliseconds(200);
  wait_until([&] { return std::chrono::steady_clock::now() > rested; });
  EXPECT_TRUE(client.receive_until("0\r\n\r\n").ends_with("0\r\n\r\n"));
  EXPECT_EQ(probe.pulled, 32 * megabyte.size());
}

TEST(HttpStream, AReaderThatKeepsReadingIsNotCutOff) {
  StreamProbe probe;
  HttpServerOptions options;
  options.stall_timeout = milliseconds(50);
  TestServer server(streaming(probe), options);
  TestClient client(server.port());
  ASSERT_TRUE(client.send(kWatch));
  ASSERT_TRUE(wait_until([&] { return probe.opened.load(); }));
  for (int i = 0; i < 20; ++i) {
    const std::string text = "event " + std::to_string(i) + ";";
    probe.push(text);
    ASSERT_NE(client.receive_until(text).find(text), std::string::npos);
    // Resting is not stalling.
    const auto rested = std::chrono::steady_clock::now() + milliseconds(5);
    wait_until([&] { return std::chrono::steady_clock::now() > rested; });
  }
  EXPECT_FALSE(probe.destroyed);
}

// Sends back what it gets, and notes what happened.
struct SocketLog {
  std::mutex mutex;
  std::vector<std::string> events;
  void add(std::string event) {
    const std::scoped_lock lock(mutex);
    events.push_back(std::move(event));
  }
  std::vector<std::string> all() {
    const std::scoped_lock lock(mutex);
    return events;
  }
};

class EchoSession final : public sys::WebSocketSession {
 public:
  explicit EchoSession(SocketLog& log) : log_(log) {}
  void on_open(sys::WebSocketChannel& channel) override {
    log_.add("open");
    channel_ = &channel;
  }
  void on_message(sys::WebSocketMessage message) override {
    log_.add((message.binary ? "binary " : "text ") + message.data.substr(0, 20));
    if (message.data == "leave") return channel_->close(1000, "as you wish");
    if (message.data == "flood")
      for (int i = 0; i < 64; ++i) channel_->send({true, std::string(1024 * 1024, 'f')});
    channel_->send(message);
  }
  void on_close() override { log_.add("close"); }

 private:
  SocketLog& log_;
  sys::WebSocketChannel* channel_ = nullptr;
};

FunctionHandler::Function upgrading(SocketLog& log) {
  return [&log](const sys::HttpRequest&, sys::EventLoop&, const sys::Respond& respond) {
    sys::HttpResponse response;
    response.status = 101;
    response.websocket = std::make_unique<EchoSession>(log);
    response.websocket_protocol = "v5.channel.k8s.io";
    respond(std::move(response));
  };
}

constexpr std::string_view kUpgrade =
    "GET /exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n";

std::string masked(WebSocketOpcode opcode, std::string_view payload) {
  std::string frame;
  append_masked_websocket_frame(frame, opcode, payload, 0x12345678);
  return frame;
}

TEST(HttpWebSocket, SpeaksTheProtocol) {
  SocketLog log;
  TestServer server(upgrading(log));
  TestClient client(server.port());
  // The first frame rides along with the handshake.
  ASSERT_TRUE(client.send(std::string(kUpgrade) + masked(WebSocketOpcode::kText, "hi")));
  const std::string head = client.receive_until(std::string_view("\x81\x02hi", 4));
  EXPECT_TRUE(head.starts_with("HTTP/1.1 101 Switching Protocols\r\n")) << head;
  // The example of RFC 6455, section 1.3.
  EXPECT_NE(head.find("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), std::string::npos) << head;
  EXPECT_NE(head.find("\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n"), std::string::npos) << head;
  EXPECT_TRUE(head.ends_with(std::string("\r\n\r\n\x81\x02hi"))) << head;

  client.forget();
  ASSERT_TRUE(client.send(masked(WebSocketOpcode::kPing, "p")));
  EXPECT_EQ(client.receive_until("p"), std::string("\x8a\x01p"));
  client.forget();
  const std::string big(70000, 'b');
  ASSERT_TRUE(client.send(masked(WebSocketOpcode::kBinary, big)));
  const std::string echoed =
      client.receive_until([&](const std::string& all) { return all.size() >= big.size() + 10; });
  EXPECT_EQ(echoed.substr(0, 10), std::string("\x82\x7f\0\0\0\0\0\x01\x11\x70", 10));
  client.forget();
  ASSERT_TRUE(client.send(masked(WebSocketOpcode::kClose, websocket_close_payload(1000, ""))));
  EXPECT_EQ(client.receive_until_closed(), std::string("\x88\x02\x03\xe8"));
  EXPECT_EQ(log.all(), (std::vector<std::string>{"open", "text hi", "binary " + std::string(20, 'b'), "close"}));
}

TEST(HttpWebSocket, TheSessionMayEndIt) {
  SocketLog log;
  TestServer server(upgrading(log));
  TestClient client(server.port());
  ASSERT_TRUE(client.send(std::string(kUpgrade) + masked(WebSocketOpcode::kText, "leave")));
  EXPECT_TRUE(client.receive_until("as you wish")
                  .ends_with("\x88\x0d\x03\xe8"
                             "as you wish"));
  ASSERT_TRUE(client.send(masked(WebSocketOpcode::kClose, websocket_close_payload(1000, ""))));
  client.receive_until_closed();
  EXPECT_FALSE(client.timed_out());
  EXPECT_EQ(log.all().back(), "close");
}

TEST(HttpWebSocket, ViolationsEndIt) {
  struct Case {
    const char* name;
    std::string bytes;
    std::uint16_t code;
  };
  const std::vector<Case> cases = {
      {"unmasked", std::string("\x81\x01x", 3), 1002},
      {"reserved bits", "\xf1" + masked(WebSocketOpcode::kText, "x").substr(1), 1002},
      {"unknown opcode", "\x83" + masked(WebSocketOpcode::kText, "x").substr(1), 1002},
      {"continuation of nothing", "\x80" + masked(WebSocketOpcode::kText, "x").substr(1), 1002},
      {"fragmented ping", "\x09" + masked(WebSocketOpcode::kPing, "x").substr(1), 1002},
      {"long ping", masked(WebSocketOpcode::kPing, std::string(126, 'p')), 1002},
      {"close with half a code", masked(WebSocketOpcode::kClose, "x"), 1002},
      {"close with a reserved code", masked(WebSocketOpcode::kClose, websocket_close_payload(1005, "")), 1002},
      {"bad UTF-8", masked(WebSocketOpcode::kText, "\xc0\x80"), 1007},
      {"too big", masked(WebSocketOpcode::kBinary, std::string(2000, 'x')), 1009},
      {"announces too much", std::string("\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", 14), 1009},
  };
  for (const auto& [name, bytes, code] : cases) {
    SCOPED_TRACE(name);
    SocketLog log;
    HttpServerOptions options;
    options.max_websocket_message = 1000;
    TestServer server(upgrading(log), options);
    TestClient client(server.port());
    ASSERT_TRUE(client.send(std::string(kUpgrade) + bytes));
    const std::string answer = client.receive_until_closed();
    EXPECT_FALSE(client.timed_out());
    EXPECT_TRUE(
        answer.ends_with("\x88\x02" + std::string{static_cast<char>(code >> 8), static_cast<char>(code & 255)}));
    EXPECT_TRUE(wait_until([&] { return log.all().back() == "close"; }));
  }
}

TEST(HttpWebSocket, APeerThatDoesNotReadIsCutOff) {
  SocketLog log;
  TestServer server(upgrading(log));
  TestClient client(server.port());
  ASSERT_TRUE(client.send(std::string(kUpgrade) + masked(WebSocketOpcode::kText, "flood")));
  EXPECT_TRUE(wait_until([&] { return !log.all().empty() && log.all().back() == "close"; }));
}

TEST(HttpWebSocket, WithoutAHandshakeThereIsNone) {
  SocketLog log;
  TestServer server(upgrading(log));
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET /exec HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_TRUE(client.receive_until("}\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(log.all().empty());
}

TEST(HttpShutdown, FinishesRequestsEndsStreamsAndClosesTheRest) {
  StreamProbe probe;
  SocketLog log;
  std::mutex mutex;
  std::function<void()> finish;
  TestServer server([&](const sys::HttpRequest& request, sys::EventLoop& here, const sys::Respond& respond) {
    if (request.target == "/watch") return streaming(probe)(request, here, respond);
    if (request.target == "/exec") return upgrading(log)(request, here, respond);
    const std::scoped_lock lock(mutex);
    finish = [&here, respond] { here.post([respond] { respond(text_response("finished")); }); };
  });
  TestClient idle(server.port());
  TestClient watching(server.port());
  TestClient talking(server.port());
  TestClient waiting(server.port());
  ASSERT_TRUE(watching.send(kWatch));
  ASSERT_TRUE(talking.send(kUpgrade));
  ASSERT_TRUE(waiting.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"));
  watching.receive_until("\r\n\r\n");
  talking.receive_until("\r\n\r\n");
  ASSERT_TRUE(wait_until([&] {
    const std::scoped_lock lock(mutex);
    return finish != nullptr && server.server().connections() == 4;
  }));

  std::thread stopping([&] { server.stop(std::chrono::seconds(20)); });
  EXPECT_TRUE(watching.receive_until_closed().ends_with("0\r\n\r\n"));
  idle.receive_until_closed();
  EXPECT_FALSE(idle.timed_out());
  talking.forget();
  EXPECT_TRUE(talking.receive_until("shuts down").starts_with("\x88"));
  ASSERT_TRUE(talking.send(masked(WebSocketOpcode::kClose, websocket_close_payload(1001, ""))));
  finish();
  const std::string answer = waiting.receive_until_closed();
  EXPECT_TRUE(answer.ends_with("finished")) << answer;
  EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos) << answer;
  stopping.join();
  EXPECT_EQ(server.server().connections(), 0U);
}

TEST(HttpShutdown, DoesNotWaitLongerThanItsGrace) {
  std::atomic<bool> handling = false;
  std::vector<sys::Respond> kept;
  TestServer server([&](const sys::HttpRequest&, sys::EventLoop&, const sys::Respond& respond) {
    kept.push_back(respond);
    handling = true;
  });
  TestClient client(server.port());
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  ASSERT_TRUE(wait_until([&] { return handling.load(); }));
  server.stop(milliseconds(10));
  EXPECT_EQ(client.receive_until_closed(), "");
  // Too late, and harmless.
  kept.front()(text_response("late"));
}

}  // namespace
}  // namespace gangway::net
