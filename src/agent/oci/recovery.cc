#include "agent/oci/recovery.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <memory>
#include <set>

#include "agent/logs/log_reader.h"
#include "agent/oci/file_times.h"
#include "agent/oci/foreign_file.h"
#include "agent/oci/mounts.h"
#include "agent/oci/namespaces.h"
#include "agent/oci/processes.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway::agent::oci {
namespace {

using std::chrono::seconds;
constexpr std::string_view kRemoving = ".removing";

Result<void> remove_with_mounts(const std::string& folder) {
  GW_CHECKED(unmount_below(folder));
  return remove_tree(folder);
}

// Under another name first: from then on it is nobody's, and what a crash leaves of it is found by that name. Mounts
// move along. What an earlier removal left is in the way, and goes before.
Result<void> remove_folder(const std::string& folder) {
  const std::string going = folder + std::string(kRemoving);
  GW_CHECKED(remove_with_mounts(going));
  if (::rename(folder.c_str(), going.c_str()) == 0) return remove_with_mounts(going);
  if (errno == ENOENT) return {};
  return sys::file_error("remove", folder);
}
constexpr std::size_t kMessageBytes = 4096;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), &::closedir);
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool exists(const std::string& path) {
  struct stat facts{};
  return ::lstat(path.c_str(), &facts) == 0;
}

bool is_runtime(const RunningProcess& process) {
  const auto& path = process.argv.front();
  const auto name = path.substr(path.rfind('/') + 1);
  return name == "runc" || name == "crun";
}

// Commands of the last agent end by themselves within moments; until then the disk does not say what is.
void settle(const std::string& argument) {
  auto busy = processes_with(argument);
  std::erase_if(busy, [](const auto& process) { return !is_runtime(process); });
  wait_or_kill(busy, seconds(10));
}

// The shim of a container that was never started may be about to create it.
void end_creation(const std::string& runtime_id) {
  for (const auto& process : processes_with(runtime_id)) {
    if (!is_runtime(process)) ::kill(process.pid, SIGKILL);
  }
  settle(runtime_id);
}

pid_t pid_in(const std::string& file) {
  pid_t pid = 0;
  const auto text = sys::read_file(file).value_or("");
  std::from_chars(text.data(), text.data() + text.size(), pid);
  return pid;
}

ContainerFacts facts_of(const Layout& layout, const ContainerId& id, const Result<ContainerRecord>& intent,
                        const Result<StartedRecord>& started) {
  const std::string runtime_id = layout.runtime_id(id);
  ContainerFacts facts;
  facts.intended = intent && intent->id == id;
  facts.started = started.has_value();
  facts.waits = exists(layout.runtime_root() + "/" + runtime_id + "/exec.fifo");
  facts.exit_told = exists(layout.exits() + "/" + runtime_id);
  facts.process_alive =
      started && started->ticks != 0 && started->boot == boot_id() && start_ticks_of(started->pid) == started->ticks;
  facts.shim_alive = has_shim(layout, id);
  return facts;
}

void add_container(const Layout& layout, const Cgroups& cgroups, const ContainerId& id, Left& left) {
  const std::string folder = layout.container(id);
  const auto intent = decode_container(sys::read_file(folder + "/intent.json").value_or(""));
  const auto started = decode_started(sys::read_file(folder + "/started.json").value_or(""));
  const auto verdict = judge(facts_of(layout, id, intent, started));
  if (verdict != Verdict::kNeverStarted) {
    left.containers.push_back({.record = *intent, .started = *started, .verdict = verdict});
    return;
  }
  end_creation(layout.runtime_id(id));
  if (auto removed = remove_container(layout, cgroups, id); !removed) {
    sys::log_warning("a container that was never started is not gone",
                     {{"container", id.container}, {"error", removed.error().message}});
  }
}

void add_pod(const Layout& layout, const Cgroups& cgroups, const std::string& uid, Left& left) {
  left.pods.push_back(uid);
  const std::string containers = layout.pod(uid) + "/containers";
  for (const auto& name : names_in(containers)) {
    if (name == holder_of(uid).container) continue;
    for (const auto& attempt : names_in(containers + "/" + name)) {
      ContainerId id{.pod_uid = uid, .container = name, .attempt = 0};
      const auto [end, error] = std::from_chars(attempt.data(), attempt.data() + attempt.size(), id.attempt);
      if (error == std::errc{} && end == attempt.data() + attempt.size()) {
        add_container(layout, cgroups, id, left);
      } else {
        const std::string rest = containers + "/" + name + "/" + attempt;
        if (unmount_below(rest)) static_cast<void>(remove_tree(rest));
      }
    }
  }
  auto sandbox = decode_sandbox(sys::read_file(layout.pod(uid) + "/sandbox.json").value_or(""));
  if (sandbox && sandbox->pod.uid == uid && is_whole(layout, *sandbox)) left.sandboxes.emplace(uid, *sandbox);
}

// Removed containers may have left these when the agent died in between.
void remove_strays(const Layout& layout, const Left& left) {
  std::set<std::string> known;
  for (const auto& container : left.containers) known.insert(layout.runtime_id(container.record.id));
  for (const auto& uid : left.pods) known.insert(layout.runtime_id(holder_of(uid)));
  for (const auto& folder : {layout.exits(), layout.runtime_root()}) {
    for (const auto& name : names_in(folder)) {
      if (!known.contains(name)) static_cast<void>(remove_tree(folder + "/" + name));
    }
  }
}

