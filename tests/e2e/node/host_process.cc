#include "host_process.h"

#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sys/spawn.h"

namespace gangway::test_node {
namespace {

void set_nonblocking(int fd) {
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Result<void> HostProcess::start(const HostProcessSpec& spec) {
  terminal_ = spec.terminal;
  GW_CHECKED(spec.terminal ? start_with_terminal(spec) : start_with_pipes(spec));
  exit_ = loop_.on_exit(pid_, [weak = weak_from_this()](int status) {
    const auto self = weak.lock();
    if (!self) return;
    self->ended_ = true;
    self->code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    // What a grandchild holds open is none of ours: a terminal is over when its leader is.
    if (self->terminal_) self->pause(false);
    self->report_if_over();
  });
  watch_outputs();
  return {};
}

Result<void> HostProcess::start_with_pipes(const HostProcessSpec& spec) {
  GW_TRY(auto out, sys::make_pipe());
  GW_TRY(auto err, sys::make_pipe());
  sys::Pipe in;
  if (spec.stdin_open) {
    GW_TRY(in, sys::make_pipe());
    // The child's end blocks, as programs expect.
    ::fcntl(in.reader.get(), F_SETFL, 0);
  }
  GW_TRY(pid_, sys::spawn({.argv = spec.argv,
                           .environment = {},
                           .working_directory = "",
                           .descriptors = {in.reader.get(), out.writer.get(), err.writer.get()}}));
  stdin_ = std::move(in.writer);
  if (stdin_) set_nonblocking(stdin_.get());
  add_output(1, std::move(out.reader));
  add_output(2, std::move(err.reader));
  return {};
}

Result<void> HostProcess::start_with_terminal(const HostProcessSpec& spec) {
  int master = -1;
  int slave = -1;
  if (::openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) return internal_error(std::strerror(errno));
  sys::FileDescriptor ours(master);
  const sys::FileDescriptor theirs(slave);
  ::fcntl(master, F_SETFD, FD_CLOEXEC);
  ::fcntl(slave, F_SETFD, FD_CLOEXEC);
  // Makes the terminal the controlling one, so that Ctrl-C and job control work.
  std::vector<std::string> argv{"setsid", "--ctty", "--wait"};
  argv.insert(argv.end(), spec.argv.begin(), spec.argv.end());
  GW_TRY(
      pid_,
      sys::spawn(
          {.argv = std::move(argv), .environment = {}, .working_directory = "", .descriptors = {slave, slave, slave}}));
  set_nonblocking(master);
  stdin_ = sys::FileDescriptor(::dup(master));
  add_output(1, std::move(ours));
  return {};
}

void HostProcess::add_output(int stream, sys::FileDescriptor fd) {
  auto output = std::make_unique<Output>();
  output->stream = stream;
  output->fd = std::move(fd);
  outputs_.push_back(std::move(output));
}

void HostProcess::watch_outputs() {
  for (auto& output : outputs_) {
    if (paused_) output->watch.reset();
    if (!paused_ && output->fd && !output->watch)
      output->watch = loop_.watch_fd(output->fd.get(), sys::EventLoop::FdEvent::kReadable,
                                     [this, at = output.get()] { on_readable(*at); });
  }
}

void HostProcess::on_readable(Output& output) {
  const auto self = shared_from_this();
  char block[16 * 1024];
  const ssize_t got = ::read(output.fd.get(), block, sizeof block);
  if (got > 0) return callbacks_.on_output(output.stream, std::string(block, static_cast<std::size_t>(got)));
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  // A terminal nobody has open any more reads as an error.
  output.watch.reset();
  output.fd.reset();
  report_if_over();
}

void HostProcess::report_if_over() {
  for (const auto& output : outputs_)
    if (output->fd) return;
  if (!ended_ || std::exchange(told_, true)) return;
  const auto self = shared_from_this();
  callbacks_.on_exit(code_);
}

void HostProcess::write(std::string_view bytes) {
  input_ += bytes;
  flush();
}

void HostProcess::flush() {
  const bool had_some = !input_.empty();
  while (stdin_ && !input_.empty()) {
    const ssize_t sent = ::write(stdin_.get(), input_.data(), input_.size());
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (sent < 0) {
      input_.clear();
      stdin_watch_.reset();
      stdin_.reset();
      break;
    }
    input_.erase(0, static_cast<std::size_t>(sent));
  }
  if (!stdin_) input_.clear();
  if (!input_.empty()) {
    if (!stdin_watch_)
      stdin_watch_ = loop_.watch_fd(stdin_.get(), sys::EventLoop::FdEvent::kWritable, [this] { flush(); });
    return;
  }
  stdin_watch_.reset();
  if (close_wanted_) {
    if (terminal_ && stdin_) static_cast<void>(!::write(stdin_.get(), "\x04", 1));
    stdin_.reset();
  }
  if (had_some && callbacks_.on_drained)
    loop_.post([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->callbacks_.on_drained();
    });
}

void HostProcess::close_stdin() {
  close_wanted_ = true;
  flush();
}

void HostProcess::resize(std::uint16_t columns, std::uint16_t rows) {
  winsize size{};
  size.ws_col = columns;
  size.ws_row = rows;
  if (terminal_ && stdin_) ::ioctl(stdin_.get(), TIOCSWINSZ, &size);
}

void HostProcess::pause(bool paused) {
  paused_ = paused;
  watch_outputs();
}

void HostProcess::kill() const {
  ::kill(-pid_, SIGKILL);
}

// What it prints is still read: a broken pipe would be a signal too.
void HostProcess::drop_streams() {
  if (told_ || pid_ == 0) return;
  stdin_watch_.reset();
  stdin_.reset();
  callbacks_ = {[](int, const std::string&) {}, {}, [this](int) { keep_.reset(); }, [](const std::string&) {}};
  keep_ = shared_from_this();
  pause(false);
}

}  // namespace gangway::test_node
