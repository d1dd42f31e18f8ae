#include "agent/oci/container_build.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "agent/oci/executable.h"
#include "agent/oci/host_root.h"
#include "agent/oci/mounts.h"
#include "agent/oci/recovery.h"
#include "agent/oci/volumes.h"
#include "agent/pod/report.h"
#include "json/value.h"
#include "sys/file_descriptor.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway::agent::oci {
namespace {

using sys::file_error;
using sys::FileDescriptor;

// Files of an image are read through its own links, not the machine's.
std::string read_in_root(const std::string& root, const std::string& path) {
  const auto found = open_in_root(root, path);
  if (!found) return "";
  struct stat facts{};
  if (::fstat(found->get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return "";
  return sys::read_file("/proc/self/fd/" + std::to_string(found->get())).value_or("");
}

std::optional<DeviceFile> device_at(const std::string& path) {
  struct stat facts{};
  if (::stat(path.c_str(), &facts) != 0 || !(S_ISCHR(facts.st_mode) || S_ISBLK(facts.st_mode))) return std::nullopt;
  return DeviceFile{.path = path,
                    .type = S_ISCHR(facts.st_mode) ? 'c' : 'b',
                    .major = major(facts.st_rdev),
                    .minor = minor(facts.st_rdev),
                    .mode = facts.st_mode & 07777,
                    .uid = facts.st_uid,
                    .gid = facts.st_gid};
}

// What a privileged container finds in /dev beside what every container has.
void add_devices_in(const std::string& folder, std::vector<DeviceFile>& devices, int levels = 2) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name == "." || name == ".." || name == "pts" || name == "shm" || name == "mqueue" || name == "console" ||
        name == "fd")
      continue;
    const std::string path = folder + "/" + name;
    if (entry->d_type == DT_DIR && levels > 1) add_devices_in(path, devices, levels - 1);
    if (entry->d_type != DT_CHR && entry->d_type != DT_BLK) continue;
    if (auto device = device_at(path)) devices.push_back(std::move(*device));
  }
}

// Not above our own: raising it takes a privilege that an agent in a container may lack.
std::int64_t open_files_limit(std::int64_t wanted) {
  rlimit own{};
  if (::getrlimit(RLIMIT_NOFILE, &own) != 0) return wanted;
  return own.rlim_max > static_cast<rlim_t>(wanted) ? wanted : static_cast<std::int64_t>(own.rlim_max);
}

std::uint64_t own_capabilities() {
  std::uint64_t own = 0;
  for (unsigned number = 0; number < 64; ++number) {
    if (::prctl(PR_CAPBSET_READ, number) == 1) own |= std::uint64_t{1} << number;
  }
  return own;
}

Result<void> mount_root(const Layout& layout, const std::string& folder, const BuildInput& input) {
  const ContainerFolders folders{.root = folder + "/root", .upper = folder + "/upper", .work = folder + "/work"};
  for (const auto& path : {folders.root, folders.upper, folders.work}) GW_CHECKED(make_folders(path));
  ::chmod(folders.upper.c_str(), 0755);  // is the mode of the container's "/", whatever our umask
  if (!input.image) return mount_host_root(folders, layout.data_dir());
  return mount_overlay({.lower = input.image->root, .upper = folders.upper, .work = folders.work}, folders.root);
}

Result<std::vector<BindMount>> volume_mounts(const Layout& layout, const std::string& folder, const BuildInput& input) {
  std::vector<BindMount> result;
  GW_CHECKED(make_folders(folder + "/mounts", 0700));
  for (const auto& mount : input.spec.mounts) {
    const std::string stage = folder + "/mounts/" + std::to_string(result.size());
    GW_TRY(auto source, mount_source(layout, input.spec.id.pod_uid, mount, stage));
    std::string target = mount.target;
    while (target.size() > 1 && target.ends_with('/')) target.pop_back();
    result.push_back({.source = std::move(source),
                      .target = std::move(target),
                      .read_only = mount.read_only,
                      .propagation = mount.propagation});
  }
  return result;
}

Result<std::vector<BindMount>> file_mounts(const Layout& layout, const std::string& folder, const BuildInput& input) {
  const std::string pod = layout.pod(input.spec.id.pod_uid);
  std::vector<BindMount> result;
  for (const auto* name : {"hosts", "hostname", "resolv.conf"}) {
    const std::string source = pod + "/" + name;
    if (::access(source.c_str(), F_OK) == 0) {
      result.push_back(
          {.source = source, .target = std::string("/etc/") + name, .read_only = input.spec.security.read_only_root});
    }
  }
  // A pod that an earlier agent made has no such folder.
  if (is_mount_point(layout.report(input.spec.id.pod_uid)))
    result.push_back({.source = layout.report(input.spec.id.pod_uid), .target = std::string(kReportFolder)});
  if (!input.spec.termination_message_path.empty()) {
    // Whoever the container runs as may leave a message.
    GW_CHECKED(replace_file(folder + "/message", "", 0666));
    result.push_back({.source = folder + "/message", .target = input.spec.termination_message_path});
  }
  return result;
}

