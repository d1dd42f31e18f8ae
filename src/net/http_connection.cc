// HttpConnection: construction, input and time. Answers are in http_answer.cc, upgrades in http_upgrade.cc.

#include <exception>
#include <utility>

#include "net/http_shard.h"
#include "sys/log.h"

namespace gangway::net {
namespace {

using Status = Socket::Status;

// Requests answered, or blocks read, before other connections of the loop get their turn.
constexpr int kRequestsPerTurn = 32;
constexpr int kReadsPerTurn = 8;
// What a closing connection throws away before it stops being polite.
constexpr std::size_t kMaxLinger = 16 * 1024 * 1024;

bool has_token(std::string_view list, std::string_view token) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  for (std::size_t at = 0; at + token.size() <= list.size(); ++at) {
    std::size_t same = 0;
    while (same < token.size() && lower(list[at + same]) == token[same]) ++same;
    if (same == token.size()) return true;
  }
  return false;
}

// The key of a well-formed WebSocket handshake, or "".
std::string handshake_key(const sys::HttpRequest& request) {
  if (request.method != "GET" || !has_token(request.headers.get("Upgrade"), "websocket") ||
      !has_token(request.headers.get("Connection"), "upgrade") || request.headers.get("Sec-WebSocket-Version") != "13")
    return {};
  const std::string_view key = request.headers.get("Sec-WebSocket-Key");
  return key.size() == 24 ? std::string(key) : std::string();
}

}  // namespace

// The right to answer one request. Dropping it unused answers too: a forgetful handler must not hang its client.
struct HttpConnection::Ticket {
  std::weak_ptr<HttpConnection> connection;
  std::uint64_t request;
  bool used = false;

  Ticket(std::weak_ptr<HttpConnection> whose, std::uint64_t which) : connection(std::move(whose)), request(which) {}
  Ticket(const Ticket&) = delete;
  Ticket& operator=(const Ticket&) = delete;
  ~Ticket() {
    const auto target = used ? nullptr : connection.lock();
    if (!target) return;
    target->shard_.loop().post([weak = connection, which = request] {
      const auto self = weak.lock();
      if (self && self->state_ == State::kHandling && self->request_ == which)
        self->answer_error(500, "InternalError", "the request was given up without an answer");
    });
  }
  void use(sys::HttpResponse&& response) {
    if (std::exchange(used, true)) return;
    if (const auto target = connection.lock()) target->answer(request, std::move(response));
  }
};

HttpConnection::HttpConnection(HttpShard& shard, Socket socket, std::string peer_address)
    : shard_(shard), socket_(std::move(socket)), last_progress_(shard.now()), parser_(shard.options().limits) {
  peer_.address = std::move(peer_address);
}

HttpConnection::~HttpConnection() {
  if (raw_) raw_->abort();
}

void HttpConnection::start() {
  deadline_ = shard_.now() + shard_.options().handshake_timeout;
  update_read_watch();
  if (!socket_.tls()) shake_hands();
}

void HttpConnection::on_readable() {
  const auto self = shared_from_this();
  if (state_ == State::kHandshake) return shake_hands();
  for (int i = 0; i < kReadsPerTurn; ++i)
    if (!read_once()) return;
  // The poller sees what is left in the kernel, but not what is left in the TLS layer.
  if (socket_.has_buffered())
    shard_.loop().post([weak = weak_from_this()] {
      const auto connection = weak.lock();
      if (connection && connection->read_watch_) connection->on_readable();
    });
}

void HttpConnection::on_writable() {
  const auto self = shared_from_this();
  if (state_ == State::kHandshake) return shake_hands();
  if (!flush()) return;
  if (state_ == State::kWriting) return finish_answer();
  if (state_ == State::kStreaming) return pull_stream();
  if (state_ == State::kLingering) linger();
}

void HttpConnection::shake_hands() {
  switch (socket_.handshake()) {
    case Status::kOk:
      break;
    case Status::kWantRead:
      return;
    case Status::kWantWrite:
      if (!write_watch_)
        write_watch_ =
            shard_.loop().watch_fd(socket_.fd(), sys::EventLoop::FdEvent::kWritable, [this] { on_writable(); });
      return;
    default:
      return close();
  }
  write_watch_.reset();
  socket_.describe_peer(peer_);
  state_ = State::kReading;
  deadline_ = shard_.now() + shard_.options().header_timeout;
  // The first request may have come along with the end of the handshake.
  if (socket_.has_buffered()) on_readable();
}

// True when there may be more to read right away.
bool HttpConnection::read_once() {
  const std::span<char> scratch = shard_.read_scratch();
  const Socket::Io io = socket_.read(scratch);
  switch (io.status) {
    case Status::kOk:
      take_input({scratch.data(), io.bytes});
      return read_watch_ != nullptr && (io.bytes == scratch.size() || socket_.has_buffered());
    case Status::kWantRead:
    case Status::kWantWrite:
      return false;
    case Status::kEnd:
      on_input_end();
      return false;
    case Status::kFailed:
      close();
      return false;
  }
  return false;
}

