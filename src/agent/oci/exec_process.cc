#include "agent/oci/exec_process.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include "agent/oci/tool_message.h"
#include "sys/entropy.h"
#include "sys/files.h"
#include "sys/spawn.h"

namespace gangway::agent::oci {
namespace {

using sys::FileDescriptor;

// A socket's address has room for 107 characters, a data directory may be deeper: the folder is named by a descriptor.
Result<FileDescriptor> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return internal_error("the socket's path is too long: " + path);
  path.copy(address.sun_path, path.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 1) != 0) {
    return sys::file_error("listen at", path);
  }
  return socket;
}

FileDescriptor receive_descriptor(int socket) {
  char name[256];
  iovec part{.iov_base = name, .iov_len = sizeof name};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (::recvmsg(socket, &message, MSG_CMSG_CLOEXEC) < 0) return FileDescriptor();
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return FileDescriptor();
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return FileDescriptor(fd);
}

}  // namespace

ExecProcess::ExecProcess(sys::EventLoop& loop, ExecRequest request, ExecCallbacks callbacks)
    : loop_(loop),
      request_(std::move(request)),
      callbacks_(std::move(callbacks)),
      stdin_(loop),
      out_(loop),
      err_(loop),
      status_(loop) {}

ExecProcess::~ExecProcess() {
  if (!console_path_.empty()) ::unlink(console_path_.c_str());
}

Result<void> ExecProcess::start(std::function<void()> on_gone) {
  on_gone_ = std::move(on_gone);
  return request_.spec.terminal ? start_with_terminal() : start_with_pipes();
}

Result<void> ExecProcess::start_with_pipes() {
  GW_TRY(auto in, sys::make_pipe());
  GW_TRY(auto out, sys::make_pipe());
  GW_TRY(auto err, sys::make_pipe());
  // The process expects a stdin that waits.
  ::fcntl(in.reader.get(), F_SETFL, 0);
  GW_CHECKED(spawn_shim({}, {request_.spec.stdin_open ? in.reader.get() : -1, out.writer.get(), err.writer.get()}));
  out_.open(
      std::move(out.reader), [this](std::string bytes) { on_bytes(1, std::move(bytes)); }, [this] { on_stream_end(); });
  err_.open(
      std::move(err.reader), [this](std::string bytes) { on_bytes(2, std::move(bytes)); }, [this] { on_stream_end(); });
  if (request_.spec.stdin_open) {
    stdin_end_ = std::move(in.writer);
    stdin_.open(stdin_end_.get(), callbacks_.on_drained, [this] { stdin_end_.reset(); });
  }
  return {};
}

