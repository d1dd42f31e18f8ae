#include "agent/oci/support.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "agent/oci/layout.h"
#include "agent/oci/mounts.h"
#include "sys/command.h"

namespace gangway::agent::oci {
namespace {

// Services often start with a short PATH.
std::string find_program(const std::string& name) {
  const char* own = std::getenv("PATH");
  const std::string path =
      std::string(own == nullptr ? "" : own) + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin";
  for (std::size_t at = 0; at <= path.size();) {
    const auto end = std::min(path.find(':', at), path.size());
    const std::string candidate = path.substr(at, end - at) + "/" + name;
    if (candidate.starts_with('/') && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return "";
}

// Whoever joins a mount namespace finds itself at that namespace's own root. In a chroot this is another one than ours:
// runtimes cannot change it, and what is started in a running container would see all of the machine.
bool is_in_chroot() {
  struct stat ours = {};
  const int mounts = ::open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
  if (mounts < 0 || ::stat("/", &ours) != 0) return false;
  const pid_t child = ::fork();
  if (child == 0) {
    struct stat root = {};
    const bool differs = ::setns(mounts, CLONE_NEWNS) == 0 && ::stat("/", &root) == 0 &&
                         (root.st_dev != ours.st_dev || root.st_ino != ours.st_ino);
    ::_exit(differs ? 1 : 0);
  }
  ::close(mounts);
  int status = 0;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

std::optional<std::string> overlay_trouble(const Layout& layout) {
  std::string folder = layout.probes() + "/XXXXXX";
  if (!make_folders(layout.probes(), 0700) || ::mkdtemp(folder.data()) == nullptr)
    return "the data directory cannot be written";
  for (const auto* part : {"/root", "/upper", "/work"}) ::mkdir((folder + part).c_str(), 0700);
  auto mounted = mount_overlay({.lower = "/", .upper = folder + "/upper", .work = folder + "/work"}, folder + "/root");
  static_cast<void>(unmount_below(folder));
  static_cast<void>(remove_tree(folder));
  for (const auto& empty : {layout.probes(), layout.root()}) ::rmdir(empty.c_str());
  if (mounted) return std::nullopt;
  return "overlay file systems cannot be mounted in " + layout.data_dir() + " (" + mounted.error().message +
         "); a data directory on ext4 or xfs can";
}

std::optional<std::string> cgroup_trouble(const Layout& layout, const Cgroups& cgroups) {
  if (!cgroups.usable()) return "no cgroups are mounted";
  auto made = cgroups.make(layout.probe_cgroup(), {});
  static_cast<void>(cgroups.remove(layout.probe_cgroup()));
  if (made) return std::nullopt;
  return "cgroups cannot be written: " + made.error().message;
}

std::vector<RuntimeChoice> installed_runtimes() {
  std::vector<RuntimeChoice> result;
  for (const auto* name : {"runc", "crun"}) {
    const auto path = find_program(name);
    if (path.empty()) continue;
    const auto printed = sys::run_and_wait({.argv = {path, "--version"}, .timeout = std::chrono::seconds(10)});
    if (printed && printed->ok()) result.push_back({path, name, parse_version(printed->out).second});
  }
  return result;
}

}  // namespace

std::pair<std::string, std::string> parse_version(std::string_view printed) {
  const auto line = printed.substr(0, printed.find('\n'));
  const auto name = line.substr(0, line.find(' '));
  const auto at = line.find("version ");
  if (at == std::string_view::npos) return {std::string(name), ""};
  const auto version = line.substr(at + 8);
  return {std::string(name), std::string(version.substr(0, version.find_first_of("+ ")))};
}

std::pair<const RuntimeChoice*, std::string> choose_runtime(const std::vector<RuntimeChoice>& installed,
                                                            const Cgroups& cgroups) {
  const RuntimeChoice* chosen = nullptr;
  std::string reason;
  for (const auto& runtime : installed) {
    const std::string label = runtime.name + " " + runtime.version;
    if (runtime.name == "crun" && cgroups.describe().starts_with("hybrid")) {
      reason += (reason.empty() ? "" : "; ") + label + " cannot use hybrid cgroups";
    } else if (chosen == nullptr) {
      chosen = &runtime;
      reason = label + (reason.empty() ? "" : "; " + reason);
    } else {
      reason += "; " + label + " is there too";
    }
  }
  if (chosen == nullptr && installed.empty()) reason = "runc or crun is not installed";
  return {chosen, reason};
}

tl::expected<Support, Missing> probe(const std::string& data_dir) {
  Missing missing;
  if (::geteuid() != 0) missing.emplace_back("containers need root");
  const auto cgroups = Cgroups::of_this_machine();
  if (!cgroups) return tl::unexpected(Missing{cgroups.error().message});
  const auto runtimes = installed_runtimes();
  const auto [chosen, reason] = choose_runtime(runtimes, *cgroups);
  if (chosen == nullptr) missing.push_back(reason);
  const auto conmon = find_program("conmon");
  if (conmon.empty()) missing.emplace_back("conmon is not installed");
  if (::geteuid() == 0) {
    const Layout layout = layout_at(data_dir);
    if (is_in_chroot())
      missing.emplace_back("this is a chroot, which containers cannot be kept in; a root made by pivot_root is fine");
    if (auto trouble = cgroup_trouble(layout, *cgroups)) missing.push_back(std::move(*trouble));
    if (auto trouble = overlay_trouble(layout)) missing.push_back(std::move(*trouble));
  }
  if (!missing.empty()) return tl::unexpected(std::move(missing));
  return Support{.runtime = chosen->path,
                 .name = chosen->name,
                 .version = chosen->version,
                 .conmon = conmon,
                 .skopeo = find_program("skopeo"),
                 .umoci = find_program("umoci"),
                 .gpu_hook = find_program("nvidia-container-runtime-hook"),
                 .cgroups = *cgroups,
                 .reason = reason};
}

}  // namespace gangway::agent::oci
