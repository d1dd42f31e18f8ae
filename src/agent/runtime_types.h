// What the agent tells a Runtime and hears from it, as values. Everything is resolved already: environment, arguments,
// volumes and devices are what the container gets, not what the pod's specification says about them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/time.h"

namespace gangway::agent {

struct PodIdentity {
  std::string uid = {};
  std::string ns = {};
  std::string name = {};
  std::string node = {};
  bool operator==(const PodIdentity&) const = default;
};

// Who made a pod and manages it: its job. Empty: nobody.
struct PodOwner {
  std::string kind = {};
  std::string name = {};
  bool operator==(const PodOwner&) const = default;
};

// One run of one container. Names are never used again: a restart is another attempt.
struct ContainerId {
  std::string pod_uid = {};
  std::string container = {};
  unsigned attempt = 0;
  auto operator<=>(const ContainerId&) const = default;
};

struct DnsSettings {
  bool cluster = true;  // the cluster's resolver and search path come first
  bool machine = true;  // otherwise: the machine's come first; neither: nothing but what follows
  std::vector<std::string> nameservers;
  std::vector<std::string> searches;
  std::vector<std::pair<std::string, std::string>> options;  // {"ndots", "5"}
};

struct HostAlias {
  std::string address;
  std::vector<std::string> names;
};

struct PortMapping {
  std::uint16_t host_port = 0;
  std::uint16_t container_port = 0;
  std::string protocol = "TCP";
  std::string host_address;  // empty: all
};

// Zero means no limit.
struct ResourceLimits {
  std::int64_t cpu_shares = 2;
  std::int64_t cpu_quota_micros = 0;  // in a period of 100 ms
  std::int64_t memory_bytes = 0;
  std::int64_t pids = 0;
};

struct SandboxSpec {
  PodIdentity pod;
  std::string hostname;
  std::string domain;  // "sub.team-a.svc.cluster.local", or empty
  bool host_network = false;
  bool host_pid = false;
  bool host_ipc = false;
  bool share_processes = false;
  DnsSettings dns;
  std::vector<HostAlias> host_aliases;
  std::vector<PortMapping> ports;
  std::vector<std::pair<std::string, std::string>> sysctls;
  ResourceLimits limits;  // of the pod as a whole
  PodOwner owner;         // kept with the labels beside its logs, which stay when the pod is gone
  std::map<std::string, std::string> labels;
};

struct Sandbox {
  std::vector<std::string> addresses;  // the pod's; the node's with host_network
};

struct RegistryLogin {
  std::string registry;
  std::string user;
  std::string password;
};

enum class PullPolicy : std::uint8_t { kIfNotPresent, kAlways, kNever };

struct ImageRequest {
  PodIdentity pod;
  std::string image;
  PullPolicy policy = PullPolicy::kIfNotPresent;
  std::vector<RegistryLogin> logins;
};

// What an image says about how to run it.
struct ImageDefaults {
  std::vector<std::string> entrypoint = {};
  std::vector<std::string> command = {};
  std::vector<std::pair<std::string, std::string>> environment = {};
  std::string working_directory = {};
  std::string user = {};
  std::string stop_signal = {};
};

struct Image {
  std::string id;       // what container statuses show as imageID
  std::string message;  // for the Pulled event: "Successfully pulled image …", "Container image … already present …"
  std::int64_t bytes = 0;
  ImageDefaults defaults;
};

struct NodeImage {
  std::vector<std::string> names;
  std::int64_t bytes = 0;
};

// ── volumes ──

struct VolumeFile {
  std::string path;  // relative, may have folders
  std::string content;
  mode_t mode = 0644;
};

// Files that appear all at once and are replaced all at once (configMap, secret, projected, downwardAPI).
struct FilesVolume {
  std::vector<VolumeFile> files = {};
  bool in_memory = false;  // secrets and tokens never reach a disk
  std::optional<gid_t> group = {};
};

// An empty directory that lives as long as the pod.
struct EmptyVolume {
  bool in_memory = false;
  std::int64_t size_limit_bytes = 0;
  std::optional<gid_t> group = {};
};

enum class HostPathType : std::uint8_t {
  kAny,
  kDirectory,
  kDirectoryOrCreate,
  kFile,
  kFileOrCreate,
  kSocket,
  kCharDevice,
  kBlockDevice,
};

struct HostVolume {
  std::string path;
  HostPathType type = HostPathType::kAny;
};

using VolumeContent = std::variant<FilesVolume, EmptyVolume, HostVolume>;

struct VolumeSpec {
  std::string pod_uid;
  std::string name;
  VolumeContent content;
};

enum class Propagation : std::uint8_t { kPrivate, kHostToContainer, kBidirectional };

struct VolumeMount {
  std::string volume = {};
  std::string sub_path = {};  // relative, never leaves the volume
  std::string target = {};
  bool read_only = false;
  Propagation propagation = Propagation::kPrivate;
};

// ── containers ──

struct Security {
  std::optional<uid_t> user = {};
  std::optional<gid_t> group = {};
  std::vector<gid_t> supplemental_groups = {};
  bool must_not_be_root = false;
  bool privileged = false;
  bool read_only_root = false;
  bool no_new_privileges = false;
  std::vector<std::string> added_capabilities = {};    // "NET_ADMIN"; "ALL"
  std::vector<std::string> dropped_capabilities = {};  // "ALL"
};

// Init containers run to their end, one after the other; sidecars start among them and stay.
enum class ContainerRole : std::uint8_t { kInit, kSidecar, kMain };

struct ContainerSpec {
  ContainerId id;
  PodIdentity pod;
  ContainerRole role = ContainerRole::kMain;
  std::string image;
  // Empty: what the image says. The runtime completes them from its ImageDefaults.
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string working_directory;
  std::vector<std::pair<std::string, std::string>> environment;  // wins over the image's
  std::vector<VolumeMount> mounts;
  Security security;
  ResourceLimits limits;
  bool terminal = false;
  bool stdin_open = false;
  bool stdin_once = false;
  std::string termination_message_path;  // in the container; empty: none
  bool message_from_log = false;         // the end of its log is its message, when it fails without one
  // Indexes of the GPUs that are this container's; the environment names them already.
  std::vector<unsigned> gpus;
  // For the simulated runtime: the pod's annotations (how long it runs, how it ends), and what it has in common with
  // the pods that are only useful together with it; empty: nothing.
  std::map<std::string, std::string> annotations;
  std::string gang;
};

struct Started {
  pid_t pid = 0;
  WallTime at;
};

struct Exit {
  int code = 0;
  int signal = 0;
  bool out_of_memory = false;
  bool lost = false;  // it ended without anybody seeing how (the machine was restarted)
  WallTime started_at;
  WallTime at;
  std::string message;  // the end of the termination message file
  bool operator==(const Exit&) const = default;
};

// What a runtime finds of its own when it comes back.
struct FoundContainer {
  ContainerId id;
  std::optional<Started> running;  // exactly one of the two
  std::optional<Exit> exited;
};

struct Found {
  std::map<std::string, Sandbox> sandboxes;  // by pod uid
  std::vector<FoundContainer> containers;
};

struct Usage {
  std::int64_t cpu_nanoseconds = 0;  // since its start
  std::int64_t memory_bytes = 0;     // the working set
};

// ── exec and attach ──

struct ExecSpec {
  ContainerId container;
  std::vector<std::string> command;  // empty: attach to the container's own streams
  bool stdin_open = false;
  bool out = true;
  bool err = true;
  bool terminal = false;
};

struct ExecCallbacks {
  // 1: stdout (and everything of a terminal), 2: stderr.
  std::function<void(int stream, std::string bytes)> on_output;
  // The process has taken all that was written, after ExecSession::unsent() was above zero. May be empty.
  std::function<void()> on_drained = {};
  // Last of all: the exit code, or why there is none. For attach, when the container has ended.
  std::function<void(int exit_code)> on_exit;
  std::function<void(std::string reason)> on_failure;
};

}  // namespace gangway::agent
