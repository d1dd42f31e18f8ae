#include "agent/oci/cgroups.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <set>
#include <sstream>

#include "sys/file_descriptor.h"
#include "sys/files.h"

namespace gangway::agent::oci {
namespace {

constexpr std::int64_t kPeriodMicros = 100'000;

std::vector<std::string> words(std::string_view text, char by) {
  std::vector<std::string> result;
  std::string word;
  for (const char c : text) {
    if (c != by && c != '\n') {
      word += c;
    } else if (!word.empty()) {
      result.push_back(std::exchange(word, {}));
    }
  }
  if (!word.empty()) result.push_back(std::move(word));
  return result;
}

std::int64_t number(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool write_value(const std::string& file, std::string_view value) {
  const sys::FileDescriptor open(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return open && ::write(open.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

std::string read_or_empty(const std::string& file) {
  return sys::read_file(file).value_or("");
}

std::vector<std::string> folders_in(const std::string& path) {
  std::vector<std::string> result;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(path.c_str()), &::closedir);
  if (!open) return result;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") result.push_back(path + "/" + std::string(name));
  }
  return result;
}

void collect_processes(const std::string& path, std::set<pid_t>& into) {
  for (const auto& pid : words(read_or_empty(path + "/cgroup.procs"), '\n'))
    into.insert(static_cast<pid_t>(number(pid)));
  for (const auto& inner : folders_in(path)) collect_processes(inner, into);
}

bool remove_folders(const std::string& path) {
  bool gone = true;
  for (const auto& inner : folders_in(path)) gone = remove_folders(inner) && gone;
  return (::rmdir(path.c_str()) == 0 || errno == ENOENT) && gone;
}

void wait_milliseconds(int milliseconds) {
  ::poll(nullptr, 0, milliseconds);
}

}  // namespace

std::int64_t weight_of_shares(std::int64_t shares) {
  const auto within = std::clamp<std::int64_t>(shares, 2, 262'144);
  return 1 + (within - 2) * 9999 / 262'142;
}

std::int64_t keyed_number(std::string_view text, std::string_view key) {
  for (const auto& line : words(text, '\n')) {
    const auto space = line.find(' ');
    if (std::string_view(line).substr(0, space) == key) return number(std::string_view(line).substr(space + 1));
  }
  return 0;
}

std::vector<CgroupWrite> limit_writes(const ResourceLimits& limits, bool v2) {
  std::vector<CgroupWrite> writes;
  if (v2) {
    writes.push_back({"cpu", "cpu.weight", std::to_string(weight_of_shares(limits.cpu_shares))});
    if (limits.cpu_quota_micros > 0) {
      writes.push_back(
          {"cpu", "cpu.max", std::to_string(limits.cpu_quota_micros) + " " + std::to_string(kPeriodMicros)});
    }
    if (limits.memory_bytes > 0) writes.push_back({"memory", "memory.max", std::to_string(limits.memory_bytes)});
  } else {
    writes.push_back({"cpu", "cpu.shares", std::to_string(limits.cpu_shares)});
    if (limits.cpu_quota_micros > 0) {
      writes.push_back({"cpu", "cpu.cfs_period_us", std::to_string(kPeriodMicros)});
      writes.push_back({"cpu", "cpu.cfs_quota_us", std::to_string(limits.cpu_quota_micros)});
    }
    if (limits.memory_bytes > 0) {
      writes.push_back({"memory", "memory.limit_in_bytes", std::to_string(limits.memory_bytes)});
    }
  }
  if (limits.pids > 0) writes.push_back({"pids", "pids.max", std::to_string(limits.pids)});
  return writes;
}

Cgroups::Cgroups(const std::vector<MountPoint>& mounts, std::string_view v2_controllers)
    : v2_controllers_(words(v2_controllers, ' ')) {
  for (const auto& mount : mounts) {
    if (mount.type == "cgroup2" && unified_.empty()) unified_ = mount.path;
    if (mount.type != "cgroup") continue;
    for (const auto& option : words(mount.options, ',')) {
      // What is left beside the controllers are the options of any file system.
      static const std::set<std::string, std::less<>> kOthers{"rw", "ro", "xattr", "clone_children", "noprefix"};
      if (!kOthers.contains(option) && !option.starts_with("release_agent")) v1_.emplace(option, mount.path);
    }
  }
}

Result<Cgroups> Cgroups::of_this_machine() {
  GW_TRY(const auto mounts, mounts_of_this_process());
  const auto v2 = std::find_if(mounts.begin(), mounts.end(), [](const auto& m) { return m.type == "cgroup2"; });
  return Cgroups(mounts, v2 == mounts.end() ? "" : read_or_empty(v2->path + "/cgroup.controllers"));
}

bool Cgroups::has(std::string_view controller) const {
  if (!is_v2()) return v1_.contains(controller);
  return std::find(v2_controllers_.begin(), v2_controllers_.end(), controller) != v2_controllers_.end();
}

std::string_view Cgroups::describe() const {
  if (is_v2()) return "v2";
  return unified_.empty() ? "v1" : "hybrid (v1 controllers)";
}

std::string Cgroups::folder(std::string_view controller, const std::string& path) const {
  if (is_v2()) return unified_ + path;
  const auto found = v1_.find(controller);
  return found == v1_.end() ? "" : found->second + path;
}

std::vector<std::string> Cgroups::all_folders(const std::string& path) const {
  std::set<std::string> folders;
  for (const auto& [controller, mount] : v1_) folders.insert(mount + path);
  if (!unified_.empty()) folders.insert(unified_ + path);
  return {folders.begin(), folders.end()};
}

Result<void> Cgroups::make(const std::string& path, const ResourceLimits& limits) const {
  for (const std::string_view controller : {"cpu", "memory", "pids"}) {
    if (!has(controller)) continue;
    const auto own = folder(controller, path);
    GW_CHECKED(make_folders(own));
    // In v2 a controller is there for a group when all groups above pass it on.
    const std::string root = folder(controller, "");
    for (auto end = root.size(); is_v2() && end != std::string::npos; end = own.find('/', end + 1)) {
      if (end != own.size()) write_value(own.substr(0, end) + "/cgroup.subtree_control", "+" + std::string(controller));
    }
  }
  for (const auto& write : limit_writes(limits, is_v2())) {
    if (!has(write.controller)) continue;
    const auto file = folder(write.controller, path) + "/" + std::string(write.file);
    if (!write_value(file, write.value)) return sys::file_error("write " + write.value + " to", file);
  }
  return {};
}

void Cgroups::adopt(const std::string& path, pid_t pid) const {
  std::vector<std::string> watched;
  if (!unified_.empty()) watched.push_back(unified_ + path);
  if (const auto systemd = v1_.find("name=systemd"); systemd != v1_.end()) watched.push_back(systemd->second + path);
  for (const auto& own : watched) {
    if (make_folders(own)) write_value(own + "/cgroup.procs", std::to_string(pid));
  }
}

std::vector<pid_t> Cgroups::processes(const std::string& path) const {
  std::set<pid_t> pids;
  for (const auto& own : all_folders(path)) collect_processes(own, pids);
  pids.erase(::getpid());
  pids.erase(0);
  return {pids.begin(), pids.end()};
}

Result<void> Cgroups::kill(const std::string& path) const {
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    // Nothing that is being forked escapes the kernel's own kill; the loop is for what is only in v1's groups.
    if (!unified_.empty()) write_value(unified_ + path + "/cgroup.kill", "1");
    const auto left = processes(path);
    if (left.empty()) return {};
    for (const pid_t pid : left) ::kill(pid, SIGKILL);
    wait_milliseconds(round < 20 ? 1 : 20);
  }
  return internal_error("processes of " + path + " cannot be killed");
}

Result<void> Cgroups::remove(const std::string& path) const {
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    bool gone = true;
    for (const auto& own : all_folders(path)) gone = remove_folders(own) && gone;
    if (gone) return {};
    wait_milliseconds(round < 20 ? 1 : 20);
  }
  return sys::file_error("remove the cgroup", path);
}

Result<Usage> Cgroups::usage(const std::string& path) const {
  Usage usage;
  const std::string memory = folder("memory", path);
  if (is_v2()) {
    usage.cpu_nanoseconds = keyed_number(read_or_empty(unified_ + path + "/cpu.stat"), "usage_usec") * 1000;
    usage.memory_bytes = number(read_or_empty(memory + "/memory.current")) -
                         keyed_number(read_or_empty(memory + "/memory.stat"), "inactive_file");
  } else {
    if (v1_.empty()) return internal_error("this machine has no cgroups");
    GW_TRY(const auto cpu, sys::read_file(folder("cpuacct", path) + "/cpuacct.usage"));
    usage.cpu_nanoseconds = number(cpu);
    usage.memory_bytes = number(read_or_empty(memory + "/memory.usage_in_bytes")) -
                         keyed_number(read_or_empty(memory + "/memory.stat"), "total_inactive_file");
  }
  usage.memory_bytes = std::max<std::int64_t>(usage.memory_bytes, 0);
  return usage;
}

std::int64_t Cgroups::kills_for_memory(const std::string& path) const {
  const std::string file = folder("memory", path) + (is_v2() ? "/memory.events" : "/memory.oom_control");
  return keyed_number(read_or_empty(file), "oom_kill");
}

}  // namespace gangway::agent::oci
