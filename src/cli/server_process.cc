#include "cli/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "sys/process_end.h"

namespace gangway::cli {
namespace {

// Pods have their time to end.
constexpr int kStopTimeoutMs = 120'000;
constexpr int kDyingMs = 2'000;

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGUSR1);
  return set;
}

Error system_error(std::string_view what) {
  return internal_error(fmt::format("{}: {}", what, std::strerror(errno)));
}

// What the child says on the pipe: "ready" or "error", a newline, and the message.
void report(int pipe, const Result<std::string>& message) {
  auto text = message ? "ready\n" + *message : "error\n" + message.error().message;
  const char* at = text.data();
  auto left = text.size();
  while (left > 0) {
    auto written = write(pipe, at, left);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    at += written;
    left -= static_cast<std::size_t>(written);
  }
  close(pipe);
}

std::string read_all(int pipe) {
  std::string text;
  char buffer[4096];
  while (true) {
    auto got = read(pipe, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

Result<int> open_log(const DataDir& data) {
  int log = open(data.log_file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) return system_error(fmt::format("cannot open {}", data.log_file()));
  return log;
}

void become_server(int log) {
  setsid();
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  if (chdir("/") != 0) _exit(1);
}

}  // namespace

void block_stop_signals() {
  auto set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

PodsThen wait_for_stop_signal() {
  auto set = stop_signals();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
  return signal == SIGUSR1 ? PodsThen::kGoOn : PodsThen::kEnd;
}

Result<std::string> detach(const DataDir& data, const std::function<int(const ReportReady&)>& serve) {
  GW_CHECKED(data.create());
  GW_TRY(int log, open_log(data));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error("cannot make a pipe");
  pid_t child = fork();
  if (child < 0) return system_error("cannot start a process");
  if (child == 0) {
    close(ends[0]);
    become_server(log);
    _exit(serve([pipe = ends[1]](const Result<std::string>& message) { report(pipe, message); }));
  }
  close(ends[1]);
  close(log);
  auto said = read_all(ends[0]);
  close(ends[0]);
  auto newline = said.find('\n');
  auto message = newline == std::string::npos ? std::string() : said.substr(newline + 1);
  if (said.starts_with("ready\n")) return message;
  int status = 0;
  waitpid(child, &status, 0);
  if (message.empty()) message = fmt::format("the server ended before it was ready; its log is {}", data.log_file());
  return internal_error(message);
}

std::optional<pid_t> lasting_server(const DataDir& data) {
  auto pid = data.running();
  if (!pid) return std::nullopt;
  sys::FileDescriptor watched = sys::watch_process(*pid);
  if (watched && sys::ends_within(watched, kDyingMs)) return std::nullopt;
  return data.running();
}

Result<void> stop_server(const DataDir& data, PodsThen pods) {
  auto pid = data.running();
  if (!pid) {
    Error error;
    error.reason = Reason::kNotFound;
    error.message = fmt::format("no server is running on {}", data.path());
    return error;
  }
  sys::FileDescriptor watched = sys::watch_process(*pid);
  if (kill(*pid, pods == PodsThen::kEnd ? SIGTERM : SIGUSR1) != 0)
    return system_error(fmt::format("cannot stop process {}", *pid));
  if (!watched) return system_error(fmt::format("cannot watch process {}", *pid));
  if (sys::ends_within(watched, kStopTimeoutMs)) return {};
  return internal_error(
      fmt::format("process {} did not end within {} s; see {}", *pid, kStopTimeoutMs / 1000, data.log_file()));
}

}  // namespace gangway::cli
