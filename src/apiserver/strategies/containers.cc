// The containers of a pod: ports, variables, mounts, probes, resources.
#include <fmt/format.h>

#include <array>

#include "apiserver/strategies/pod_spec.h"
#include "apiserver/strategies/resources.h"
#include "apiserver/strategies/volumes.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

using Names = std::set<std::string_view>;

constexpr std::int64_t kHighestId = 2147483647;

void check_port_number(const Field& port) {
  for (const auto& message : names::check_port_number(port.integer_or(0))) port.invalid(message);
}

void check_ports(const Field& ports) {
  Names seen;
  for (const auto& port : ports.items()) {
    auto name = port["name"];
    if (!name.empty()) {
      auto messages = names::check_port_name(name.text());
      name.invalid_each(messages);
      if (messages.empty() && !seen.insert(name.text()).second) name.duplicate();
    }
    if (port["containerPort"].integer_or(0) != 0) check_port_number(port["containerPort"]);
    if (port["hostPort"].integer_or(0) != 0) check_port_number(port["hostPort"]);
  }
}

void check_host_port_conflicts(const Field& container, std::set<std::string>& taken) {
  for (const auto& port : container["ports"].items()) {
    auto number = port["hostPort"].integer_or(0);
    if (number == 0) continue;
    auto claim = fmt::format("{}/{}/{}", port["protocol"].text(), port["hostIP"].text(), number);
    if (!taken.insert(claim).second) port["hostPort"].duplicate(json::Value(claim));
  }
}

void check_key_reference(const Field& reference) {
  reference["name"].invalid_each(names::check_dns1123_subdomain(reference["name"].text()));
  auto key = reference["key"];
  if (key.empty()) {
    key.required();
  } else {
    key.invalid_each(names::check_config_key(key.text()));
  }
}

void check_resource_reference(const Field& reference) {
  auto resource = reference["resource"];
  if (resource.empty()) return resource.required();
  auto text = resource.text();
  if (text.starts_with("limits.hugepages-") || text.starts_with("requests.hugepages-")) return;
  resource.one_of({"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu",
                   "requests.ephemeral-storage", "requests.memory"});
}

