#include "cli/machine.h"

#include <sched.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

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

// One device file a GPU: /dev/nvidia0, /dev/nvidia1, …; nvidiactl and nvidia-uvm are not GPUs.
int nvidia_devices() {
  int count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    auto name = entry.path().filename().string();
    std::string_view rest = name;
    if (!rest.starts_with("nvidia")) continue;
    rest.remove_prefix(6);
    if (!rest.empty() && rest.find_first_not_of("0123456789") == std::string_view::npos) ++count;
  }
  return count;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.host_name = host_name();
  machine.cpus = usable_cpus();
  machine.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  machine.gpus = nvidia_devices();
  return machine;
}

}  // namespace gangway::cli
