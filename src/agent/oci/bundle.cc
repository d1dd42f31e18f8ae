#include "agent/oci/bundle.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

namespace gangway::agent::oci {
namespace {

using json::Array;
using json::Object;
using json::Value;

Array strings(const std::vector<std::string>& values) {
  Array result;
  for (const auto& value : values) result.emplace_back(value);
  return result;
}

Value mount(std::string_view target, std::string_view type, std::string_view source,
            std::initializer_list<std::string_view> options) {
  Array list;
  for (const auto option : options) list.emplace_back(option);
  return Object{{"destination", target}, {"type", type}, {"source", source}, {"options", std::move(list)}};
}

Value bind_mount(const BindMount& bind) {
  Array options{"rbind"};
  options.emplace_back(bind.read_only ? "ro" : "rw");
  options.emplace_back(bind.propagation == Propagation::kBidirectional     ? "rshared"
                       : bind.propagation == Propagation::kHostToContainer ? "rslave"
                                                                           : "rprivate");
  return Object{
      {"destination", bind.target}, {"type", "bind"}, {"source", bind.source}, {"options", std::move(options)}};
}

// Folders before what is mounted in them, equals as they were given.
std::vector<BindMount> by_depth(std::vector<BindMount> mounts) {
  const auto depth = [](const BindMount& m) { return std::count(m.target.begin(), m.target.end(), '/'); };
  std::stable_sort(mounts.begin(), mounts.end(), [&](const auto& a, const auto& b) { return depth(a) < depth(b); });
  return mounts;
}

bool has_volume(const BundleFacts& facts, std::string_view target) {
  return std::any_of(facts.volumes.begin(), facts.volumes.end(), [&](const auto& v) { return v.target == target; });
}

Array mounts_of(const ContainerSpec& spec, const BundleFacts& facts) {
  Array mounts{
      mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}),
      mount("/dev", "tmpfs", "tmpfs", {"nosuid", "strictatime", "mode=755", "size=65536k"}),
      mount("/dev/pts", "devpts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}),
      mount("/dev/mqueue", "mqueue", "mqueue", {"nosuid", "noexec", "nodev"}),
      mount("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", spec.security.privileged ? "rw" : "ro"}),
  };
  if (facts.show_cgroups) {
    mounts.push_back(mount("/sys/fs/cgroup", "cgroup", "cgroup",
                           {"nosuid", "noexec", "nodev", "relatime", spec.security.privileged ? "rw" : "ro"}));
  }
  if (!has_volume(facts, "/dev/shm")) {
    mounts.push_back(bind_mount({.source = facts.shm.empty() ? "/dev/shm" : facts.shm, .target = "/dev/shm"}));
  }
  mounts.push_back(bind_mount({.source = facts.init, .target = std::string(kInitTarget), .read_only = true}));
  if (!facts.exec.empty())
    mounts.push_back(bind_mount({.source = facts.exec, .target = std::string(kExecTarget), .read_only = true}));
  for (const auto& file : facts.files) {
    if (!has_volume(facts, file.target)) mounts.push_back(bind_mount(file));
  }
  for (const auto& volume : by_depth(facts.volumes)) mounts.push_back(bind_mount(volume));
  return mounts;
}

Value process_of(const ContainerSpec& spec, const BundleFacts& facts) {
  const auto& process = facts.process;
  std::vector<std::string> args{std::string(kInitTarget)};
  args.insert(args.end(), process.args.begin(), process.args.end());
  Array environment;
  for (const auto& [name, value] : process.environment) environment.emplace_back(name + "=" + value);
  Array groups;
  for (const gid_t gid : process.user.groups) groups.emplace_back(gid);
  const Array capabilities = strings(capabilities_of(spec.security, facts.capabilities));
  return Object{
      {"terminal", spec.terminal},
      {"user", Object{{"uid", process.user.uid}, {"gid", process.user.gid}, {"additionalGids", std::move(groups)}}},
      {"args", strings(args)},
      {"env", std::move(environment)},
      {"cwd", process.working_directory},
      {"capabilities", Object{{"bounding", capabilities}, {"effective", capabilities}, {"permitted", capabilities}}},
      {"rlimits", Array{Object{{"type", "RLIMIT_NOFILE"}, {"hard", facts.open_files}, {"soft", facts.open_files}}}},
      {"noNewPrivileges", spec.security.no_new_privileges},
  };
}

