#include "apiserver/strategies/pod_spec.h"

#include <fmt/format.h>

#include "apiserver/strategies/address.h"
#include "apiserver/strategies/labels.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::int64_t kHighestInt32 = 2147483647;
constexpr std::size_t kMaxNameservers = 3;
constexpr std::size_t kMaxSearchPaths = 32;

// "registry:5000/a/b:tag@sha256:…" → "tag"; without tag and digest it is "latest".
std::string_view tag_of(std::string_view image) {
  if (image.empty()) return {};
  auto at = image.find('@');
  bool has_digest = at != std::string_view::npos;
  image = image.substr(0, at);
  auto colon = image.rfind(':');
  auto slash = image.rfind('/');
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash))
    return image.substr(colon + 1);
  return has_digest ? std::string_view() : std::string_view("latest");
}

template <class Edit>
void for_each_item(json::Value& parent, std::string_view key, Edit edit) {
  auto* list = json::find(parent, {key});
  if (!list || !list->is_array()) return;
  for (auto& item : list->get_array()) {
    if (item.is_object()) edit(item.get_object());
  }
}

void add_pull_policy(json::Object& container) {
  const auto* policy = container.if_contains("imagePullPolicy");
  if (policy && policy->is_string() && !policy->get_string().empty()) return;
  const auto* image = container.if_contains("image");
  auto text = image && image->is_string() ? std::string_view(image->get_string()) : std::string_view();
  container["imagePullPolicy"] = tag_of(text) == "latest" ? "Always" : "IfNotPresent";
}

void check_identity(const Field& spec) {
  auto name_like = [&](std::string_view key, names::Messages (*check)(std::string_view)) {
    if (!spec[key].empty()) spec[key].invalid_each(check(spec[key].text()));
  };
  name_like("serviceAccountName", names::check_dns1123_subdomain);
  name_like("nodeName", names::check_dns1123_subdomain);
  name_like("hostname", names::check_dns1123_label);
  name_like("subdomain", names::check_dns1123_label);
  name_like("priorityClassName", names::check_dns1123_subdomain);
  name_like("runtimeClassName", names::check_dns1123_subdomain);
  auto deadline = spec["activeDeadlineSeconds"];
  if (auto seconds = deadline.integer(); seconds && (*seconds < 1 || *seconds > kHighestInt32)) {
    deadline.invalid(names::range_message(1, kHighestInt32));
  }
  spec["preemptionPolicy"].one_of({"Never", "PreemptLowerPriority"});
}

void check_gates(const Field& spec) {
  for (const auto& gate : spec["readinessGates"].items()) {
    gate["conditionType"].invalid_each(names::check_qualified_name(gate["conditionType"].text()));
  }
  std::set<std::string_view> seen;
  for (const auto& gate : spec["schedulingGates"].items()) {
    json::Value name(gate["name"].text());
    for (const auto& message : names::check_qualified_name(gate["name"].text())) gate.invalid(name, message);
    if (!seen.insert(gate["name"].text()).second) gate.duplicate(name);
  }
}

void check_dns(const Field& spec) {
  auto config = spec["dnsConfig"];
  if (spec["dnsPolicy"].text() == "None") {
    if (!config) return config.required("must provide `dnsConfig` when `dnsPolicy` is None");
    if (config["nameservers"].empty()) {
      return config["nameservers"].required("must provide at least one DNS nameserver when `dnsPolicy` is None");
    }
  }
  if (config["nameservers"].size() > kMaxNameservers) {
    config["nameservers"].invalid(fmt::format("must not have more than {} nameservers", kMaxNameservers));
  }
  for (const auto& server : config["nameservers"].items()) check_address(server);
  if (config["searches"].size() > kMaxSearchPaths) {
    config["searches"].invalid(fmt::format("must not have more than {} search paths", kMaxSearchPaths));
  }
  for (const auto& option : config["options"].items()) {
    if (option["name"].empty()) option.required("must not be empty");
  }
}