Result<void> build(const Layout& layout, const Cgroups& cgroups, const std::string& folder, const BuildInput& input) {
  const auto& spec = input.spec;
  GW_CHECKED(make_folders(folder + "/persist", 0700));
  GW_CHECKED(mount_root(layout, folder, input));
  const std::string root = folder + "/root";
  BundleFacts facts;
  const UserFiles users{.passwd = read_in_root(root, "/etc/passwd"), .group = read_in_root(root, "/etc/group")};
  GW_TRY(facts.process,
         process_of(spec, input.image ? input.image->defaults : ImageDefaults{}, input.sandbox.hostname, users));
  GW_TRY(facts.volumes, volume_mounts(layout, folder, input));
  GW_TRY(facts.files, file_mounts(layout, folder, input));
  GW_CHECKED(check_executable(root, facts.volumes, facts.process));
  facts.root = root;
  facts.init = layout.init();
  facts.exec = layout.exec();
  facts.namespaces = namespaces_in(layout, input.sandbox);
  facts.cgroup = layout.cgroup(spec.id);
  if (!input.sandbox.host_ipc) facts.shm = layout.pod(spec.id.pod_uid) + "/shm";
  if (input.real_gpus && !spec.gpus.empty()) facts.devices = gpu_devices(spec.gpus, gpus_by_files());
  // The node's own root has the driver's libraries; an image has to be given them.
  if (input.image && !facts.devices.empty()) facts.gpu_hook = input.gpu_hook;
  if (spec.security.privileged) {
    add_devices_in("/dev", facts.devices);
  } else if (!facts.devices.empty()) {
    number_visible_gpus(facts.process.environment, spec.gpus);
  }
  facts.limit_cpu = cgroups.has("cpu");
  facts.limit_memory = cgroups.has("memory");
  facts.limit_pids = cgroups.has("pids");
  facts.show_cgroups = cgroups.is_v2();
  facts.open_files = open_files_limit(facts.open_files);
  facts.capabilities = own_capabilities();
  const std::string log = layout.log(spec.pod, spec.id);
  GW_CHECKED(make_folders(log.substr(0, log.rfind('/')), 0755));
  return replace_file(folder + "/config.json", json::serialize(bundle_spec(spec, facts)), 0600);
}

}  // namespace

Namespaces namespaces_in(const Layout& layout, const SandboxRecord& sandbox) {
  const std::string held = layout.pod(sandbox.pod.uid) + "/ns/";
  Namespaces result;
  result.network = sandbox.netns;
  result.ipc = sandbox.host_ipc ? "" : held + "ipc";
  result.uts = sandbox.host_network ? "" : held + "uts";
  if (sandbox.host_pid) {
    result.pid = "";
  } else if (sandbox.share_processes) {
    result.pid = "/proc/" + std::to_string(sandbox.holder) + "/ns/pid";
  }
  return result;
}

std::vector<DeviceFile> gpu_devices(const std::vector<unsigned>& indexes, const std::vector<Gpu>& gpus,
                                    const std::string& dev) {
  std::vector<std::string> names;
  for (const unsigned index : indexes) {
    if (index < gpus.size() && gpus[index].minor) names.push_back("nvidia" + std::to_string(*gpus[index].minor));
  }
  if (names.empty()) return {};  // they are only declared
  names.insert(names.end(), {"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"});
  std::vector<DeviceFile> result;
  for (const auto& name : names) {
    if (auto device = device_at(dev + "/" + name)) {
      device->path = "/dev/" + name;
      result.push_back(std::move(*device));
    }
  }
  return result;
}

void number_visible_gpus(std::vector<std::pair<std::string, std::string>>& environment,
                         const std::vector<unsigned>& indexes) {
  for (auto& [name, value] : environment) {
    if (name != "CUDA_VISIBLE_DEVICES" || value != fmt::format("{}", fmt::join(indexes, ","))) continue;
    value.clear();
    for (std::size_t at = 0; at < indexes.size(); ++at) value += (at == 0 ? "" : ",") + std::to_string(at);
  }
}

Result<ContainerRecord> build_container(const Layout& layout, const Cgroups& cgroups, const BuildInput& input) {
  const std::string folder = layout.container(input.spec.id);
  GW_CHECKED(make_folders(folder, 0700));
  const ContainerRecord record{.id = input.spec.id,
                               .pod = input.spec.pod,
                               .own_processes = !input.sandbox.host_pid && !input.sandbox.share_processes,
                               .image = input.image ? input.image->digest : "",
                               .message_from_log = input.spec.message_from_log};
  auto built = replace_file(folder + "/intent.json", encode(record));
  if (built) built = build(layout, cgroups, folder, input);
  if (built) return record;
  if (auto removed = remove_container(layout, cgroups, input.spec.id); !removed) {
    sys::log_warning("a container that was not built is not gone",
                     {{"container", input.spec.id.container}, {"error", removed.error().message}});
  }
  return std::move(built).error();
}

}  // namespace gangway::agent::oci