Array namespaces_of(const BundleFacts& facts) {
  Array result{Object{{"type", "mount"}}};
  const auto add = [&](std::string_view type, const std::optional<std::string>& path) {
    if (!path) {
      result.push_back(Object{{"type", type}});
    } else if (!path->empty()) {
      result.push_back(Object{{"type", type}, {"path", *path}});
    }
  };
  add("network", facts.namespaces.network);
  add("ipc", facts.namespaces.ipc);
  add("uts", facts.namespaces.uts);
  add("pid", facts.namespaces.pid);
  if (facts.show_cgroups) result.push_back(Object{{"type", "cgroup"}});
  return result;
}

Object resources_of(const ContainerSpec& spec, const BundleFacts& facts) {
  constexpr std::int64_t kPeriodMicros = 100'000;
  const auto& limits = spec.limits;
  Array devices{Object{{"allow", spec.security.privileged}, {"access", "rwm"}}};
  for (const auto& device : facts.devices) {
    if (spec.security.privileged) break;
    devices.push_back(Object{{"allow", true},
                             {"type", std::string(1, device.type)},
                             {"major", device.major},
                             {"minor", device.minor},
                             {"access", "rwm"}});
  }
  Object resources{{"devices", std::move(devices)}};
  if (facts.limit_cpu) {
    Object cpu{{"shares", limits.cpu_shares}};
    if (limits.cpu_quota_micros > 0) {
      cpu["quota"] = limits.cpu_quota_micros;
      cpu["period"] = kPeriodMicros;
    }
    resources["cpu"] = std::move(cpu);
  }
  if (facts.limit_memory && limits.memory_bytes > 0) resources["memory"] = Object{{"limit", limits.memory_bytes}};
  if (facts.limit_pids && limits.pids > 0) resources["pids"] = Object{{"limit", limits.pids}};
  return resources;
}

Array devices_of(const BundleFacts& facts) {
  Array result;
  for (const auto& device : facts.devices) {
    result.push_back(Object{{"path", device.path},
                            {"type", std::string(1, device.type)},
                            {"major", device.major},
                            {"minor", device.minor},
                            {"fileMode", device.mode},
                            {"uid", device.uid},
                            {"gid", device.gid}});
  }
  return result;
}

Value linux_of(const ContainerSpec& spec, const BundleFacts& facts) {
  Object result{
      {"cgroupsPath", facts.cgroup},
      {"namespaces", namespaces_of(facts)},
      {"resources", resources_of(spec, facts)},
      {"devices", devices_of(facts)},
  };
  const bool shares = std::any_of(facts.volumes.begin(), facts.volumes.end(),
                                  [](const auto& v) { return v.propagation == Propagation::kBidirectional; });
  const bool follows = std::any_of(facts.volumes.begin(), facts.volumes.end(),
                                   [](const auto& v) { return v.propagation == Propagation::kHostToContainer; });
  if (shares || follows) result["rootfsPropagation"] = shares ? "rshared" : "rslave";
  if (spec.security.privileged) return result;
  result["maskedPaths"] = {"/proc/acpi",
                           "/proc/asound",
                           "/proc/kcore",
                           "/proc/keys",
                           "/proc/latency_stats",
                           "/proc/timer_list",
                           "/proc/timer_stats",
                           "/proc/sched_debug",
                           "/proc/scsi",
                           "/sys/firmware",
                           "/sys/devices/virtual/powercap"};
  result["readonlyPaths"] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"};
  return result;
}

