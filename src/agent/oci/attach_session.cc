#include "agent/oci/attach_session.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

using sys::FileDescriptor;

constexpr std::size_t kMaxHeld = std::size_t{4} << 20;
constexpr std::size_t kPacket = 64 * 1024;

}  // namespace

AttachSession::AttachSession(sys::EventLoop& loop, std::string folder, ExecSpec spec, ExecCallbacks callbacks)
    : loop_(loop),
      folder_(std::move(folder)),
      spec_(std::move(spec)),
      callbacks_(std::move(callbacks)),
      stdin_(loop),
      alive_(std::make_shared<int>(0)) {}

AttachSession::~AttachSession() = default;

Result<void> AttachSession::connect() {
  const FileDescriptor folder(::open(folder_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return sys::file_error("open", folder_);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  fmt::format_to_n(address.sun_path, sizeof address.sun_path - 1, "/proc/self/fd/{}/attach", folder.get());
  socket_.reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket_ || ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return sys::file_error("attach at", folder_);
  }
  watch_ = loop_.watch_fd(socket_.get(), sys::EventLoop::FdEvent::kReadable, [this] { read_packet(); });
  if (spec_.stdin_open) {
    // conmon then closes the container's stdin, unless it is to stay open for the next one.
    stdin_.open(socket_.get(), callbacks_.on_drained, [this] { ::shutdown(socket_.get(), SHUT_WR); });
  }
  return {};
}

void AttachSession::write(std::string bytes) {
  if (spec_.stdin_open) stdin_.write(std::move(bytes));
}

void AttachSession::read_packet() {
  std::string packet(kPacket, '\0');
  const ssize_t got = ::recv(socket_.get(), packet.data(), packet.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    watch_.reset();
    at_end_ = true;
    return finish_when_read();
  }
  packet.resize(static_cast<std::size_t>(got));
  const int stream = packet[0] == 3 ? 2 : 1;
  packet.erase(0, 1);
  if (stream == 1 ? spec_.out : spec_.err) {
    held_bytes_ += packet.size();
    held_.emplace_back(stream, std::move(packet));
  }
  if (held_bytes_ > kMaxHeld) watch_.reset();
  deliver();
}

void AttachSession::deliver() {
  const std::weak_ptr alive = alive_;
  while (!paused_ && !held_.empty()) {
    auto [stream, bytes] = std::move(held_.front());
    held_.pop_front();
    held_bytes_ -= bytes.size();
    if (callbacks_.on_output) callbacks_.on_output(stream, std::move(bytes));
    if (alive.expired()) return;  // the listener has dropped us
  }
  if (!watch_ && !at_end_ && socket_ && held_bytes_ <= kMaxHeld) {
    watch_ = loop_.watch_fd(socket_.get(), sys::EventLoop::FdEvent::kReadable, [this] { read_packet(); });
  }
  finish_when_read();
}

void AttachSession::finish_when_read() {
  if (!at_end_ || !code_ || !held_.empty()) return;
  const auto callbacks = std::exchange(callbacks_, {});
  if (callbacks.on_exit) callbacks.on_exit(*code_);
}

void AttachSession::container_ended(int code) {
  code_ = code;
  finish_when_read();
}

void AttachSession::resize(std::uint16_t columns, std::uint16_t rows) {
  const FileDescriptor control(::open((folder_ + "/ctl").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  if (!control) return;
  const auto line = fmt::format("1 {} {}\n", rows, columns);
  static_cast<void>(::write(control.get(), line.data(), line.size()) == 0);
}

void AttachSession::pause(bool paused) {
  paused_ = paused;
  if (!paused) deliver();
}

}  // namespace gangway::agent::oci
