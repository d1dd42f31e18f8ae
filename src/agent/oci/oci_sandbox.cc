#include <unistd.h>

#include <utility>

#include "agent/oci/container_build.h"
#include "agent/oci/mounts.h"
#include "agent/oci/namespaces.h"
#include "agent/oci/oci_answer.h"
#include "agent/oci/oci_runtime.h"
#include "agent/oci/tool_message.h"
#include "json/value.h"
#include "sys/files.h"
#include "sys/log.h"

namespace gangway::agent::oci {
namespace {

// What Docker and Kubernetes give a pod; who needs more mounts an emptyDir of medium Memory.
constexpr std::int64_t kSharedMemoryBytes = std::int64_t{64} << 20;
// Of what a program tells about itself: a few small files.
constexpr std::int64_t kReportBytes = std::int64_t{1} << 20;

Result<void> furnish_sandbox(const Layout& layout, const Cgroups& cgroups, const SandboxSpec& spec,
                             const PodAddresses& network) {
  const std::string folder = layout.pod(spec.pod.uid);
  GW_CHECKED(make_folders(folder, 0700));
  GW_CHECKED(replace_file(folder + "/hosts", network.hosts));
  GW_CHECKED(replace_file(folder + "/resolv.conf", network.resolv_conf));
  GW_CHECKED(replace_file(folder + "/hostname", spec.hostname + "\n"));
  if (!spec.host_ipc) {
    GW_CHECKED(make_folders(folder + "/shm"));
    if (!is_mount_point(folder + "/shm")) GW_CHECKED(mount_tmpfs(folder + "/shm", kSharedMemoryBytes, 01777));
  }
  GW_CHECKED(make_folders(layout.report(spec.pod.uid)));
  if (!is_mount_point(layout.report(spec.pod.uid)))
    GW_CHECKED(mount_tmpfs(layout.report(spec.pod.uid), kReportBytes, 01777));
  NamespaceRequest namespaces;
  namespaces.folder = folder + "/ns";
  namespaces.ipc = !spec.host_ipc;
  namespaces.uts = !spec.host_network;
  namespaces.hostname = spec.hostname;
  namespaces.netns = network.netns_path;
  namespaces.sysctls = spec.sysctls;
  GW_CHECKED(hold_namespaces(namespaces));
  GW_CHECKED(cgroups.make(layout.pod_cgroup(spec.pod.uid), spec.limits));
  const std::string logs = layout.log(spec.pod, holder_of(spec.pod.uid));
  const std::string log_folder = logs.substr(0, logs.rfind('/', logs.rfind('/') - 1));
  GW_CHECKED(make_folders(log_folder));
  return replace_file(log_folder + "/pod.json", describe_pod(spec));
}

// A container with nothing but init in it.
Result<void> build_holder(const Layout& layout, const SandboxRecord& sandbox) {
  const ContainerId id = holder_of(sandbox.pod.uid);
  const std::string folder = layout.container(id);
  GW_CHECKED(make_folders(folder + "/root"));
  ContainerSpec spec;
  spec.id = id;
  spec.security.read_only_root = true;
  BundleFacts facts;
  facts.process = {.args = {"--pause"}, .environment = {}, .working_directory = "/", .user = {}};
  facts.root = folder + "/root";
  facts.init = layout.init();
  facts.namespaces = namespaces_in(layout, sandbox);
  facts.namespaces.pid = std::nullopt;
  facts.cgroup = layout.cgroup(id);
  facts.open_files = 256;
  facts.capabilities = 0;
  if (!sandbox.host_ipc) facts.shm = layout.pod(sandbox.pod.uid) + "/shm";
  return replace_file(folder + "/config.json", json::serialize(bundle_spec(spec, facts)), 0600);
}

}  // namespace

struct OciRuntime::SandboxMaking {
  SandboxSpec spec;
  PodAddresses network;
  SandboxRecord record;
  std::vector<sys::Completion<Sandbox>> waiting;
};

void OciRuntime::make_sandbox(SandboxSpec spec, sys::Completion<Sandbox> done) {
  const std::string uid = spec.pod.uid;
  if (auto checked = check_path_parts(spec.pod); !checked) {
    return answer<Sandbox>(std::move(done), std::move(checked).error());
  }
  if (const auto known = sandboxes_.find(uid); known != sandboxes_.end()) {
    return answer<Sandbox>(std::move(done), Sandbox{known->second.addresses});
  }
  auto& making = making_[uid];
  if (making) return making->waiting.push_back(std::move(done));
  making = std::make_shared<SandboxMaking>();
  making->spec = std::move(spec);
  making->waiting.push_back(std::move(done));
  network_.attach(making->spec, [this, making, alive = std::weak_ptr(alive_)](Result<PodAddresses> network) {
    if (alive.expired()) return;
    if (!network) return finish(making, std::move(network).error());
    making->network = std::move(*network);
    furnish(making);
  });
}

void OciRuntime::furnish(const std::shared_ptr<SandboxMaking>& making) {
  const auto& spec = making->spec;
  making->record = {.pod = spec.pod,
                    .hostname = spec.hostname,
                    .host_network = spec.host_network,
                    .host_pid = spec.host_pid,
                    .host_ipc = spec.host_ipc,
                    .share_processes = spec.share_processes,
                    .netns = making->network.netns_path,
                    .addresses = making->network.addresses,
                    .holder = 0,
                    .holder_ticks = 0};
  workers_.run<void>(
      [layout = layout_, cgroups = support_.cgroups, making]() -> Result<void> {
        GW_CHECKED(furnish_sandbox(layout, cgroups, making->spec, making->network));
        if (!making->record.share_processes || making->record.host_pid) return {};
        GW_CHECKED(remove_container(layout, cgroups, holder_of(making->record.pod.uid)));
        return build_holder(layout, making->record);
      },
      [this, making](Result<void> furnished) {
        if (!furnished || !making->record.share_processes || making->record.host_pid) {
          return finish(making, std::move(furnished));
        }
        start_holder(making);
      });
}

void OciRuntime::start_holder(const std::shared_ptr<SandboxMaking>& making) {
  const ContainerId id = holder_of(making->record.pod.uid);
  const std::string folder = layout_.container(id);
  sys::Command run{.argv = {support_.runtime, "--root", layout_.runtime_root(), "run", "--detach", "--bundle", folder,
                            "--pid-file", folder + "/pid", layout_.runtime_id(id)}};
  runner_.run(run, [this, making, folder](Result<sys::CommandResult> result) {
    if (!result) return finish(making, std::move(result).error());
    if (!result->ok()) return finish(making, internal_error(tool_message(result->err)));
    const auto pid = sys::read_file(folder + "/pid").value_or("0");
    making->record.holder = static_cast<pid_t>(std::atol(pid.c_str()));
    making->record.holder_ticks = start_ticks_of(making->record.holder);
    finish(making, {});
  });
}

void OciRuntime::finish(const std::shared_ptr<SandboxMaking>& making, Result<void> made) {
  const std::string uid = making->spec.pod.uid;
  // Last of all: from now on it is whole.
  if (made) made = replace_file(layout_.pod(uid) + "/sandbox.json", encode(making->record));
  making_.erase(uid);
  if (made) sandboxes_[uid] = making->record;
  for (const auto& done : std::exchange(making->waiting, {})) {
    if (made) {
      done(Sandbox{making->record.addresses});
    } else {
      done(made.error());
    }
  }
}

void OciRuntime::remove_sandbox(const std::string& pod_uid, sys::Completion<void> done) {
  if (auto checked = check_path_part("the pod's uid", pod_uid); !checked) {
    return answer<void>(std::move(done), std::move(checked).error());
  }
  sandboxes_.erase(pod_uid);
  for (auto at = containers_.lower_bound({.pod_uid = pod_uid, .container = "", .attempt = 0});
       at != containers_.end() && at->first.pod_uid == pod_uid;) {
    by_runtime_id_.erase(layout_.runtime_id(at->first));
    at = containers_.erase(at);
  }
  // Processes first: an address is free for others only when nobody uses it any more.
  workers_.run<void>(
      [layout = layout_, cgroups = support_.cgroups, pod_uid, now = loop_.clock().wall()]() -> Result<void> {
        GW_CHECKED(remove_pod(layout, cgroups, pod_uid));
        mark_gone(layout.logs(), pod_uid, now);
        return {};
      },
      [this, pod_uid, done = std::move(done)](Result<void> removed) {
        if (!removed) return done(std::move(removed).error());
        network_.detach(pod_uid, done);
      });
}

}  // namespace gangway::agent::oci