// As much as kubelet takes.
std::string end_of_log(const std::string& path) {
  constexpr std::size_t kBytes = 2048;
  LogReader reader(path, {.tail_lines = 80});
  std::string text;
  const auto keep_end = [&] { text.erase(0, text.size() - std::min(text.size(), kBytes)); };
  while (reader.read(text) == LogReader::Progress::kMore) keep_end();
  reader.finish(text);
  keep_end();
  return text;
}

}  // namespace

Verdict judge(const ContainerFacts& facts) {
  if (!facts.intended || !facts.started || facts.waits) return Verdict::kNeverStarted;
  if (facts.exit_told) return Verdict::kExited;
  return facts.process_alive || facts.shim_alive ? Verdict::kRunning : Verdict::kLost;
}

bool has_shim(const Layout& layout, const ContainerId& id) {
  return runs_with(pid_in(layout.container(id) + "/conmon.pid"), layout.runtime_id(id));
}

bool is_whole(const Layout& layout, const SandboxRecord& sandbox) {
  const std::string folder = layout.pod(sandbox.pod.uid);
  if (!sandbox.host_ipc && !(is_held_namespace(folder + "/ns/ipc") && is_mount_point(folder + "/shm"))) return false;
  if (!sandbox.host_network && !is_held_namespace(folder + "/ns/uts")) return false;
  return !sandbox.share_processes || sandbox.host_pid ||
         (sandbox.holder_ticks != 0 && start_ticks_of(sandbox.holder) == sandbox.holder_ticks);
}

Result<Left> find_left(const Layout& layout, const Cgroups& cgroups) {
  Left left;
  settle(layout.runtime_root());
  for (const auto& name : names_in(layout.pods())) {
    const std::string path = layout.pods() + "/" + name;
    if (name.ends_with(kRemoving)) {
      GW_CHECKED(remove_with_mounts(path));
    } else {
      add_pod(layout, cgroups, name, left);
    }
  }
  remove_strays(layout, left);
  return left;
}

std::string read_message(const Layout& layout, const ContainerRecord& container, int exit_code) {
  auto message = end_of_foreign_file(layout.container(container.id) + "/message", kMessageBytes);
  if (!message.empty() || !container.message_from_log || exit_code == 0) return message;
  return end_of_log(layout.log(container.pod, container.id));
}

Result<Exit> read_exit(const Layout& layout, const Cgroups& cgroups, const ContainerRecord& container,
                       const StartedRecord& started) {
  const auto& id = container.id;
  const std::string file = layout.exits() + "/" + layout.runtime_id(id);
  GW_TRY(const auto text, sys::read_file(file));
  struct stat facts{};
  if (::stat(file.c_str(), &facts) != 0) return sys::file_error("look at", file);
  Exit exit;
  std::from_chars(text.data(), text.data() + text.size(), exit.code);
  exit.started_at = started.at;
  exit.at = written_at(facts);
  exit.message = read_message(layout, container, exit.code);
  exit.out_of_memory = exit.code != 0 && (cgroups.kills_for_memory(layout.cgroup(id)) > 0 ||
                                          exists(layout.container(id) + "/persist/oom"));
  return exit;
}

Result<void> remove_container(const Layout& layout, const Cgroups& cgroups, const ContainerId& id) {
  GW_CHECKED(check_path_parts(id));
  for (const auto& group : {layout.cgroup(id), layout.shim_cgroup(id)}) {
    GW_CHECKED(cgroups.kill(group));
    GW_CHECKED(cgroups.remove(group));
  }
  GW_CHECKED(remove_folder(layout.container(id)));
  GW_CHECKED(remove_tree(layout.runtime_root() + "/" + layout.runtime_id(id)));
  return remove_tree(layout.exits() + "/" + layout.runtime_id(id));
}

Result<void> remove_pod(const Layout& layout, const Cgroups& cgroups, const std::string& uid) {
  GW_CHECKED(check_path_part("the pod's uid", uid));
  const std::string folder = layout.pod(uid);
  for (const auto& name : names_in(folder + "/containers")) {
    for (const auto& attempt : names_in(folder + "/containers/" + name)) {
      ContainerId id{.pod_uid = uid, .container = name, .attempt = 0};
      std::from_chars(attempt.data(), attempt.data() + attempt.size(), id.attempt);
      GW_CHECKED(remove_container(layout, cgroups, id));
    }
  }
  GW_CHECKED(cgroups.kill(layout.pod_cgroup(uid)));
  GW_CHECKED(cgroups.remove(layout.pod_cgroup(uid)));
  return remove_folder(folder);
}

Result<void> teardown(const std::string& data_dir) {
  const Layout layout = layout_at(data_dir);
  if (!exists(layout.root())) return {};
  GW_TRY(const auto cgroups, Cgroups::of_this_machine());
  GW_CHECKED(find_left(layout, cgroups));
  for (const auto& uid : names_in(layout.pods())) GW_CHECKED(cgroups.kill(layout.pod_cgroup(uid)));
  // Shims write down how their containers ended, and then end themselves.
  wait_or_kill(processes_with(layout.runtime_root()), seconds(3));
  GW_CHECKED(cgroups.kill("/" + layout.short_id()));
  GW_CHECKED(cgroups.remove("/" + layout.short_id()));
  GW_CHECKED(cgroups.remove(layout.probe_cgroup()));
  GW_CHECKED(unmount_below(layout.root()));
  GW_CHECKED(remove_tree(layout.probes()));
  return remove_tree(layout.runtime_root());
}

}  // namespace gangway::agent::oci
