#include "agent/oci/stream_pump.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace gangway::agent::oci {

using sys::EventLoop;

namespace {
constexpr std::size_t kBlock = 32 * 1024;
}

void StreamReader::open(sys::FileDescriptor fd, std::function<void(std::string)> on_bytes,
                        std::function<void()> on_end) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  fd_ = std::move(fd);
  on_bytes_ = std::move(on_bytes);
  on_end_ = std::move(on_end);
  if (!paused_) listen();
}

void StreamReader::listen() {
  watch_ = loop_.watch_fd(fd_.get(), EventLoop::FdEvent::kReadable, [this] { read_some(kBlock); });
}

void StreamReader::pause(bool paused) {
  paused_ = paused;
  if (!fd_) return;
  if (paused) watch_.reset();
  if (!paused && !watch_) listen();
}

void StreamReader::read_some(std::size_t at_most) {
  std::string bytes(std::min(at_most, kBlock), '\0');
  const ssize_t got = ::read(fd_.get(), bytes.data(), bytes.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got > 0) {
    bytes.resize(static_cast<std::size_t>(got));
    return on_bytes_(std::move(bytes));
  }
  // A terminal says so with EIO when its last user has gone.
  watch_.reset();
  fd_.reset();
  const auto on_end = std::exchange(on_end_, nullptr);
  if (on_end) on_end();
}

void StreamReader::drain() {
  int there = 0;
  if (!fd_ || ::ioctl(fd_.get(), FIONREAD, &there) != 0) return;
  while (there > 0 && fd_) {
    const auto block = std::min(static_cast<std::size_t>(there), kBlock);
    read_some(block);
    there -= static_cast<int>(block);
  }
}

void StreamWriter::open(int fd, std::function<void()> on_drained, std::function<void()> on_closed) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  fd_ = fd;
  on_drained_ = std::move(on_drained);
  on_closed_ = std::move(on_closed);
  if (!waiting_.empty() || closing_) flush();
}

void StreamWriter::write(std::string bytes) {
  if (closing_ || done_) return;
  waiting_ += bytes;
  if (fd_ >= 0 && !watch_) flush();
}

void StreamWriter::close() {
  closing_ = true;
  if (fd_ >= 0 && waiting_.empty()) finish();
}

void StreamWriter::abandon() {
  waiting_.clear();
  on_drained_ = nullptr;
  close();
}

void StreamWriter::flush() {
  while (!waiting_.empty()) {
    const ssize_t written = ::write(fd_, waiting_.data(), std::min(waiting_.size(), kBlock));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      if (!watch_) watch_ = loop_.watch_fd(fd_, EventLoop::FdEvent::kWritable, [this] { flush(); });
      return;
    }
    if (written < 0) {
      // Nobody reads any more: what comes is dropped, as for a process that closed its stdin.
      waiting_.clear();
      return finish();
    }
    waiting_.erase(0, static_cast<std::size_t>(written));
  }
  const bool waited = watch_ != nullptr;
  watch_.reset();
  if (waited && on_drained_) loop_.post(on_drained_);
  if (closing_) finish();
}

void StreamWriter::finish() {
  watch_.reset();
  if (std::exchange(done_, true)) return;
  fd_ = -1;
  if (const auto on_closed = std::exchange(on_closed_, nullptr)) on_closed();
}

}  // namespace gangway::agent::oci