void check_pod_security(const Field& spec) {
  auto security = spec["securityContext"];
  for (auto key : {"fsGroup", "runAsUser", "runAsGroup"}) {
    auto id = security[key].integer();
    if (id && (*id < 0 || *id > kHighestInt32)) security[key].invalid(names::range_message(0, kHighestInt32));
  }
  for (const auto& group : security["supplementalGroups"].items()) {
    auto id = group.integer_or(0);
    if (id < 0 || id > kHighestInt32) group.invalid(names::range_message(0, kHighestInt32));
  }
  security["fsGroupChangePolicy"].one_of({"Always", "OnRootMismatch"});
  auto shared = spec["shareProcessNamespace"];
  if (shared.flag() && spec["hostPID"].flag()) {
    security["shareProcessNamespace"].invalid(json::Value(true),
                                              "ShareProcessNamespace and HostPID cannot both be enabled");
  }
}

void check_host_network(const Field& spec, PodSpecOf of) {
  if (!spec["hostNetwork"].flag()) return;
  for (const auto& container : spec["containers"].items()) {
    for (const auto& port : container["ports"].items()) {
      auto host = port["hostPort"].integer_or(0);
      if (host == port["containerPort"].integer_or(0) || (of == PodSpecOf::kTemplate && host == 0)) continue;
      port["hostPort"].invalid(json::Value(host), "must match `containerPort` when `hostNetwork` is true");
    }
  }
}

}  // namespace

void add_pod_spec_defaults(json::Value& spec) {
  if (!spec.is_object()) return;
  for (auto key : {"containers", "initContainers", "ephemeralContainers"}) for_each_item(spec, key, add_pull_policy);
  for_each_item(spec, "volumes", [](json::Object& volume) {
    for (const auto& [key, value] : volume) {
      if (key != "name" && !value.is_null()) return;
    }
    volume["emptyDir"] = json::Object();
  });
  // serviceAccount is the old name of serviceAccountName; both are always shown.
  std::string account(json::string_at(spec, {"serviceAccountName"}));
  if (account.empty()) account = json::string_at(spec, {"serviceAccount"});
  if (!account.empty()) {
    spec.as_object()["serviceAccountName"] = account;
    spec.as_object()["serviceAccount"] = account;
  }
}

void drop_disabled_fields(json::Value& spec) {
  if (spec.is_object()) spec.get_object().erase("resources");  // of the pod as a whole
}

void add_template_defaults(json::Value& workload) {
  if (auto* spec = json::find(workload, {"spec", "template", "spec"})) add_pod_spec_defaults(*spec);
}

void check_pod_spec(const Field& spec, PodSpecOf of) {
  auto volumes = check_volumes(spec["volumes"]);
  check_containers(spec, volumes);
  check_host_network(spec, of);
  check_labels(spec["nodeSelector"]);
  check_pod_security(spec);
  check_affinity(spec["affinity"]);
  check_dns(spec);
  check_gates(spec);
  check_spread(spec["topologySpreadConstraints"]);
  check_identity(spec);
  check_tolerations(spec["tolerations"]);
  for (const auto& alias : spec["hostAliases"].items()) {
    check_address(alias["ip"]);
    for (const auto& host : alias["hostnames"].items()) host.invalid_each(names::check_dns1123_subdomain(host.text()));
  }
}

void check_template_metadata(const Field& pod_template) {
  auto metadata = pod_template["metadata"];
  // The places are the real server's, which leave out "metadata": clients compare them.
  check_labels(Field(metadata["labels"].value(), pod_template["labels"].path(), pod_template.causes()));
  check_annotations(Field(metadata["annotations"].value(), pod_template["annotations"].path(), pod_template.causes()));
}

void check_template(const Field& pod_template) {
  check_template_metadata(pod_template);
  check_pod_spec(pod_template["spec"], PodSpecOf::kTemplate);
  if (!pod_template["spec"]["ephemeralContainers"].empty()) {
    pod_template["spec"]["ephemeralContainers"].forbidden("ephemeral containers not allowed in pod template");
  }
}

}  // namespace gangway::apiserver
