#include "agent/network/pid_file_process.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "sys/files.h"

namespace gangway::agent {
namespace {

std::vector<std::string> arguments_of(pid_t pid) {
  std::vector<std::string> arguments;
  auto text = sys::read_file(fmt::format("/proc/{}/cmdline", pid));
  if (!text) return arguments;
  for (std::size_t at = 0; at < text->size();) {
    auto end = std::min(text->find('\0', at), text->size());
    arguments.push_back(text->substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

}  // namespace

void PidFileProcess::signal(int signal) const {
  ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0);
}

std::optional<PidFileProcess> find_process(const std::string& pid_file, const std::string& argument) {
  auto text = sys::read_file(pid_file);
  if (!text) return std::nullopt;
  pid_t pid = 0;
  std::from_chars(text->data(), text->data() + text->size(), pid);
  if (pid <= 0) return std::nullopt;
  PidFileProcess process;
  process.pid = pid;
  // Opened before it is looked at: what is looked at cannot be replaced meanwhile.
  process.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process.pidfd) return std::nullopt;
  process.argv = arguments_of(pid);
  if (std::find(process.argv.begin(), process.argv.end(), argument) == process.argv.end()) return std::nullopt;
  return process;
}

}  // namespace gangway::agent
