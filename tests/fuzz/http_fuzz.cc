// HTTP from the network. The first byte says what the bytes are and how they are cut:
// a request for the parser, a response for the parser, or a whole conversation with a connection of the server.
#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "fuzz.h"
#include "net/http_parser.h"
#include "net/http_shard.h"
#include "testing/manual_loop.h"

namespace gangway::fuzz {
namespace {

constexpr net::HttpLimits kLimits = {.header_bytes = 2048, .target_bytes = 256, .body_bytes = 1024};

struct Outcome {
  net::ParseState state = net::ParseState::kNeedMore;
  std::string request;
  int error_status = 0;
};

std::string flat(const sys::HttpRequest& request) {
  auto text = request.method + ' ' + request.target + '\n';
  for (const auto& [name, value] : request.headers.entries()) text += name + ": " + value + '\n';
  return text + '\n' + request.body;
}

// Feeds as the connection does: what was not used comes again, in front of the next bytes.
Outcome read_request(std::string_view wire, std::size_t piece) {
  Outcome outcome;
  net::RequestParser parser(kLimits);
  std::string input;
  while (outcome.state == net::ParseState::kNeedMore && !wire.empty()) {
    input += wire.substr(0, piece);
    wire.remove_prefix(std::min(piece, wire.size()));
    const std::string exact = input;
    const auto progress = parser.feed(exact);
    FUZZ_LAW(progress.used <= input.size(), exact);
    input.erase(0, progress.used);
    outcome.state = progress.state;
    if (parser.header_done()) (void)(parser.expects_continue() || parser.keep_alive() || parser.http_1_0());
  }
  if (outcome.state == net::ParseState::kBad) {
    outcome.error_status = parser.error_status();
    FUZZ_LAW(outcome.error_status >= 400 && outcome.error_status < 500, parser.error_message());
    FUZZ_LAW(!parser.error_message().empty(), wire);
    parser.reset();
    FUZZ_LAW(!parser.header_done(), wire);
  }
  if (outcome.state == net::ParseState::kDone) {
    const auto request = parser.take();
    FUZZ_LAW(request.body.size() <= kLimits.body_bytes && request.target.size() <= kLimits.target_bytes,
             request.target);
    for (const char c : request.method + request.target) FUZZ_LAW(c != '\r' && c != '\n', request.target);
    for (const auto& [name, value] : request.headers.entries())
      FUZZ_LAW(name.find_first_of("\r\n:") == std::string::npos && value.find_first_of("\r\n") == std::string::npos,
               name);
    outcome.request = flat(request);
  }
  return outcome;
}

void check_request(std::string_view wire, std::size_t piece) {
  const auto whole = read_request(wire, std::max<std::size_t>(1, wire.size()));
  const auto pieces = read_request(wire, piece);
  // A limit may be seen at another byte, but never a different request.
  if (whole.state == net::ParseState::kDone && pieces.state == net::ParseState::kDone)
    FUZZ_LAW(whole.request == pieces.request, wire);
  FUZZ_LAW(!(whole.state == net::ParseState::kBad && pieces.state == net::ParseState::kDone), wire);
}

void check_response(std::string_view wire, std::size_t piece, bool no_body) {
  std::string body;
  net::ResponseParser parser([&](std::string_view part) { body += part; });
  parser.reset(no_body);
  std::string input;
  auto state = net::ParseState::kNeedMore;
  const auto size = wire.size();
  while (state == net::ParseState::kNeedMore && !wire.empty()) {
    input += wire.substr(0, piece);
    wire.remove_prefix(std::min(piece, wire.size()));
    const auto progress = parser.feed(input);
    FUZZ_LAW(progress.used <= input.size(), input);
    input.erase(0, progress.used);
    state = progress.state;
  }
  if (state == net::ParseState::kNeedMore) state = parser.end_of_input();
  FUZZ_LAW(state != net::ParseState::kNeedMore, "the end is the end");
  FUZZ_LAW(state == net::ParseState::kDone || !parser.error_message().empty(), "an error says what is wrong");
  FUZZ_LAW(body.size() <= size && (!no_body || body.empty()), body);
  if (state != net::ParseState::kDone) return;
  FUZZ_LAW(parser.header_done() && parser.status() >= 0 && parser.status() <= 999, "a response has a status");
  (void)parser.keep_alive();
  (void)parser.headers().get("Content-Type");
}

class EchoSession final : public sys::WebSocketSession {
 public:
  void on_open(sys::WebSocketChannel& channel) override { channel_ = &channel; }
  void on_message(sys::WebSocketMessage message) override {
    if (message.data == "bye") return channel_->close(1000, "as you wish");
    channel_->send(message);
  }
  void on_close() override { closed_ = true; }
  ~EchoSession() override { FUZZ_LAW(closed_ == (channel_ != nullptr), "a session that opened is told of its end"); }

