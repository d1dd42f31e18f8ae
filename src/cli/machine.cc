#include "cli/machine.h"

#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "agent/oci/gpus.h"
#include "base/address.h"
#include "sys/file_descriptor.h"

namespace gangway::cli {
namespace {

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  std::string out;
  for (char c : std::string_view(name)) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    bool allowed = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    out += allowed ? c : '-';
  }
  return out;
}

int usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.host_name = host_name();
  machine.cpus = usable_cpus();
  machine.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  machine.gpus = static_cast<int>(agent::oci::find_gpus().size());
  return machine;
}

// The kernel lets a socket have any address that is this machine's, and no other.
bool has_address(const std::string& address) {
  const auto parsed = parse_address(address);
  if (!parsed) return false;
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  std::copy_n(parsed->bytes.begin(), sizeof v4.sin_addr, reinterpret_cast<std::uint8_t*>(&v4.sin_addr));
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  std::copy_n(parsed->bytes.begin(), sizeof v6.sin6_addr, reinterpret_cast<std::uint8_t*>(&v6.sin6_addr));
  const sys::FileDescriptor socket(::socket(parsed->is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return false;
  return parsed->is_v4 ? ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4) == 0
                       : ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&v6), sizeof v6) == 0;
}

agent::NodeSystem this_system(std::string_view version) {
  agent::NodeSystem system;
  system.gangway_version = version;
  utsname name{};
  if (uname(&name) == 0) {
    system.kernel_version = name.release;
    system.architecture = std::string_view(name.machine) == "aarch64" ? "arm64" : "amd64";
  }
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    if (line.starts_with("PRETTY_NAME=\"") && line.size() > 14) system.os_image = line.substr(13, line.size() - 14);
  }
  system.machine_id = first_line("/etc/machine-id");
  system.boot_id = first_line("/proc/sys/kernel/random/boot_id");
  return system;
}

}  // namespace gangway::cli
