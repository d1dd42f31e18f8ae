#include "net/raw_connection.h"

#include <exception>
#include <utility>
#include <vector>

#include "sys/log.h"

namespace gangway::net {
namespace {

using Status = Socket::Status;
using FdEvent = sys::EventLoop::FdEvent;

constexpr int kReadsPerTurn = 8;
// What a closing connection throws away before it stops being polite.
constexpr std::size_t kMaxLinger = 16 * 1024 * 1024;

// One block a thread: nothing is left in it between two events.
std::span<char> read_block() {
  thread_local std::vector<char> block(64 * 1024);
  return block;
}

}  // namespace

RawConnection::RawConnection(sys::EventLoop& loop, Socket socket, OutputQueue out,
                             std::unique_ptr<sys::ByteSession> session, Options options, sys::Task on_closed)
    : loop_(loop),
      socket_(std::move(socket)),
      out_(std::move(out)),
      session_(std::move(session)),
      options_(options),
      on_closed_(std::move(on_closed)) {}

RawConnection::~RawConnection() {
  loop_.cancel(deadline_);
}

void RawConnection::start(std::string_view early) {
  const auto self = shared_from_this();
  opened_ = true;
  wake();
  try {
    session_->on_open(*this);
  } catch (const std::exception& e) {
    sys::log_error("a session failed to open", {{"error", e.what()}});
    return finish();
  }
  if (state_ == State::kOpen && !early.empty()) deliver(early);
  update_read_watch();
}

void RawConnection::shut_down() {
  const auto self = shared_from_this();
  if (state_ == State::kOpen && opened_ && session_) session_->on_shutdown();
}

void RawConnection::abort() {
  on_closed_ = nullptr;
  finish();
}

void RawConnection::send(std::string_view bytes) {
  if (state_ != State::kOpen) return;
  out_.append(bytes);
  draining_ = true;
  // The caller may be inside a callback of its session, which a failing write would end: writing is for the next turn.
  wake();
}

void RawConnection::pause(bool paused) {
  if (std::exchange(paused_, paused) == paused || state_ != State::kOpen) return;
  // By post: the caller may be inside our own read.
  wake();
}

void RawConnection::close() {
  if (state_ != State::kOpen) return;
  state_ = State::kClosing;
  wake();
}

void RawConnection::wake() {
  if (std::exchange(wake_pending_, true)) return;
  loop_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_wake();
  });
}

void RawConnection::on_wake() {
  wake_pending_ = false;
  if (state_ == State::kClosed) return;
  if (out_.pending() > options_.max_unsent) return finish();
  if (!write_watch_) flush();
  if (state_ != State::kClosed) update_read_watch();
}

void RawConnection::on_readable() {
  const auto self = shared_from_this();
  for (int i = 0; i < kReadsPerTurn && read_watch_; ++i)
    if (!read_once()) return;
  // The poller sees what is left in the kernel, but not what is left in the TLS layer.
  if (read_watch_ && socket_.has_buffered())
    loop_.post([weak = weak_from_this()] {
      const auto connection = weak.lock();
      if (connection && connection->read_watch_) connection->on_readable();
    });
}

// True when there may be more to read right away.
bool RawConnection::read_once() {
  const std::span<char> block = read_block();
  const Socket::Io io = socket_.read(block);
  switch (io.status) {
    case Status::kOk:
      deliver({block.data(), io.bytes});
      update_read_watch();
      return io.bytes == block.size() || socket_.has_buffered();
    case Status::kWantRead:
    case Status::kWantWrite:
      return false;
    case Status::kEnd:
      on_input_end();
      return false;
    case Status::kFailed:
      finish();
      return false;
  }
  return false;
}

void RawConnection::deliver(std::string_view bytes) {
  if (state_ == State::kClosing) {
    discarded_ += bytes.size();
    if (discarded_ > kMaxLinger) finish();
    return;
  }
  if (state_ != State::kOpen || !session_) return;
  try {
    session_->on_bytes(bytes);
  } catch (const std::exception& e) {
    sys::log_error("a session failed", {{"error", e.what()}});
    finish();
  }
}

void RawConnection::on_input_end() {
  input_ended_ = true;
  read_watch_.reset();
  if (state_ == State::kOpen) state_ = State::kClosing;
  end_session();
  wake();
}

void RawConnection::flush() {
  const auto self = shared_from_this();
  switch (out_.flush(socket_).status) {
    case Status::kOk:
      write_watch_.reset();
      break;
    case Status::kWantRead:
    case Status::kWantWrite:
      if (!write_watch_) write_watch_ = loop_.watch_fd(socket_.fd(), FdEvent::kWritable, [this] { flush(); });
      if (state_ == State::kClosing) linger();
      return;
    case Status::kEnd:
    case Status::kFailed:
      return finish();
  }
  if (state_ == State::kClosing) return linger();
  if (std::exchange(draining_, false) && session_) session_->on_drained();
}

// The peer is to see the last bytes: closing with unread input would reset the connection.
void RawConnection::linger() {
  end_session();
  if (state_ == State::kClosed) return;
  // A peer that is slow to read the last of it (a pager) has all the time it wants; one that sends no more has not.
  if (out_.pending() > 0 && !input_ended_) return;
  if (deadline_ == sys::TimerId::kNone)
    deadline_ = loop_.run_after(options_.linger, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->finish();
    });
  if (out_.pending() > 0) return;
  if (!std::exchange(write_ended_, true)) socket_.shutdown_write();
  if (input_ended_) return finish();
  update_read_watch();
}

void RawConnection::update_read_watch() {
  const bool want = state_ != State::kClosed && !input_ended_ && (!paused_ || state_ == State::kClosing);
  if (want == (read_watch_ != nullptr)) return;
  if (!want) return read_watch_.reset();
  read_watch_ = loop_.watch_fd(socket_.fd(), FdEvent::kReadable, [this] { on_readable(); });
  if (socket_.has_buffered())
    loop_.post([weak = weak_from_this()] {
      const auto connection = weak.lock();
      if (connection && connection->read_watch_) connection->on_readable();
    });
}

void RawConnection::finish() {
  if (std::exchange(state_, State::kClosed) == State::kClosed) return;
  const auto self = weak_from_this().lock();
  read_watch_.reset();
  write_watch_.reset();
  loop_.cancel(std::exchange(deadline_, sys::TimerId::kNone));
  end_session();
  if (const auto on_closed = std::exchange(on_closed_, nullptr)) on_closed();
}

void RawConnection::end_session() {
  // on_close() may let go of what keeps the session's world alive, so the session is ours alone by then.
  const auto session = std::move(session_);
  if (!session || !opened_) return;
  try {
    session->on_close();
  } catch (const std::exception& e) {
    sys::log_error("a session failed to close", {{"error", e.what()}});
  }
}

}  // namespace gangway::net
