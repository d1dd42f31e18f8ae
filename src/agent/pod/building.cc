#include "agent/pod/building.h"

#include <algorithm>

#include "agent/pod/machine.h"
#include "base/base64.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

// What the kernel gives for a whole CPU, and the least it takes.
constexpr std::int64_t kSharesPerCpu = 1024;
constexpr std::int64_t kLeastShares = 2;
constexpr std::int64_t kQuotaPerMilli = 100;  // microseconds in a period of 100 ms

std::int64_t amount_in(const std::map<std::string, Quantity>& amounts, const std::string& name) {
  const auto at = amounts.find(name);
  return at == amounts.end() ? 0 : api::amount_of(name, at->second);
}

ResourceLimits limits_of(std::int64_t cpu_request, std::int64_t cpu_limit, std::int64_t memory_limit) {
  ResourceLimits limits;
  const std::int64_t shares = (cpu_request > 0 ? cpu_request : cpu_limit) * kSharesPerCpu / 1000;
  limits.cpu_shares = std::max(kLeastShares, shares);
  limits.cpu_quota_micros = cpu_limit * kQuotaPerMilli;
  limits.memory_bytes = memory_limit;
  return limits;
}

ResourceLimits container_limits(const PodContainer& container) {
  return limits_of(amount_in(container.requests, "cpu"), amount_in(container.limits, "cpu"),
                   amount_in(container.limits, "memory"));
}

// A pod is limited as a whole where all of its containers are.
ResourceLimits pod_limits(const PodSpec& pod) {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  bool cpu_limited = true;
  bool memory_limited = true;
  for (const PodContainer& container : pod.containers) {
    if (container.role == ContainerRole::kInit) continue;
    const std::int64_t own_cpu = amount_in(container.limits, "cpu");
    const std::int64_t own_memory = amount_in(container.limits, "memory");
    cpu_limited = cpu_limited && own_cpu > 0;
    memory_limited = memory_limited && own_memory > 0;
    cpu += own_cpu;
    memory += own_memory;
  }
  for (const PodContainer& container : pod.containers) {
    if (container.role != ContainerRole::kInit) continue;
    cpu_limited = cpu_limited && amount_in(container.limits, "cpu") > 0;
    memory_limited = memory_limited && amount_in(container.limits, "memory") > 0;
    cpu = std::max(cpu, amount_in(container.limits, "cpu"));
    memory = std::max(memory, amount_in(container.limits, "memory"));
  }
  const auto request = pod.requests.find("cpu");
  return limits_of(request == pod.requests.end() ? 0 : request->second, cpu_limited ? cpu : 0,
                   memory_limited ? memory : 0);
}

void add_login(const std::string& registry, const json::Value& entry, std::vector<RegistryLogin>& out) {
  RegistryLogin login{registry, std::string(json::string_at(entry, {"username"})),
                      std::string(json::string_at(entry, {"password"}))};
  if (auto both = base64_decode(json::string_at(entry, {"auth"})); login.user.empty() && both) {
    const std::size_t colon = both->find(':');
    if (colon != std::string::npos) {
      login.user = both->substr(0, colon);
      login.password = both->substr(colon + 1);
    }
  }
  if (!login.user.empty()) out.push_back(std::move(login));
}

// A secret of type kubernetes.io/dockerconfigjson, or of its predecessor.
void add_logins(const KeyValues& secret, std::vector<RegistryLogin>& out) {
  const auto config = secret.find(".dockerconfigjson");
  const auto older = secret.find(".dockercfg");
  if (config == secret.end() && older == secret.end()) return;
  const auto tree = json::parse(config != secret.end() ? config->second : older->second);
  if (!tree || !tree->is_object()) return;
  const json::Object& auths = config != secret.end() ? json::members_at(*tree, {"auths"}) : tree->get_object();
  for (const auto& entry : auths) add_login(std::string(entry.key()), entry.value(), out);
}

}  // namespace

SandboxSpec build_sandbox(const PodSpec& pod) {
  SandboxSpec spec;
  spec.pod = pod.pod;
  spec.hostname = pod.hostname;
  if (!pod.subdomain.empty()) spec.domain = pod.subdomain + "." + pod.pod.ns + ".svc.cluster.local";
  spec.host_network = pod.host_network;
  spec.host_pid = pod.host_pid;
  spec.host_ipc = pod.host_ipc;
  spec.share_processes = pod.share_processes;
  spec.dns = pod.dns;
  spec.host_aliases = pod.host_aliases;
  for (const PodContainer& container : pod.containers) {
    for (const PortMapping& port : container.ports) {
      if (port.host_port != 0) spec.ports.push_back(port);
    }
  }
  spec.sysctls = pod.sysctls;
  spec.limits = pod_limits(pod);
  spec.owner = pod.owner;
  spec.labels = pod.labels;
  return spec;
}

ImageRequest build_image_request(const ResolveView& view, const PodContainer& container) {
  ImageRequest request{view.pod.pod, container.image, container.pull, {}};
  for (const std::string& name : view.pod.pull_secrets) {
    const auto secret = view.references.keys(KeyHolder::kSecret, view.pod.pod.ns, name);
    if (secret.state == Looked<KeyValues>::State::kFound) add_logins(*secret.value, request.logins);
  }
  return request;
}

ContainerSpec build_simulated(const PodSpec& pod, const PodContainer& container, const ContainerRecord& record) {
  ContainerSpec spec;
  spec.id = {pod.pod.uid, container.name, record.attempt};
  spec.pod = pod.pod;
  spec.role = container.role;
  spec.image = container.image;
  spec.annotations = pod.annotations;
  spec.gang = pod.gang;
  return spec;
}

Resolved<ContainerSpec> build_container(const ResolveView& view, const PodContainer& container,
                                        const ContainerRecord& record) {
  auto resolved = resolve_environment(view, container);
  if (auto* problem = std::get_if<Unresolved>(&resolved)) return std::move(*problem);
  const Environment& environment = std::get<Environment>(resolved);
  ContainerSpec spec = build_simulated(view.pod, container, record);
  spec.command = expand_all(container.command, environment);
  spec.args = expand_all(container.args, environment);
  spec.working_directory = container.working_directory;
  spec.environment.assign(environment.begin(), environment.end());
  spec.mounts = container.mounts;
  for (std::size_t i = 0; i < spec.mounts.size(); ++i) {
    if (!container.mount_expressions[i].empty())
      spec.mounts[i].sub_path = expand(container.mount_expressions[i], environment);
  }
  spec.security = container.security;
  spec.limits = container_limits(container);
  spec.terminal = container.terminal;
  spec.stdin_open = container.stdin_open;
  spec.stdin_once = container.stdin_once;
  spec.termination_message_path = container.termination_message_path;
  spec.message_from_log = container.message_from_log;
  if (const auto gpus = view.record.gpus.find(container.name); gpus != view.record.gpus.end()) spec.gpus = gpus->second;
  return spec;
}

}  // namespace gangway::agent
