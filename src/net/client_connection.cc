#include "net/client_connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace gangway::net {
namespace {

using Status = Socket::Status;
using FdEvent = sys::EventLoop::FdEvent;

constexpr std::size_t kReadBlock = 64 * 1024;

// One block a thread instead of one a connection: nothing is left in it between two events.
std::span<char> read_block() {
  thread_local std::vector<char> block(kReadBlock);
  return block;
}

Error unavailable(std::string message) {
  return Error{.reason = Reason::kServiceUnavailable, .message = std::move(message), .subject = {}, .causes = {}};
}

}  // namespace

void Exchange::report_head() {
  if (over || !streaming || std::exchange(head_reported, true)) return;
  stop_timer();
  callbacks.on_head(std::move(response));
}

void Exchange::finish() {
  report_head();
  if (std::exchange(over, true)) return;
  stop_timer();
  if (streaming)
    callbacks.on_end({});
  else
    done(std::move(response));
}

void Exchange::stop_timer() {
  if (loop != nullptr) loop->cancel(std::exchange(timer, sys::TimerId::kNone));
}

void Exchange::cancel() {
  over = true;
  stop_timer();
}

void Exchange::fail(Error error) {
  if (std::exchange(over, true)) return;
  stop_timer();
  if (streaming)
    callbacks.on_end(std::move(error));
  else
    done(std::move(error));
}

ClientConnection::ClientConnection(sys::EventLoop& loop, Socket socket, std::size_t max_response_bytes, Events events)
    : loop_(loop),
      socket_(std::move(socket)),
      max_response_bytes_(max_response_bytes),
      events_(std::move(events)),
      parser_([this](std::string_view bytes) { take_body(bytes); }) {}

void ClientConnection::open(Duration timeout) {
  connect_timer_ = loop_.run_after(timeout, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->lose("no connection in time");
  });
  watch_writable();
}

void ClientConnection::begin(std::shared_ptr<Exchange> exchange) {
  exchange_ = std::move(exchange);
  untouched_ = true;
  parser_.reset(exchange_->request.method == "HEAD");
  out_.append(exchange_->head);
  // Kept, not moved: the request may have to be sent again on another connection.
  out_.append(exchange_->request.body);
  if (state_ == State::kReady) flush();
}

void ClientConnection::close() {
  if (std::exchange(state_, State::kClosed) == State::kClosed) return;
  loop_.cancel(std::exchange(connect_timer_, sys::TimerId::kNone));
  read_watch_.reset();
  write_watch_.reset();
  exchange_.reset();
  if (const auto raw = std::exchange(raw_, nullptr)) raw->abort();
}

void ClientConnection::on_pause() {
  if (state_ != State::kReady || !exchange_) return;
  if (exchange_->paused) return read_watch_.reset();
  if (read_watch_) return;
  read_watch_ = loop_.watch_fd(socket_.fd(), FdEvent::kReadable, [this] { on_readable(); });
  // The poller sees what is left in the kernel, but not what is left in the TLS layer.
  if (socket_.has_buffered())
    loop_.post([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (self && self->read_watch_) self->on_readable();
    });
}

void ClientConnection::watch_writable() {
  if (!write_watch_) write_watch_ = loop_.watch_fd(socket_.fd(), FdEvent::kWritable, [this] { on_writable(); });
}

void ClientConnection::on_writable() {
  const auto self = shared_from_this();
  if (state_ == State::kConnecting) {
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(socket_.fd(), SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) return lose(std::strerror(code));
    state_ = State::kHandshake;
    connected_ = true;
    read_watch_ = loop_.watch_fd(socket_.fd(), FdEvent::kReadable, [this] { on_readable(); });
  }
  if (state_ == State::kHandshake) return shake_hands();
  flush();
}

void ClientConnection::shake_hands() {
  switch (socket_.handshake()) {
    case Status::kOk:
      break;
    case Status::kWantRead:
      return write_watch_.reset();
    case Status::kWantWrite:
      return watch_writable();
    default:
      return lose(socket_.last_error());
  }
  state_ = State::kReady;
  loop_.cancel(std::exchange(connect_timer_, sys::TimerId::kNone));
  flush();
}