void check_value_source(const Field& variable) {
  auto from = variable["valueFrom"];
  if (!from) return;
  int sources = 0;
  if (from["fieldRef"]) {
    ++sources;
    check_field_reference(from["fieldRef"], {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName",
                                             "spec.serviceAccountName", "status.hostIP", "status.hostIPs",
                                             "status.podIP", "status.podIPs"});
  }
  if (from["resourceFieldRef"]) {
    ++sources;
    check_resource_reference(from["resourceFieldRef"]);
  }
  for (auto key : {"configMapKeyRef", "secretKeyRef"}) {
    if (!from[key]) continue;
    ++sources;
    check_key_reference(from[key]);
  }
  if (sources == 0) {
    from.invalid("", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`");
  } else if (!variable["value"].empty()) {
    from.invalid("", "may not be specified when `value` is not empty");
  } else if (sources > 1) {
    from.invalid("", "may not have more than one field specified at a time");
  }
}

void check_environment(const Field& container) {
  for (const auto& variable : container["env"].items()) {
    auto name = variable["name"];
    if (!name.empty()) name.invalid_each(names::check_relaxed_env_var_name(name.text()));
    check_value_source(variable);
  }
  auto list = container["envFrom"];
  for (const auto& source : list.items()) {
    auto prefix = source["prefix"];
    if (!prefix.empty()) prefix.invalid_each(names::check_relaxed_env_var_name(prefix.text()));
    int sources = 0;
    for (auto key : {"configMapRef", "secretRef"}) {
      if (!source[key]) continue;
      ++sources;
      source[key]["name"].invalid_each(names::check_dns1123_subdomain(source[key]["name"].text()));
    }
    if (sources == 0) list.invalid("", "must specify one of: `configMapRef` or `secretRef`");
    if (sources > 1) list.invalid("", "may not have more than one field specified at a time");
  }
}

void check_mounts(const Field& container, const Names& volumes) {
  auto mounts = container["volumeMounts"];
  Names paths;
  for (const auto& mount : mounts.items()) {
    auto name = mount["name"];
    if (!volumes.contains(name.text())) {
      name.refuse("FieldValueNotFound", fmt::format("Not found: {}", shown(json::Value(name.text()))));
    }
    auto path = mount["mountPath"];
    if (!paths.insert(path.text()).second) path.invalid("must be unique");
    // Messages name the list, not the mount, as the real server's do.
    for (auto key : {"subPath", "subPathExpr"}) {
      check_relative_path(Field(mount[key].value(), mounts[key].path(), mount.causes()));
    }
    if (!mount["subPath"].empty() && !mount["subPathExpr"].empty()) {
      mount["subPathExpr"].invalid("subPathExpr and subPath are mutually exclusive");
    }
    Field(mount["mountPropagation"].value(), mounts["mountPropagation"].path(), mount.causes())
        .one_of({"Bidirectional", "HostToContainer", "None"});
  }
}

void check_port_or_name(const Field& port) {
  if (port.integer()) return check_port_number(port);
  port.invalid_each(names::check_port_name(port.text()));
}

void check_handler(const Field& handler) {
  constexpr std::array<std::string_view, 5> kTypes = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
  bool found = false;
  for (auto type : kTypes) {
    auto action = handler[type];
    if (!action) continue;
    if (found) {
      action.forbidden("may not specify more than 1 handler type");
      continue;
    }
    found = true;
    if (type == "exec" && action["command"].empty()) action["command"].required();
    if (type == "httpGet" || type == "tcpSocket") check_port_or_name(action["port"]);
    if (type == "grpc") check_port_number(action["port"]);
    if (type == "sleep") action["seconds"].not_negative();
  }
  if (!found) handler.required("must specify a handler type");
}

void check_probe(const Field& probe, bool is_readiness) {
  if (!probe) return;
  check_handler(probe);
  auto grace = probe["terminationGracePeriodSeconds"];
  grace.positive();
  if (is_readiness) {
    if (grace) grace.invalid("must not be set for readinessProbes");
  } else if (probe["successThreshold"].integer_or(1) != 1) {
    probe["successThreshold"].invalid("must be 1");
  }
}

void check_security(const Field& security) {
  if (!security) return;
  for (auto key : {"runAsUser", "runAsGroup"}) {
    auto id = security[key].integer();
    if (id && (*id < 0 || *id > kHighestId)) security[key].invalid(names::range_message(0, kHighestId));
  }
  auto escalation = security["allowPrivilegeEscalation"];
  if (!escalation || escalation.flag()) return;
  if (security["privileged"].flag()) {
    security.invalid("cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  }
  for (const auto& capability : security["capabilities"]["add"].items()) {
    if (capability.text() == "CAP_SYS_ADMIN") {
      security.invalid("cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN");
    }
  }
}

void check_container(const Field& container, const Names& volumes) {
  auto name = container["name"];
  if (!name.empty()) name.invalid_each(names::check_dns1123_label(name.text()));
  if (container["image"].empty()) container["image"].required();
  check_ports(container["ports"]);
  check_environment(container);
  check_mounts(container, volumes);
  check_container_resources(container["resources"]);
  check_security(container["securityContext"]);
}

void check_life(const Field& container) {
  for (auto key : {"postStart", "preStop"}) {
    auto handler = container["lifecycle"][key];
    if (handler) check_handler(handler);
  }
  check_probe(container["livenessProbe"], false);
  check_probe(container["readinessProbe"], true);
  check_probe(container["startupProbe"], false);
}

void check_init_container(const Field& container, const Names& volumes, Names& taken) {
  check_container(container, volumes);
  auto policy = container["restartPolicy"];
  policy.one_of({"Always"});
  auto name = container["name"];
  if (!name.empty() && !taken.insert(name.text()).second) name.duplicate();
  std::set<std::string> host_ports;
  check_host_port_conflicts(container, host_ports);
  if (policy.text() == "Always") return check_life(container);
  for (auto key : {"lifecycle", "livenessProbe", "readinessProbe", "startupProbe"}) {
    if (container[key]) container[key].forbidden("may not be set for init containers without restartPolicy=Always");
  }
}

}  // namespace

void check_containers(const Field& spec, const Names& volumes) {
  Names taken;
  std::set<std::string> host_ports;
  for (const auto& container : spec["containers"].items()) {
    check_container(container, volumes);
    auto name = container["name"];
    if (!taken.insert(name.text()).second) name.duplicate();
    check_life(container);
    if (container["restartPolicy"]) container["restartPolicy"].forbidden("may not be set for non-init containers");
  }
  for (const auto& container : spec["containers"].items()) check_host_port_conflicts(container, host_ports);
  for (const auto& container : spec["initContainers"].items()) check_init_container(container, volumes, taken);
  for (const auto& container : spec["ephemeralContainers"].items()) {
    auto name = container["name"];
    if (!name.empty()) name.invalid_each(names::check_dns1123_label(name.text()));
    if (!taken.insert(name.text()).second) name.duplicate();
    if (container["image"].empty()) container["image"].required();
  }
}

}  // namespace gangway::apiserver