Result<void> ExecProcess::start_with_terminal() {
  folder_.reset(::open(request_.folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder_) return sys::file_error("open", request_.folder);
  console_path_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(folder_.get()) + "/console-" +
                  sys::name_suffix(sys::system_entropy(), 8);
  GW_TRY(console_, listen_at(console_path_));
  GW_TRY(auto err, sys::make_pipe());  // for runc's own words
  GW_CHECKED(spawn_shim({"--tty", "--console-socket", console_path_}, {-1, -1, err.writer.get()}));
  err_.open(
      std::move(err.reader), [this](std::string bytes) { on_bytes(2, std::move(bytes)); }, [this] { on_stream_end(); });
  console_watch_ = loop_.watch_fd(console_.get(), sys::EventLoop::FdEvent::kReadable, [this] { accept_terminal(); });
  return {};
}

Result<void> ExecProcess::spawn_shim(std::vector<std::string> options, std::vector<int> streams) {
  GW_TRY(auto status, sys::make_pipe());
  const std::string pid_file = request_.folder + "/exec-" + sys::name_suffix(sys::system_entropy(), 8) + ".pid";
  sys::SpawnSpec spec;
  spec.argv = {request_.init, "--exec", pid_file};
  spec.argv.insert(spec.argv.end(), request_.runtime.begin(), request_.runtime.end());
  spec.argv.insert(spec.argv.end(), {"exec", "--detach", "--pid-file", pid_file});
  spec.argv.insert(spec.argv.end(), options.begin(), options.end());
  spec.argv.push_back(request_.runtime_id);
  spec.argv.insert(spec.argv.end(), request_.spec.command.begin(), request_.spec.command.end());
  streams.push_back(status.writer.get());
  spec.descriptors = std::move(streams);
  GW_TRY(const pid_t shim, sys::spawn(spec));
  shim_exit_ = loop_.on_exit(shim, [this](int) {
    shim_exit_.reset();
    go_when_ended();
  });
  status_.open(
      std::move(status.reader),
      [this](const std::string& bytes) {
        for (const char c : bytes) {
          if (c == '\n') on_status(std::exchange(status_line_, {}));
          if (c != '\n') status_line_ += c;
        }
      },
      [this] {
        // The shim itself was killed: nobody will ever know.
        if (!answered_ && !code_) on_status(started_ ? "exited 137" : "failed");
        go_when_ended();
      });
  return {};
}

void ExecProcess::accept_terminal() {
  const FileDescriptor connection(::accept4(console_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection) return;
  terminal_ = receive_descriptor(connection.get());
  if (!terminal_) return;
  console_watch_.reset();
  console_.reset();
  ::unlink(console_path_.c_str());
  console_path_.clear();
  folder_.reset();
  if (size_.first != 0) resize(size_.first, size_.second);
  out_.open(
      FileDescriptor(::fcntl(terminal_.get(), F_DUPFD_CLOEXEC, 3)),
      [this](std::string bytes) { on_bytes(1, std::move(bytes)); }, [this] { on_stream_end(); });
  // Closing a terminal is a signal; who wants to end a shell's input writes what ends it.
  stdin_.open(terminal_.get(), callbacks_.on_drained, nullptr);
}

void ExecProcess::on_status(std::string_view line) {
  int number = 0;
  const auto space = line.find(' ');
  if (space != std::string_view::npos) std::from_chars(line.data() + space + 1, line.data() + line.size(), number);
  if (line.starts_with("started ")) {
    started_ = true;
    pid_ = number;
    for (auto& [stream, bytes] : std::exchange(early_, {})) on_bytes(stream, std::move(bytes));
    if (kill_wanted_) kill();
  } else if (line.starts_with("exited ")) {
    pid_ = 0;
    code_ = number;
    finish_when_read();
  } else if (line == "failed" && !answered_) {
    answered_ = true;
    err_.drain();
    std::string printed;
    for (const auto& [stream, bytes] : std::exchange(early_, {})) printed += bytes;
    if (listened_ && callbacks_.on_failure) callbacks_.on_failure(tool_message(printed));
    callbacks_ = {};
  }
}

void ExecProcess::on_bytes(int stream, std::string bytes) {
  if (!started_) {
    early_.emplace_back(stream, std::move(bytes));
  } else if (listened_ && !answered_ && callbacks_.on_output &&
             (stream == 1 ? request_.spec.out : request_.spec.err && !request_.spec.terminal)) {
    callbacks_.on_output(stream, std::move(bytes));
  }
}

void ExecProcess::finish_when_read() {
  if (!code_ || answered_ || paused_) return;
  // A reader may pause, or drop us, while it is given what is left.
  const auto self = shared_from_this();
  out_.drain();
  err_.drain();
  if (paused_ || answered_) return;
  answered_ = true;
  const auto callbacks = std::exchange(callbacks_, {});
  if (listened_ && callbacks.on_exit) callbacks.on_exit(*code_);
}

void ExecProcess::on_stream_end() {
  go_when_ended();
}

void ExecProcess::go_when_ended() {
  if (shim_exit_ || !status_.ended() || !out_.ended() || !err_.ended() || !on_gone_) return;
  // Not from within one of our own calls.
  loop_.post(std::exchange(on_gone_, nullptr));
}

void ExecProcess::resize(std::uint16_t columns, std::uint16_t rows) {
  size_ = {columns, rows};
  if (!terminal_) return;
  const winsize size{.ws_row = rows, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  ::ioctl(terminal_.get(), TIOCSWINSZ, &size);
}

void ExecProcess::pause(bool paused) {
  paused_ = paused;
  out_.pause(paused);
  err_.pause(paused);
  if (!paused) finish_when_read();
}

void ExecProcess::kill() {
  kill_wanted_ = true;
  // Its whole group: a probe's shell has children.
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
}

void ExecProcess::abandon() {
  listened_ = false;
  callbacks_ = {};
  if (!request_.spec.terminal) stdin_.abandon();
  pause(false);
}

}  // namespace gangway::agent::oci