void ClientConnection::flush() {
  switch (out_.flush(socket_).status) {
    case Status::kOk:
      return write_watch_.reset();
    case Status::kWantRead:
    case Status::kWantWrite:
      return watch_writable();
    default:
      break;
  }
  // A server that refuses a request answers before it has read all of it; the answer may still be there to read.
  write_watch_.reset();
  loop_.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self && self->state_ == State::kReady) self->lose("the connection broke while the request was sent");
  });
}

void ClientConnection::on_readable() {
  const auto self = shared_from_this();
  if (state_ == State::kHandshake) return shake_hands();
  for (bool more = true; more && state_ == State::kReady && read_watch_;) {
    const std::span<char> block = read_block();
    const Socket::Io io = socket_.read(block);
    switch (io.status) {
      case Status::kOk:
        take_input({block.data(), io.bytes});
        break;
      case Status::kEnd:
        return on_input_end();
      case Status::kFailed:
        return lose(socket_.last_error());
      default:
        return;
    }
    more = io.bytes == block.size() || socket_.has_buffered();
  }
}

void ClientConnection::take_input(std::string_view bytes) {
  if (!exchange_) return lose("the server sent what nobody asked for");
  untouched_ = false;
  input_.append(bytes);
  for (;;) {
    const ParseProgress progress = parser_.feed(input_);
    input_.erase(0, progress.used);
    if (state_ != State::kReady) return;
    if (too_large_) return lose("the answer is too large");
    if (progress.state == ParseState::kBad) return lose(parser_.error_message());
    if (parser_.header_done() && parser_.status() >= 200 && exchange_->streaming && !exchange_->head_reported) {
      exchange_->response.status = parser_.status();
      exchange_->response.headers = std::move(parser_.headers());
      exchange_->report_head();
      if (state_ != State::kReady) return;
    }
    if (progress.state == ParseState::kNeedMore) return;
    if (parser_.status() == 101 && exchange_->session) return upgrade();
    if (parser_.status() >= 200) return complete();
    // 100 Continue and its kind come before the answer.
    parser_.reset(exchange_->request.method == "HEAD");
  }
}

void ClientConnection::take_body(std::string_view bytes) {
  if (!exchange_ || exchange_->over) return;
  Exchange& exchange = *exchange_;
  if (!exchange.streaming) {
    too_large_ = too_large_ || exchange.response.body.size() + bytes.size() > max_response_bytes_;
    if (!too_large_) exchange.response.body.append(bytes);
    return;
  }
  const auto keep = exchange_;  // a callback may cancel
  if (!exchange.head_reported) {
    exchange.response.status = parser_.status();
    exchange.response.headers = std::move(parser_.headers());
    exchange.report_head();
  }
  if (!exchange.over) exchange.callbacks.on_data(bytes);
}

void ClientConnection::on_input_end() {
  if (exchange_ && !untouched_ && parser_.end_of_input() == ParseState::kDone) return complete();
  lose("the server closed the connection");
}

void ClientConnection::complete() {
  const auto exchange = std::move(exchange_);
  exchange_.reset();
  const bool keep = parser_.keep_alive() && input_.empty() && out_.pending() == 0;
  if (!exchange->streaming) {
    exchange->response.status = parser_.status();
    exchange->response.headers = std::move(parser_.headers());
  }
  ++served_;
  free_since_ = loop_.clock().mono();
  const auto self = shared_from_this();
  if (keep) {
    events_.on_free(self);
  } else {
    close();
    events_.on_lost(self, nullptr, unavailable("closed"));
  }
  exchange->finish();
}

// The connection belongs to the session from here on; this one only keeps it.
void ClientConnection::upgrade() {
  const auto self = shared_from_this();
  const auto exchange = exchange_;
  state_ = State::kUpgraded;
  read_watch_.reset();
  write_watch_.reset();
  raw_ =
      std::make_shared<RawConnection>(loop_, std::move(socket_), std::exchange(out_, {}), std::move(exchange->session),
                                      RawConnection::Options{}, [this] { lose("the connection was closed"); });
  exchange->response.status = parser_.status();
  exchange->response.headers = std::move(parser_.headers());
  exchange->finish();
  if (state_ == State::kUpgraded) raw_->start(std::exchange(input_, {}));
}

void ClientConnection::lose(std::string why) {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();
  const auto exchange = exchange_;
  close();
  events_.on_lost(self, exchange, unavailable(std::move(why)));
}

}  // namespace gangway::net