 private:
  sys::WebSocketChannel* channel_ = nullptr;
  bool closed_ = false;
};

// Bytes back and forth; '.' ends it, '!' makes it deaf for a while, '?' is too much for it.
class EchoBytes final : public sys::ByteSession {
 public:
  explicit EchoBytes(sys::EventLoop& loop) : loop_(loop) {}
  void on_open(sys::ByteChannel& channel) override { channel_ = &channel; }
  void on_bytes(std::string_view bytes) override {
    FUZZ_LAW(!closed_, bytes);
    if (bytes.find('?') != std::string_view::npos) throw std::runtime_error("as sessions never should");
    channel_->send(bytes);
    if (bytes.find('.') != std::string_view::npos) return channel_->close();
    if (bytes.find('!') == std::string_view::npos) return;
    channel_->pause(true);
    loop_.run_after(std::chrono::seconds(1), [alive = std::weak_ptr(alive_), this] {
      if (!alive.expired() && !closed_) channel_->pause(false);
    });
  }
  void on_shutdown() override { channel_->close(); }
  void on_close() override { closed_ = true; }
  ~EchoBytes() override { FUZZ_LAW(closed_ == (channel_ != nullptr), "a session that opened is told of its end"); }

 private:
  sys::EventLoop& loop_;
  sys::ByteChannel* channel_ = nullptr;
  bool closed_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

class BrokenBytes final : public sys::ByteSession {
 public:
  void on_open(sys::ByteChannel&) override { throw std::runtime_error("as sessions never should"); }
  void on_bytes(std::string_view bytes) override { FUZZ_LAW(bytes.empty(), bytes); }
  void on_shutdown() override {}
  void on_close() override {}
};

class ThreeChunks final : public sys::BodyStream {
 public:
  State read(std::vector<sys::Buffer>& out, std::size_t) override {
    out.push_back(sys::make_buffer("chunk"));
    if (++chunks_ == 2) waker_();
    return chunks_ == 1 ? State::kMore : chunks_ == 2 ? State::kWait : State::kEnd;
  }
  void set_waker(sys::Task waker) override { waker_ = std::move(waker); }