// By their numbers in the kernel.
constexpr std::string_view kCapabilities[] = {
    "CAP_CHOWN",
    "CAP_DAC_OVERRIDE",
    "CAP_DAC_READ_SEARCH",
    "CAP_FOWNER",
    "CAP_FSETID",
    "CAP_KILL",
    "CAP_SETGID",
    "CAP_SETUID",
    "CAP_SETPCAP",
    "CAP_LINUX_IMMUTABLE",
    "CAP_NET_BIND_SERVICE",
    "CAP_NET_BROADCAST",
    "CAP_NET_ADMIN",
    "CAP_NET_RAW",
    "CAP_IPC_LOCK",
    "CAP_IPC_OWNER",
    "CAP_SYS_MODULE",
    "CAP_SYS_RAWIO",
    "CAP_SYS_CHROOT",
    "CAP_SYS_PTRACE",
    "CAP_SYS_PACCT",
    "CAP_SYS_ADMIN",
    "CAP_SYS_BOOT",
    "CAP_SYS_NICE",
    "CAP_SYS_RESOURCE",
    "CAP_SYS_TIME",
    "CAP_SYS_TTY_CONFIG",
    "CAP_MKNOD",
    "CAP_LEASE",
    "CAP_AUDIT_WRITE",
    "CAP_AUDIT_CONTROL",
    "CAP_SETFCAP",
    "CAP_MAC_OVERRIDE",
    "CAP_MAC_ADMIN",
    "CAP_SYSLOG",
    "CAP_WAKE_ALARM",
    "CAP_BLOCK_SUSPEND",
    "CAP_AUDIT_READ",
    "CAP_PERFMON",
    "CAP_BPF",
    "CAP_CHECKPOINT_RESTORE",
};
constexpr std::string_view kUsual[] = {
    "CAP_AUDIT_WRITE", "CAP_CHOWN",   "CAP_DAC_OVERRIDE",     "CAP_FOWNER",     "CAP_FSETID",
    "CAP_KILL",        "CAP_MKNOD",   "CAP_NET_BIND_SERVICE", "CAP_NET_RAW",    "CAP_SETFCAP",
    "CAP_SETGID",      "CAP_SETPCAP", "CAP_SETUID",           "CAP_SYS_CHROOT",
};

std::string capability(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name.starts_with("CAP_") || name == "ALL" ? name : "CAP_" + name;
}

}  // namespace

std::vector<std::string> capabilities_of(const Security& security, std::uint64_t available) {
  std::set<std::string> all;
  for (std::size_t number = 0; number < std::size(kCapabilities); ++number) {
    if ((available >> number & 1U) != 0) all.emplace(kCapabilities[number]);
  }
  if (security.privileged) return {all.begin(), all.end()};
  // What is named is stronger than "ALL", and what is added stronger than what is dropped, as in Kubernetes.
  std::set<std::string> result;
  for (const auto name : kUsual) {
    if (all.contains(std::string(name))) result.emplace(name);
  }
  const auto listed = [](const std::vector<std::string>& names) {
    std::set<std::string> set;
    for (const auto& name : names) set.insert(capability(name));
    return set;
  };
  const auto added = listed(security.added_capabilities);
  const auto dropped = listed(security.dropped_capabilities);
  if (dropped.contains("ALL")) result.clear();
  if (added.contains("ALL")) result = all;
  for (const auto& name : dropped) result.erase(name);
  for (const auto& name : added) {
    if (all.contains(name)) result.insert(name);
  }
  return {result.begin(), result.end()};
}

json::Value bundle_spec(const ContainerSpec& spec, const BundleFacts& facts) {
  Object result{
      {"ociVersion", "1.0.2"},
      {"process", process_of(spec, facts)},
      {"root", Object{{"path", facts.root}, {"readonly", spec.security.read_only_root}}},
      {"mounts", mounts_of(spec, facts)},
      {"linux", linux_of(spec, facts)},
  };
  if (!facts.gpu_hook.empty()) {
    // It reads NVIDIA_VISIBLE_DEVICES of the container.
    result["hooks"] =
        Object{{"prestart",
                Array{Object{{"path", facts.gpu_hook},
                             {"args", Array{facts.gpu_hook, "prestart"}},
                             {"env", Array{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}}}}}};
  }
  return result;
}

}  // namespace gangway::agent::oci
