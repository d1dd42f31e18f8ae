#include "agent/pod/pod_spec.h"

#include <algorithm>

#include "agent/pod/reading.h"
#include "api/conditions.h"
#include "api/owner.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

// The newer name first.
constexpr std::string_view kGangLabels[] = {"scheduling.x-k8s.io/pod-group", "pod-group.scheduling.sigs.k8s.io/name"};

RestartPolicy read_restart_policy(std::string_view text) {
  if (text == "Never") return RestartPolicy::kNever;
  return text == "OnFailure" ? RestartPolicy::kOnFailure : RestartPolicy::kAlways;
}

std::optional<Deletion> read_deletion(const api::Header& header, const json::Value& pod, Duration own_grace) {
  if (!header.deleting_since) return std::nullopt;
  const json::Value* grace = json::find(pod, {"metadata", "deletionGracePeriodSeconds"});
  const bool stated = grace != nullptr && grace->is_int64();
  return Deletion{*header.deleting_since, stated ? Duration(std::chrono::seconds(grace->get_int64())) : own_grace};
}

// A host name is a label: names of pods that are longer or have dots are cut short.
std::string hostname_of(std::string_view stated, std::string_view pod) {
  constexpr std::size_t kLongest = 63;
  std::string name(stated.empty() ? pod : stated);
  if (name.size() > kLongest) name.resize(kLongest);
  while (!name.empty() && (name.back() == '-' || name.back() == '.')) name.pop_back();
  return name;
}

DnsSettings read_dns(const json::Value& spec) {
  const std::string_view policy = json::string_at(spec, {"dnsPolicy"});
  const bool host_network = json::bool_at(spec, {"hostNetwork"});
  DnsSettings dns;
  dns.cluster = policy == "ClusterFirstWithHostNet" || ((policy == "ClusterFirst" || policy.empty()) && !host_network);
  dns.machine = policy != "None";
  dns.nameservers = json::strings_at(spec, {"dnsConfig", "nameservers"});
  dns.searches = json::strings_at(spec, {"dnsConfig", "searches"});
  for (const json::Value& option : json::array_at(spec, {"dnsConfig", "options"}))
    dns.options.emplace_back(text_at(option, {"name"}), text_at(option, {"value"}));
  return dns;
}

std::vector<HostAlias> read_host_aliases(const json::Value& spec) {
  std::vector<HostAlias> aliases;
  for (const json::Value& alias : json::array_at(spec, {"hostAliases"}))
    aliases.push_back({text_at(alias, {"ip"}), json::strings_at(alias, {"hostnames"})});
  return aliases;
}

std::string gang_of(const api::Header& header) {
  for (const std::string_view label : kGangLabels) {
    if (const auto group = header.label(label); !group.empty()) return header.name.ns + "/" + std::string(group);
  }
  const api::OwnerReference* owner = api::controller_of(header);
  return owner != nullptr ? owner->uid : std::string();
}

void read_readiness(const json::Value& pod, PodSpec& out) {
  for (const json::Value& gate : json::array_at(pod, {"spec", "readinessGates"}))
    out.readiness_gates.push_back(text_at(gate, {"conditionType"}));
  if (out.readiness_gates.empty()) return;
  for (const json::Value& condition : json::array_at(pod, {"status", "conditions"})) {
    std::string type = text_at(condition, {"type"});
    if (std::find(out.readiness_gates.begin(), out.readiness_gates.end(), type) != out.readiness_gates.end())
      out.gate_conditions[std::move(type)] = text_at(condition, {"status"});
  }
}

