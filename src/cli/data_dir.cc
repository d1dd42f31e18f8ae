#include "cli/data_dir.h"

#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "sys/files.h"

namespace gangway::cli {
namespace {

std::string home_directory() {
  if (const char* home = std::getenv("HOME"); home && *home) return home;
  const auto* entry = getpwuid(getuid());
  return entry ? entry->pw_dir : "/";
}

Result<void> make_directory(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return internal_error(fmt::format("cannot make the directory {}: {}", path, error.message()));
  if (chmod(path.c_str(), 0700) != 0)
    return internal_error(fmt::format("cannot make {} private: {}", path, std::strerror(errno)));
  return {};
}

// A pid may have been given to another program since the file was written. One that is dead and not yet collected by
// its parent keeps its name, but has no command line any more.
bool is_gangway(pid_t pid) {
  auto name = sys::read_file(fmt::format("/proc/{}/comm", pid));
  auto command = sys::read_file(fmt::format("/proc/{}/cmdline", pid));
  return name && name->starts_with("gangway") && command && !command->empty();
}

std::optional<pid_t> gangway_named_in(const std::string& pid_file) {
  auto text = sys::read_file(pid_file);
  if (!text) return std::nullopt;
  pid_t pid = 0;
  auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), pid);
  if (error != std::errc() || pid <= 0 || kill(pid, 0) != 0 || !is_gangway(pid)) return std::nullopt;
  return pid;
}

}  // namespace

std::string DataDir::default_path() {
  if (const char* data = std::getenv("XDG_DATA_HOME"); data && *data == '/') return std::string(data) + "/gangway";
  return home_directory() + "/.local/share/gangway";
}

Result<void> DataDir::create() const {
  GW_CHECKED(make_directory(path_));
  GW_CHECKED(make_directory(pki()));
  return make_directory(agent());
}

Result<void> DataDir::write_pid(pid_t pid) const {
  return sys::atomic_write(pid_file(), fmt::format("{}\n", pid), 0644);
}

void DataDir::remove_pid() const {
  unlink(pid_file().c_str());
}

std::optional<pid_t> DataDir::running() const {
  return gangway_named_in(pid_file());
}

std::optional<pid_t> DataDir::running_agent() const {
  return gangway_named_in(agent_pid_file());
}

}  // namespace gangway::cli
