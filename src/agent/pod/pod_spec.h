// PodSpec: a pod's object as values, as far as a node needs it. Read once a resourceVersion; nothing here is resolved
// yet (names of config maps are names), but for ports, which are numbers, and security contexts, which are merged.
//
// What the API server has defaulted is taken as given. Pure values, usable from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "agent/runtime_types.h"
#include "api/node_selector.h"
#include "api/object.h"
#include "api/pod_requests.h"
#include "base/quantity.h"
#include "base/result.h"
#include "base/time.h"
#include "json/value.h"

namespace gangway::agent {

// ── environment ──

enum class KeyHolder : std::uint8_t { kConfigMap, kSecret };

struct KeyReference {
  KeyHolder in = KeyHolder::kConfigMap;
  std::string name;
  std::string key;
  bool optional = false;
};

struct FieldReference {
  std::string path;  // "metadata.labels['app']", "status.podIP"
};

struct ResourceReference {
  std::string container;  // empty: the container itself
  std::string resource;   // "limits.memory"
  Quantity divisor;       // zero: 1
};

struct EnvironmentVariable {
  std::string name;
  std::variant<std::string, FieldReference, ResourceReference, KeyReference> value;
};

struct EnvironmentSource {
  std::string prefix;
  KeyHolder in = KeyHolder::kConfigMap;
  std::string name;
  bool optional = false;
};

// ── probes and hooks ──

struct ExecHandler {
  std::vector<std::string> command;
};
struct HttpHandler {
  std::string host;  // empty: the pod's address
  std::uint16_t port = 0;
  std::string path;
  bool tls = false;
  std::vector<std::pair<std::string, std::string>> headers;
};
struct TcpHandler {
  std::string host;  // empty: the pod's address
  std::uint16_t port = 0;
};
struct SleepHandler {
  Duration time{};
};
// One that is not run here, by its name.
struct UnknownHandler {
  std::string what;
};
using Handler = std::variant<ExecHandler, HttpHandler, TcpHandler, SleepHandler, UnknownHandler>;

struct ProbeSpec {
  Handler handler;
  Duration initial_delay{};
  Duration period = std::chrono::seconds(10);
  Duration timeout = std::chrono::seconds(1);
  int successes = 1;
  int failures = 3;
  std::optional<Duration> grace;  // of a container that is stopped because of it
};

// ── volumes ──

struct KeyItem {
  std::string key;
  std::string path;
  std::optional<mode_t> mode;
};
// Of a config map or a secret; all keys where no item is named.
struct KeysSource {
  KeyHolder in = KeyHolder::kConfigMap;
  std::string name;
  std::vector<KeyItem> items;
  bool optional = false;
};
struct DownwardItem {
  std::string path;
  std::variant<FieldReference, ResourceReference> value;
  std::optional<mode_t> mode;
};
struct DownwardSource {
  std::vector<DownwardItem> items;
};
struct TokenSource {
  std::string audience;
  std::int64_t seconds = 3600;
  std::string path;
};
// One that is not run here, by its name.
struct UnknownSource {
  std::string what;
};
// Several in one directory; a volume of one of them alone is a projection too.
using Projection = std::variant<KeysSource, DownwardSource, TokenSource, UnknownSource>;
struct FilesSource {
  std::vector<Projection> projections;
  mode_t default_mode = 0644;
};
struct ClaimSource {
  std::string claim;
};
struct PodVolume {
  std::string name;
  std::variant<FilesSource, EmptyVolume, HostVolume, ClaimSource, UnknownSource> source;
};

// ── the pod ──

struct PodContainer {
  ContainerRole role = ContainerRole::kMain;
  std::string name;
  std::string image;
  PullPolicy pull = PullPolicy::kIfNotPresent;
  std::vector<std::string> command;
  std::vector<std::string> args;
  std::string working_directory;
  std::vector<EnvironmentSource> environment_sources;
  std::vector<EnvironmentVariable> environment;
  std::vector<VolumeMount> mounts;
  std::vector<std::string> mount_expressions;  // subPathExpr by the same index; empty: sub_path as it is
  Security security;
  std::map<std::string, Quantity> requests;
  std::map<std::string, Quantity> limits;
  std::optional<ProbeSpec> startup;
  std::optional<ProbeSpec> liveness;
  std::optional<ProbeSpec> readiness;
  std::optional<Handler> post_start;
  std::optional<Handler> pre_stop;
  bool terminal = false;
  bool stdin_open = false;
  bool stdin_once = false;
  std::string termination_message_path;
  bool message_from_log = false;  // FallbackToLogsOnError
  std::vector<PortMapping> ports;
};

enum class RestartPolicy : std::uint8_t { kAlways, kOnFailure, kNever };

struct Deletion {
  WallTime at;  // when it should be gone
  Duration grace{};
};

struct PodSpec {
  PodIdentity pod;
  api::Revision revision = 0;
  std::optional<Deletion> deletion;
  bool has_ended = false;       // its phase says so
  bool says_scheduled = false;  // its conditions do
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  PodOwner owner;
  std::string gang;  // see ContainerSpec::gang

  RestartPolicy restart_policy = RestartPolicy::kAlways;
  Duration grace = std::chrono::seconds(30);
  std::optional<Duration> active_deadline;
  std::string service_account;
  std::string hostname;  // of the pod, whatever its spec says
  std::string subdomain;
  bool host_network = false;
  bool host_pid = false;
  bool host_ipc = false;
  bool share_processes = false;
  bool service_links = true;
  DnsSettings dns;
  std::vector<HostAlias> host_aliases;
  std::vector<std::pair<std::string, std::string>> sysctls;
  std::vector<std::string> pull_secrets;
  std::optional<gid_t> volume_group;  // fsGroup
  std::vector<PodVolume> volumes;
  std::vector<PodContainer> containers;  // init containers and sidecars in their order, then the others

  api::Amounts requests;
  api::NodeSelector nodes;
  std::vector<std::string> readiness_gates;
  std::map<std::string, std::string> gate_conditions;  // status by type, of the gates that exist

  const PodContainer* find(std::string_view name) const;
};

// Requires an object that the API server took: what cannot be read is left at its default.
PodSpec read_pod_spec(const api::Header& header, const json::Value& pod);

// What there is to do for a pod on a node that runs no processes: no volumes, environments, probes or hooks.
void leave_out_processes(PodSpec& pod);

inline constexpr std::string_view kGpuResource = "nvidia.com/gpu";
// GPUs that a container asks for.
unsigned gpus_of(const PodContainer& container);

}  // namespace gangway::agent
