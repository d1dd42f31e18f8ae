#include <algorithm>

#include "agent/pod/reading.h"

namespace gangway::agent {
namespace {

KeyReference read_key_reference(const json::Value& reference, KeyHolder in) {
  return {in, text_at(reference, {"name"}), text_at(reference, {"key"}), json::bool_at(reference, {"optional"})};
}

EnvironmentVariable read_variable(const json::Value& variable) {
  EnvironmentVariable out{text_at(variable, {"name"}), text_at(variable, {"value"})};
  const json::Value* from = json::find(variable, {"valueFrom"});
  if (from == nullptr || !from->is_object()) return out;
  if (json::find(*from, {"fieldRef"}) != nullptr) {
    out.value = read_field_reference(*from);
  } else if (json::find(*from, {"resourceFieldRef"}) != nullptr) {
    out.value = read_resource_reference(*from);
  } else if (const json::Value* map = json::find(*from, {"configMapKeyRef"})) {
    out.value = read_key_reference(*map, KeyHolder::kConfigMap);
  } else if (const json::Value* secret = json::find(*from, {"secretKeyRef"})) {
    out.value = read_key_reference(*secret, KeyHolder::kSecret);
  }
  return out;
}

EnvironmentSource read_source(const json::Value& source) {
  EnvironmentSource out;
  out.prefix = text_at(source, {"prefix"});
  const json::Value* secret = json::find(source, {"secretRef"});
  const json::Value* reference = secret != nullptr ? secret : json::find(source, {"configMapRef"});
  out.in = secret != nullptr ? KeyHolder::kSecret : KeyHolder::kConfigMap;
  if (reference == nullptr) return out;
  out.name = text_at(*reference, {"name"});
  out.optional = json::bool_at(*reference, {"optional"});
  return out;
}

std::map<std::string, Quantity> read_quantities(const json::Object& members) {
  std::map<std::string, Quantity> out;
  for (const auto& [name, amount] : string_map(members)) {
    if (auto quantity = Quantity::parse(amount)) out.emplace(name, std::move(*quantity));
  }
  return out;
}

// ── ports, probes and hooks ──

std::vector<PortMapping> read_ports(const json::Value& container, std::map<std::string, std::uint16_t>& by_name) {
  std::vector<PortMapping> ports;
  for (const json::Value& port : json::array_at(container, {"ports"})) {
    PortMapping mapping;
    mapping.container_port = static_cast<std::uint16_t>(json::int_at(port, {"containerPort"}));
    mapping.host_port = static_cast<std::uint16_t>(json::int_at(port, {"hostPort"}));
    if (auto protocol = text_at(port, {"protocol"}); !protocol.empty()) mapping.protocol = std::move(protocol);
    mapping.host_address = text_at(port, {"hostIP"});
    if (auto name = text_at(port, {"name"}); !name.empty()) by_name.emplace(std::move(name), mapping.container_port);
    ports.push_back(std::move(mapping));
  }
  return ports;
}

class HandlerReader {
 public:
  explicit HandlerReader(std::map<std::string, std::uint16_t> ports) : ports_(std::move(ports)) {}

  // None when `value` has no handler at all.
  std::optional<Handler> read(const json::Value& value) const {
    if (json::find(value, {"exec"}) != nullptr) return ExecHandler{json::strings_at(value, {"exec", "command"})};
    if (const json::Value* http = json::find(value, {"httpGet"})) return read_http(*http);
    if (const json::Value* tcp = json::find(value, {"tcpSocket"}))
      return TcpHandler{text_at(*tcp, {"host"}), port_of(json::find(*tcp, {"port"}))};
    if (json::find(value, {"sleep"}) != nullptr)
      return SleepHandler{std::chrono::seconds(json::int_at(value, {"sleep", "seconds"}))};
    if (json::find(value, {"grpc"}) != nullptr) return UnknownHandler{"grpc"};
    return std::nullopt;
  }

