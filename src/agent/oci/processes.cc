#include "agent/oci/processes.h"

#include <dirent.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "sys/clock.h"
#include "sys/file_descriptor.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

std::vector<std::string> arguments_of(pid_t pid) {
  std::vector<std::string> argv;
  const auto text = sys::read_file("/proc/" + std::to_string(pid) + "/cmdline").value_or("");
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\0', at), text.size());
    argv.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return argv;
}

}  // namespace

std::vector<RunningProcess> processes_with(const std::string& argument) {
  std::vector<RunningProcess> result;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), &::closedir);
  while (const dirent* entry = proc ? ::readdir(proc.get()) : nullptr) {
    const auto pid = static_cast<pid_t>(std::atol(entry->d_name));
    if (pid <= 0 || pid == ::getpid()) continue;
    auto argv = arguments_of(pid);
    if (std::find(argv.begin(), argv.end(), argument) != argv.end()) result.push_back({pid, std::move(argv)});
  }
  return result;
}

bool runs_with(pid_t pid, std::string_view argument) {
  const auto argv = arguments_of(pid);
  return pid > 0 && std::find(argv.begin(), argv.end(), argument) != argv.end();
}

bool ignores(pid_t pid, int signal) {
  const auto status = sys::read_file("/proc/" + std::to_string(pid) + "/status").value_or("");
  constexpr std::string_view kIgnored = "SigIgn:\t";
  const auto at = status.find(kIgnored);
  if (at == std::string::npos) return false;
  std::uint64_t mask = 0;
  std::from_chars(status.data() + at + kIgnored.size(), status.data() + status.size(), mask, 16);
  return (mask >> static_cast<unsigned>(signal - 1) & 1U) != 0;
}

void wait_or_kill(const std::vector<RunningProcess>& processes, Duration patience) {
  const auto& clock = sys::system_clock();
  const auto deadline = clock.mono() + patience;
  for (const auto& process : processes) {
    const sys::FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
    if (!handle || !runs_with(process.pid, process.argv.back())) continue;
    pollfd ended{.fd = handle.get(), .events = POLLIN, .revents = 0};
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock.mono()).count();
    if (::poll(&ended, 1, static_cast<int>(std::max<long>(left, 0))) == 1) continue;
    ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
    ::poll(&ended, 1, 1000);
  }
}

}  // namespace gangway::agent::oci
