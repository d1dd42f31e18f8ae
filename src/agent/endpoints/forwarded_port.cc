#include "agent/endpoints/forwarded_port.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace gangway::agent {
namespace {

constexpr int kReadsPerTurn = 8;

}  // namespace

ForwardedPort::ForwardedPort(sys::EventLoop& loop, sys::FileDescriptor socket, Callbacks callbacks)
    : loop_(loop), socket_(std::move(socket)), callbacks_(std::move(callbacks)) {
  ::fcntl(socket_.get(), F_SETFL, ::fcntl(socket_.get(), F_GETFL) | O_NONBLOCK);
}

void ForwardedPort::start() {
  update_watches();
}

void ForwardedPort::update_watches() {
  const bool read = !paused_ && !input_ended_;
  if (read && !read_watch_)
    read_watch_ = loop_.watch_fd(socket_.get(), sys::EventLoop::FdEvent::kReadable, [this] { on_readable(); });
  if (!read) read_watch_.reset();
  if (unsent() > 0 && !write_watch_)
    write_watch_ = loop_.watch_fd(socket_.get(), sys::EventLoop::FdEvent::kWritable, [this] { flush(); });
  if (unsent() == 0) write_watch_.reset();
}

void ForwardedPort::on_readable() {
  const auto self = shared_from_this();
  char block[32 * 1024];
  for (int i = 0; i < kReadsPerTurn && read_watch_; ++i) {
    const ssize_t got = ::recv(socket_.get(), block, sizeof block, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) return fail();
    if (got == 0) {
      input_ended_ = true;
      update_watches();
      return callbacks_.on_end("");
    }
    callbacks_.on_bytes({block, static_cast<std::size_t>(got)});
  }
}

void ForwardedPort::write(std::string_view bytes) {
  if (end_wanted_ || bytes.empty()) return;
  out_ += bytes;
  if (std::exchange(flush_pending_, true)) return;
  loop_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->flush();
  });
}

void ForwardedPort::end_write() {
  end_wanted_ = true;
  loop_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->flush();
  });
}

void ForwardedPort::pause(bool paused) {
  if (std::exchange(paused_, paused) == paused) return;
  loop_.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->update_watches();
  });
}

void ForwardedPort::flush() {
  const auto self = shared_from_this();
  flush_pending_ = false;
  const bool had_some = unsent() > 0;
  while (unsent() > 0) {
    const ssize_t sent = ::send(socket_.get(), out_.data() + sent_, unsent(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (sent < 0) return fail();
    sent_ += static_cast<std::size_t>(sent);
  }
  if (unsent() == 0) {
    out_.clear();
    sent_ = 0;
    if (end_wanted_ && !std::exchange(write_ended_, true)) ::shutdown(socket_.get(), SHUT_WR);
  }
  update_watches();
  if (had_some && unsent() == 0) callbacks_.on_drained();
}

void ForwardedPort::fail() {
  const std::string error = std::strerror(errno);
  input_ended_ = end_wanted_ = true;
  out_.clear();
  sent_ = 0;
  update_watches();
  callbacks_.on_end(error);
}

}  // namespace gangway::agent