  std::optional<ProbeSpec> read_probe(const json::Value& container, std::string_view key) const {
    const json::Value* probe = json::find(container, {key});
    if (probe == nullptr || !probe->is_object()) return std::nullopt;
    auto handler = read(*probe);
    if (!handler) return std::nullopt;
    const auto seconds = [&](std::string_view field, std::int64_t otherwise) -> Duration {
      return std::chrono::seconds(json::int_at(*probe, {field}, otherwise));
    };
    ProbeSpec out{.handler = std::move(*handler), .grace = std::nullopt};
    out.initial_delay = seconds("initialDelaySeconds", 0);
    out.period = seconds("periodSeconds", 10);
    out.timeout = seconds("timeoutSeconds", 1);
    out.successes = static_cast<int>(json::int_at(*probe, {"successThreshold"}, 1));
    out.failures = static_cast<int>(json::int_at(*probe, {"failureThreshold"}, 3));
    if (json::find(*probe, {"terminationGracePeriodSeconds"}) != nullptr)
      out.grace = seconds("terminationGracePeriodSeconds", 0);
    return out;
  }

 private:
  HttpHandler read_http(const json::Value& http) const {
    HttpHandler out;
    out.host = text_at(http, {"host"});
    out.port = port_of(json::find(http, {"port"}));
    out.path = text_at(http, {"path"});
    out.tls = json::string_at(http, {"scheme"}) == "HTTPS";
    for (const json::Value& header : json::array_at(http, {"httpHeaders"}))
      out.headers.emplace_back(text_at(header, {"name"}), text_at(header, {"value"}));
    return out;
  }

  // A number, or the name of one of the container's ports.
  std::uint16_t port_of(const json::Value* port) const {
    if (port == nullptr) return 0;
    if (port->is_int64()) return static_cast<std::uint16_t>(port->get_int64());
    if (!port->is_string()) return 0;
    const auto named = ports_.find(std::string(port->get_string()));
    return named == ports_.end() ? 0 : named->second;
  }