 private:
  int chunks_ = 0;
  sys::Task waker_;
};

// A watch of something that does not change.
class NothingYet final : public sys::BodyStream {
 public:
  State read(std::vector<sys::Buffer>&, std::size_t) override { return State::kWait; }
  void set_waker(sys::Task) override {}
};

// Every kind of answer, by target.
class Handler final : public sys::HttpHandler {
 public:
  void handle(sys::HttpRequest request, sys::EventLoop& here, sys::Respond respond) override {
    sys::HttpResponse response;
    if (request.target == "/never") return;
    if (request.target == "/fails") throw std::runtime_error("as handlers never should");
    if (request.target == "/fails-oddly") throw 1;
    if (request.target == "/ws") {
      response.status = 101;
      response.websocket = std::make_unique<EchoSession>();
      response.websocket_protocol = "v5.channel.k8s.io";
    } else if (request.target == "/bytes") {
      response.status = 101;
      response.headers.add("Upgrade", "echo");
      response.upgrade = std::make_unique<EchoBytes>(here);
    } else if (request.target == "/broken") {
      response.status = 101;
      response.headers.add("Upgrade", "echo");
      response.upgrade = std::make_unique<BrokenBytes>();
    } else if (request.target == "/stream") {
      response.stream = std::make_unique<ThreeChunks>();
    } else if (request.target == "/watch") {
      response.stream = std::make_unique<NothingYet>();
    } else if (request.target == "/large") {
      response.body.push_back(sys::make_buffer(std::string(1 << 20, 'x')));
    } else {
      response.body.push_back(sys::make_buffer(std::move(request.body)));
    }
    if (request.target != "/later") return respond(std::move(response));
    here.run_after(std::chrono::seconds(1), [respond] { respond({}); });
  }
};

// Reads until nothing more comes.
void take_answers(int fd, testing::ManualLoop& loop, std::string& answers) {
  char buffer[65536];
  for (loop.run_until_idle();; loop.run_until_idle()) {
    const ssize_t n = ::recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (n <= 0) return;
    answers.append(buffer, static_cast<std::size_t>(n));
  }
}

// How a client says something: in pieces; waiting for answers or not; saying that it is done, or leaving it at that.
// And whether the server ends before it has sent all answers.
struct Manners {
  std::size_t piece;
  bool reads_at_once;
  bool says_goodbye;
  bool server_ends;
};

void converse(std::string_view wire, const Manners& manners) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) return;
  net::FileDescriptor client(ends[0]);
  testing::ManualLoop loop;
  Handler handler;
  net::HttpServerOptions options;
  options.limits = kLimits;
  options.max_websocket_message = 300;
  net::HttpServerContext context{options, handler};
  std::string answers;
  {
    net::HttpShard shard(context, loop, nullptr);
    ++context.connections;
    shard.adopt(net::FileDescriptor(ends[1]), "127.0.0.1:1");
    while (!wire.empty()) {
      const auto part = wire.substr(0, manners.piece);
      if (::send(client.get(), part.data(), part.size(), MSG_NOSIGNAL) < 0) break;
      wire.remove_prefix(part.size());
      loop.run_until_idle();
      if (manners.reads_at_once) take_answers(client.get(), loop, answers);
    }
    if (manners.server_ends) shard.drain([] {});
    take_answers(client.get(), loop, answers);
    loop.advance(std::chrono::seconds(2));
    take_answers(client.get(), loop, answers);
    if (manners.says_goodbye) ::shutdown(client.get(), SHUT_WR);
    // Whatever the state, every deadline ends it; only a watch or a WebSocket may stay as long as its peer.
    loop.advance(std::chrono::minutes(10));
    client.reset();
    loop.advance(std::chrono::minutes(10));
    FUZZ_LAW(context.connections == 0, answers);
  }
  FUZZ_LAW(answers.empty() || answers.starts_with("HTTP/1."), answers);
}

}  // namespace
}  // namespace gangway::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gangway;
  fuzz::Input input(data, size);
  // A letter says what it is, a digit or letter how long the pieces are: seeds stay readable.
  const auto what = input.byte();
  const std::size_t piece = 1 + input.byte() % 64U;
  const std::string wire(input.rest().substr(0, 8192));
  if (what % 3 == 0) {
    fuzz::check_request(wire, piece);
  } else if (what % 3 == 1) {
    fuzz::check_response(wire, piece, (what & 64U) == 0);
  } else {
    fuzz::converse(wire, {.piece = piece,
                          .reads_at_once = (what & 16U) == 0,
                          .says_goodbye = (what & 32U) == 0,
                          .server_ends = (what & 64U) == 0});
  }
  return 0;
}