void read_sandbox(const json::Value& spec, PodSpec& out) {
  out.hostname = hostname_of(json::string_at(spec, {"hostname"}), out.pod.name);
  out.subdomain = text_at(spec, {"subdomain"});
  out.host_network = json::bool_at(spec, {"hostNetwork"});
  out.host_pid = json::bool_at(spec, {"hostPID"});
  out.host_ipc = json::bool_at(spec, {"hostIPC"});
  out.share_processes = json::bool_at(spec, {"shareProcessNamespace"});
  out.dns = read_dns(spec);
  out.host_aliases = read_host_aliases(spec);
  for (const json::Value& sysctl : json::array_at(spec, {"securityContext", "sysctls"}))
    out.sysctls.emplace_back(text_at(sysctl, {"name"}), text_at(sysctl, {"value"}));
}

}  // namespace

std::map<std::string, std::string> string_map(const json::Object& members) {
  std::map<std::string, std::string> map;
  for (const auto& member : members) {
    if (member.value().is_string()) map.emplace(member.key(), member.value().get_string());
  }
  return map;
}

std::string text_at(const json::Value& root, json::Path path) {
  return std::string(json::string_at(root, path));
}

const PodContainer* PodSpec::find(std::string_view name) const {
  const auto at =
      std::find_if(containers.begin(), containers.end(), [&](const auto& container) { return container.name == name; });
  return at == containers.end() ? nullptr : &*at;
}

unsigned gpus_of(const PodContainer& container) {
  const auto limit = container.limits.find(std::string(kGpuResource));
  return limit == container.limits.end() ? 0 : static_cast<unsigned>(std::max<std::int64_t>(0, limit->second.value()));
}

void leave_out_processes(PodSpec& pod) {
  pod.volumes.clear();
  for (PodContainer& container : pod.containers) {
    container.environment.clear();
    container.environment_sources.clear();
    container.mounts.clear();
    container.mount_expressions.clear();
    container.startup.reset();
    container.liveness.reset();
    container.readiness.reset();
    container.post_start.reset();
    container.pre_stop.reset();
  }
}

PodSpec read_pod_spec(const api::Header& header, const json::Value& pod) {
  static const json::Value nothing = json::Object();
  const json::Value* found = json::find(pod, {"spec"});
  const json::Value& spec = found != nullptr ? *found : nothing;
  PodSpec out;
  out.pod = {header.uid, header.name.ns, header.name.name, text_at(spec, {"nodeName"})};
  out.revision = header.revision;
  const std::string_view phase = json::string_at(pod, {"status", "phase"});
  out.has_ended = phase == "Succeeded" || phase == "Failed";
  out.says_scheduled = api::condition_is_true(pod, "PodScheduled");
  out.labels = string_map(json::members_at(pod, {"metadata", "labels"}));
  out.annotations = string_map(json::members_at(pod, {"metadata", "annotations"}));
  if (const auto* owner = api::controller_of(header)) out.owner = {owner->kind, owner->name};
  out.gang = gang_of(header);
  out.restart_policy = read_restart_policy(json::string_at(spec, {"restartPolicy"}));
  out.grace = std::chrono::seconds(json::int_at(spec, {"terminationGracePeriodSeconds"}, 30));
  out.deletion = read_deletion(header, pod, out.grace);
  if (const auto seconds = json::int_at(spec, {"activeDeadlineSeconds"}, -1); seconds >= 0)
    out.active_deadline = std::chrono::seconds(seconds);
  out.service_account = text_at(spec, {"serviceAccountName"});
  out.service_links = json::bool_at(spec, {"enableServiceLinks"}, true);
  read_sandbox(spec, out);
  for (const json::Value& secret : json::array_at(spec, {"imagePullSecrets"}))
    out.pull_secrets.push_back(text_at(secret, {"name"}));
  if (const auto group = json::int_at(spec, {"securityContext", "fsGroup"}, -1); group >= 0)
    out.volume_group = static_cast<gid_t>(group);
  out.volumes = read_volumes(spec);
  out.containers = read_containers(spec);
  out.requests = api::pod_requests(pod);
  out.nodes = api::NodeSelector::of_pod(pod);
  read_readiness(pod, out);
  return out;
}

}  // namespace gangway::agent