  std::map<std::string, std::uint16_t> ports_;
};

// ── security ──

template <class Id>
void take_id(const json::Value& context, std::string_view key, std::optional<Id>& out) {
  if (const auto id = json::int_at(context, {key}, -1); id >= 0) out = static_cast<Id>(id);
}

// What the container says wins over what the pod says.
Security read_security(const json::Value& pod, const json::Value& container) {
  Security out;
  for (const json::Value* context : {&pod, &container}) {
    take_id(*context, "runAsUser", out.user);
    take_id(*context, "runAsGroup", out.group);
    out.must_not_be_root = json::bool_at(*context, {"runAsNonRoot"}, out.must_not_be_root);
  }
  for (const json::Value& group : json::array_at(pod, {"supplementalGroups"})) {
    if (group.is_int64()) out.supplemental_groups.push_back(static_cast<gid_t>(group.get_int64()));
  }
  if (const auto group = json::int_at(pod, {"fsGroup"}, -1); group >= 0)
    out.supplemental_groups.push_back(static_cast<gid_t>(group));
  out.privileged = json::bool_at(container, {"privileged"});
  out.read_only_root = json::bool_at(container, {"readOnlyRootFilesystem"});
  out.no_new_privileges = !json::bool_at(container, {"allowPrivilegeEscalation"}, true);
  out.added_capabilities = json::strings_at(container, {"capabilities", "add"});
  out.dropped_capabilities = json::strings_at(container, {"capabilities", "drop"});
  return out;
}

// ── the whole ──

PullPolicy read_pull_policy(std::string_view text) {
  if (text == "Always") return PullPolicy::kAlways;
  return text == "Never" ? PullPolicy::kNever : PullPolicy::kIfNotPresent;
}

Propagation read_propagation(std::string_view text) {
  if (text == "Bidirectional") return Propagation::kBidirectional;
  return text == "HostToContainer" ? Propagation::kHostToContainer : Propagation::kPrivate;
}

void read_mounts(const json::Value& container, PodContainer& out) {
  for (const json::Value& mount : json::array_at(container, {"volumeMounts"})) {
    out.mounts.push_back({text_at(mount, {"name"}), text_at(mount, {"subPath"}), text_at(mount, {"mountPath"}),
                          json::bool_at(mount, {"readOnly"}),
                          read_propagation(json::string_at(mount, {"mountPropagation"}))});
    out.mount_expressions.push_back(text_at(mount, {"subPathExpr"}));
  }
}

void read_process(const json::Value& container, PodContainer& out) {
  out.image = text_at(container, {"image"});
  out.pull = read_pull_policy(json::string_at(container, {"imagePullPolicy"}));
  out.command = json::strings_at(container, {"command"});
  out.args = json::strings_at(container, {"args"});
  out.working_directory = text_at(container, {"workingDir"});
  for (const json::Value& source : json::array_at(container, {"envFrom"}))
    out.environment_sources.push_back(read_source(source));
  for (const json::Value& variable : json::array_at(container, {"env"}))
    out.environment.push_back(read_variable(variable));
  out.terminal = json::bool_at(container, {"tty"});
  out.stdin_open = json::bool_at(container, {"stdin"});
  out.stdin_once = json::bool_at(container, {"stdinOnce"});
  out.termination_message_path = text_at(container, {"terminationMessagePath"});
  out.message_from_log = json::string_at(container, {"terminationMessagePolicy"}) == "FallbackToLogsOnError";
}

PodContainer read_container(const json::Value& pod_context, const json::Value& container, ContainerRole role) {
  static const json::Value nothing = json::Object();
  PodContainer out;
  out.role = role;
  out.name = text_at(container, {"name"});
  read_process(container, out);
  read_mounts(container, out);
  const json::Value* context = json::find(container, {"securityContext"});
  out.security = read_security(pod_context, context != nullptr ? *context : nothing);
  out.requests = read_quantities(json::members_at(container, {"resources", "requests"}));
  out.limits = read_quantities(json::members_at(container, {"resources", "limits"}));
  std::map<std::string, std::uint16_t> ports;
  out.ports = read_ports(container, ports);
  const HandlerReader handlers(std::move(ports));
  out.startup = handlers.read_probe(container, "startupProbe");
  out.liveness = handlers.read_probe(container, "livenessProbe");
  out.readiness = handlers.read_probe(container, "readinessProbe");
  if (const json::Value* hook = json::find(container, {"lifecycle", "postStart"}))
    out.post_start = handlers.read(*hook);
  if (const json::Value* hook = json::find(container, {"lifecycle", "preStop"})) out.pre_stop = handlers.read(*hook);
  return out;
}

}  // namespace

FieldReference read_field_reference(const json::Value& value) {
  return {text_at(value, {"fieldRef", "fieldPath"})};
}

ResourceReference read_resource_reference(const json::Value& value) {
  ResourceReference out{
      text_at(value, {"resourceFieldRef", "containerName"}), text_at(value, {"resourceFieldRef", "resource"}), {}};
  if (auto divisor = Quantity::parse(json::string_at(value, {"resourceFieldRef", "divisor"})))
    out.divisor = std::move(*divisor);
  return out;
}

std::vector<PodContainer> read_containers(const json::Value& spec) {
  static const json::Value nothing = json::Object();
  const json::Value* found = json::find(spec, {"securityContext"});
  const json::Value& context = found != nullptr ? *found : nothing;
  std::vector<PodContainer> out;
  for (const json::Value& container : json::array_at(spec, {"initContainers"})) {
    const bool stays = json::string_at(container, {"restartPolicy"}) == "Always";
    out.push_back(read_container(context, container, stays ? ContainerRole::kSidecar : ContainerRole::kInit));
  }
  for (const json::Value& container : json::array_at(spec, {"containers"}))
    out.push_back(read_container(context, container, ContainerRole::kMain));
  return out;
}

}  // namespace gangway::agent