void HttpConnection::take_input(std::string_view bytes) {
  switch (state_) {
    case State::kReading:
      if (input_.empty()) {
        bytes.remove_prefix(advance(bytes));
        input_.append(bytes);
      } else {
        input_.append(bytes);
        advance_buffered();
      }
      break;
    case State::kHandling:
    case State::kWriting:
    case State::kStreaming:
      input_.append(bytes);
      break;
    case State::kLingering:
      lingered_ += bytes.size();
      if (lingered_ > kMaxLinger) close();
      break;
    case State::kHandshake:
    case State::kUpgraded:
    case State::kClosed:
      break;
  }
  update_read_watch();
}

void HttpConnection::on_input_end() {
  input_ended_ = true;
  read_watch_.reset();
  // Who sent a whole request and then half-closed still gets the answer; a stream has nobody left to read it.
  if (state_ == State::kHandling || state_ == State::kWriting)
    keep_alive_ = false;
  else
    close();
}

// Parses and dispatches what it can; returns how much of `bytes` is dealt with.
std::size_t HttpConnection::advance(std::string_view bytes) {
  advancing_ = true;
  std::size_t used = 0;
  for (int turn = 0; state_ == State::kReading && used < bytes.size(); ++turn) {
    if (turn == kRequestsPerTurn) {
      shard_.loop().post([weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->advance_buffered();
      });
      break;
    }
    const ParseProgress progress = parser_.feed(bytes.substr(used));
    used += progress.used;
    if (progress.state == ParseState::kDone) {
      dispatch();
    } else if (progress.state == ParseState::kBad) {
      const int status = parser_.error_status();
      keep_alive_ = false;
      head_only_ = http_1_0_ = false;
      answer_error(status, status == 413 ? "RequestEntityTooLarge" : "BadRequest", parser_.error_message());
    } else {
      note_header();
      break;
    }
  }
  advancing_ = false;
  return used;
}

void HttpConnection::advance_buffered() {
  if (advancing_ || state_ != State::kReading) return;
  const auto self = shared_from_this();
  input_.erase(0, advance(input_));
  update_read_watch();
}

// A request has begun and is not complete: sets the clock for the rest of it.
void HttpConnection::note_header() {
  if (!std::exchange(request_begun_, true)) deadline_ = shard_.now() + shard_.options().header_timeout;
  if (!parser_.header_done() || continue_sent_) return;
  continue_sent_ = true;
  deadline_ = shard_.now() + shard_.options().body_timeout;
  if (!parser_.expects_continue()) return;
  out_.append("HTTP/1.1 100 Continue\r\n\r\n");
  flush();
}

void HttpConnection::dispatch() {
  keep_alive_ = parser_.keep_alive();
  http_1_0_ = parser_.http_1_0();
  sys::HttpRequest request = parser_.take();
  head_only_ = request.method == "HEAD";
  websocket_key_ = handshake_key(request);
  const std::uint64_t id = ++request_;
  state_ = State::kHandling;
  deadline_ = MonoTime::max();
  if (!http_1_0_ && request.headers.get("Host").empty()) {
    keep_alive_ = false;
    return answer_error(400, "BadRequest", "malformed HTTP request: missing Host header");
  }
  request.peer = peer_;
  const auto ticket = std::make_shared<Ticket>(weak_from_this(), id);
  try {
    shard_.handler().handle(std::move(request), shard_.loop(),
                            [ticket](sys::HttpResponse&& response) { ticket->use(std::move(response)); });
    return;
  } catch (const std::exception& e) {
    sys::log_error("a request handler failed", {{"error", e.what()}});
  } catch (...) {
    sys::log_error("a request handler failed");
  }
  ticket->used = true;
  if (state_ == State::kHandling && request_ == id)
    answer_error(500, "InternalError", "an error on the server has prevented the request from succeeding");
}

// Reading goes on while a request is handled, to learn that the client left; but not without bound.
void HttpConnection::update_read_watch() {
  const bool want = state_ != State::kClosed && state_ != State::kUpgraded && !input_ended_ &&
                    input_.size() < 2 * shard_.options().limits.header_bytes;
  if (want == (read_watch_ != nullptr)) return;
  if (!want) return read_watch_.reset();
  read_watch_ = shard_.loop().watch_fd(socket_.fd(), sys::EventLoop::FdEvent::kReadable, [this] { on_readable(); });
  if (socket_.has_buffered())
    shard_.loop().post([weak = weak_from_this()] {
      const auto connection = weak.lock();
      if (connection && connection->read_watch_) connection->on_readable();
    });
}

void HttpConnection::check_deadlines(MonoTime now) {
  const auto self = shared_from_this();
  if (now >= deadline_) return close();
  // While the write watch is there, the peer's window is full.
  const bool may_stall = stream_ && stream_->may_stall();
  if (write_watch_ && !may_stall && now - last_progress_ >= shard_.options().stall_timeout) return close();
  out_.release_memory();
  if (input_.empty()) input_.shrink_to_fit();
}

void HttpConnection::drain() {
  const auto self = shared_from_this();
  switch (state_) {
    case State::kHandshake:
      return close();
    case State::kReading:
      if (!request_begun_) close();
      return;
    case State::kStreaming:
      keep_alive_ = false;
      return end_stream();
    case State::kUpgraded:
      if (raw_) raw_->shut_down();
      return;
    default:
      keep_alive_ = false;
  }
}

void HttpConnection::close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  state_ = State::kClosed;
  read_watch_.reset();
  write_watch_.reset();
  stream_.reset();
  if (raw_) raw_->abort();
  shard_.forget(*this);
}

}  // namespace gangway::net
