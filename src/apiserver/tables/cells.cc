#include "apiserver/tables/cells.h"

#include <algorithm>
#include <map>

#include "apiserver/tables/cells_shared.h"
#include "apiserver/tables/pod_cells.h"

namespace gangway::apiserver {
namespace cells {

std::string selector_text(const json::Value* selector) {
  if (!selector || !selector->is_object()) return std::string(kNone);
  std::vector<std::string> terms;
  for (const auto& [key, value] : members_at(*selector, {"matchLabels"})) {
    terms.push_back(
        fmt::format("{}={}", std::string_view(key), value.is_string() ? std::string_view(value.get_string()) : ""));
  }
  for (const auto& expression : array_at(*selector, {"matchExpressions"})) {
    auto key = json::string_at(expression, {"key"});
    auto op = json::string_at(expression, {"operator"});
    auto values = joined(array_at(expression, {"values"}), [](const auto& v) { return std::string(v.as_string()); });
    if (op == "In") terms.push_back(fmt::format("{} in ({})", key, values));
    if (op == "NotIn") terms.push_back(fmt::format("{} notin ({})", key, values));
    if (op == "Exists") terms.emplace_back(key);
    if (op == "DoesNotExist") terms.push_back(fmt::format("!{}", key));
  }
  std::sort(terms.begin(), terms.end());
  return or_none(joined(terms, [](const auto& term) { return term; }));
}

namespace {

using json::Value;

Value age(const Value& object, WallTime now) {
  return Value(age_of(json::string_at(object, {"metadata", "creationTimestamp"}), now));
}

// "a=b,c=d" of a plain map of labels.
std::string labels_text(const json::Object& labels) {
  std::vector<std::string> terms;
  for (const auto& [key, value] : labels)
    terms.push_back(fmt::format("{}={}", std::string_view(key), std::string_view(value.as_string())));
  std::sort(terms.begin(), terms.end());
  return or_none(joined(terms, [](const auto& term) { return term; }));
}

// Workloads ---------------------------------------------------------------------------------------------------------

Value ready_of_wanted(const Value& object, WallTime) {
  return Value(fmt::format("{}/{}", int_at(object, {"status", "readyReplicas"}), int_at(object, {"spec", "replicas"})));
}

Value managing_owner(const Value& object, WallTime) {
  for (const auto& owner : array_at(object, {"metadata", "ownerReferences"})) {
    const auto* controls = json::find(owner, {"controller"});
    if (!controls || !controls->is_bool() || !controls->get_bool()) continue;
    auto kind = text_at(owner, {"kind"});
    std::transform(kind.begin(), kind.end(), kind.begin(), [](unsigned char c) { return std::tolower(c); });
    auto version = json::string_at(owner, {"apiVersion"});
    auto slash = version.find('/');
    if (slash != std::string_view::npos) kind += fmt::format(".{}", version.substr(0, slash));
    return Value(kind + "/" + text_at(owner, {"name"}));
  }
  return Value(kNone);
}

Value revision_number(const Value& object, WallTime) {
  return Value(int_at(object, {"revision"}));
}

Value template_containers(const Value& object, WallTime) {
  return Value(joined(array_at(object, {"spec", "template", "spec", "containers"}),
                      [](const auto& c) { return text_at(c, {"name"}); }));
}

Value template_images(const Value& object, WallTime) {
  return Value(joined(array_at(object, {"spec", "template", "spec", "containers"}),
                      [](const auto& c) { return text_at(c, {"image"}); }));
}

Value label_selector(const Value& object, WallTime) {
  return Value(selector_text(json::find(object, {"spec", "selector"})));
}

Value job_completions(const Value& job, WallTime) {
  auto succeeded = int_at(job, {"status", "succeeded"});
  if (json::find(job, {"spec", "completions"}))
    return Value(fmt::format("{}/{}", succeeded, int_at(job, {"spec", "completions"})));
  auto parallelism = int_at(job, {"spec", "parallelism"});
  return Value(parallelism > 1 ? fmt::format("{}/1 of {}", succeeded, parallelism) : fmt::format("{}/1", succeeded));
}

Value job_duration(const Value& job, WallTime now) {
  auto start = parse_rfc3339(json::string_at(job, {"status", "startTime"}));
  if (!start) return Value("");
  auto end = parse_rfc3339(json::string_at(job, {"status", "completionTime"}));
  return Value(human_duration((end ? *end : now) - *start));
}

Value job_status(const Value& job, WallTime) {
  auto has = [&](std::string_view type) {
    for (const auto& condition : array_at(job, {"status", "conditions"})) {
      if (json::string_at(condition, {"type"}) == type && json::string_at(condition, {"status"}) == "True") return true;
    }
    return false;
  };
  if (has("Complete")) return Value("Complete");
  if (has("Failed")) return Value("Failed");
  if (json::find(job, {"metadata", "deletionTimestamp"})) return Value("Terminating");
  if (has("Suspended")) return Value("Suspended");
  if (has("FailureTarget")) return Value("FailureTarget");
  if (has("SuccessCriteriaMet")) return Value("SuccessCriteriaMet");
  return Value("Running");
}

// Nodes ---------------------------------------------------------------------------------------------------------------

Value node_status(const Value& node, WallTime) {
  std::string status = "Unknown";
  for (const auto& condition : array_at(node, {"status", "conditions"})) {
    if (json::string_at(condition, {"type"}) != "Ready") continue;
    status = json::string_at(condition, {"status"}) == "True" ? "Ready" : "NotReady";
  }
  if (bool_at(node, {"spec", "unschedulable"})) status += ",SchedulingDisabled";
  return Value(status);
}

Value node_roles(const Value& node, WallTime) {
  constexpr std::string_view kPrefix = "node-role.kubernetes.io/";
  std::vector<std::string> roles;
  for (const auto& [key, value] : members_at(node, {"metadata", "labels"})) {
    std::string_view label = key;
    if (label.starts_with(kPrefix) && label.size() > kPrefix.size()) roles.emplace_back(label.substr(kPrefix.size()));
    if (label == "kubernetes.io/role" && value.is_string() && !value.get_string().empty())
      roles.emplace_back(value.get_string());
  }
  std::sort(roles.begin(), roles.end());
  return Value(or_none(joined(roles, [](const auto& role) { return role; })));
}

Value node_address(const Value& node, std::string_view type) {
  for (const auto& address : array_at(node, {"status", "addresses"})) {
    if (json::string_at(address, {"type"}) == type) return Value(text_at(address, {"address"}));
  }
  return Value(kNone);
}
Value node_internal_ip(const Value& node, WallTime) {
  return node_address(node, "InternalIP");
}
Value node_external_ip(const Value& node, WallTime) {
  return node_address(node, "ExternalIP");
}

// Services and their endpoints
// ------------------------------------------------------------------------------------------

Value service_external_ip(const Value& service, WallTime) {
  auto type = json::string_at(service, {"spec", "type"});
  auto external =
      joined(array_at(service, {"spec", "externalIPs"}), [](const auto& ip) { return std::string(ip.as_string()); });
  if (type == "ExternalName") return Value(text_at(service, {"spec", "externalName"}));
  if (type != "LoadBalancer") return Value(or_none(external));
  auto balanced = joined(array_at(service, {"status", "loadBalancer", "ingress"}), [](const auto& ingress) {
    return text_at(ingress, {"ip"}, json::string_at(ingress, {"hostname"}));
  });
  if (balanced.empty() && external.empty()) return Value("<pending>");
  return Value(balanced.empty() || external.empty() ? balanced + external : balanced + "," + external);
}

Value service_ports(const Value& service, WallTime) {
  return Value(or_none(joined(array_at(service, {"spec", "ports"}), [](const auto& port) {
    auto node_port = int_at(port, {"nodePort"});
    auto number = int_at(port, {"port"});
    auto protocol = text_at(port, {"protocol"}, "TCP");
    return node_port > 0 ? fmt::format("{}:{}/{}", number, node_port, protocol)
                         : fmt::format("{}/{}", number, protocol);
  })));
}

Value service_selector(const Value& service, WallTime) {
  return Value(labels_text(members_at(service, {"spec", "selector"})));
}

// The first three addresses and how many more there are.
std::string shortened(const std::vector<std::string>& addresses) {
  constexpr std::size_t kShown = 3;
  if (addresses.empty()) return std::string(kNone);
  std::vector<std::string> shown(addresses.begin(),
                                 addresses.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, addresses.size())));
  auto text = joined(shown, [](const auto& address) { return address; });
  return addresses.size() > kShown ? fmt::format("{} + {} more...", text, addresses.size() - kShown) : text;
}

Value endpoints_addresses(const Value& endpoints, WallTime) {
  std::vector<std::string> addresses;
  for (const auto& subset : array_at(endpoints, {"subsets"})) {
    const auto& ports = array_at(subset, {"ports"});
    for (const auto& address : array_at(subset, {"addresses"})) {
      auto ip = text_at(address, {"ip"});
      if (ports.empty()) addresses.push_back(ip);
      for (const auto& port : ports) addresses.push_back(fmt::format("{}:{}", ip, int_at(port, {"port"})));
    }
  }
  return Value(shortened(addresses));
}

Value slice_ports(const Value& slice, WallTime) {
  const auto& ports = array_at(slice, {"ports"});
  if (ports.empty()) return Value(kUnset);
  std::vector<std::string> texts;
  for (const auto& port : ports)
    texts.push_back(json::find(port, {"port"}) ? std::to_string(int_at(port, {"port"})) : "*");
  return Value(shortened(texts));
}

Value slice_addresses(const Value& slice, WallTime) {
  const auto& endpoints = array_at(slice, {"endpoints"});
  if (endpoints.empty()) return Value(kUnset);
  std::vector<std::string> addresses;
  for (const auto& endpoint : endpoints) {
    for (const auto& address : array_at(endpoint, {"addresses"})) addresses.emplace_back(address.as_string());
  }
  return Value(shortened(addresses));
}

// Configuration -------------------------------------------------------------------------------------------------------

Value config_map_keys(const Value& map, WallTime) {
  return Value(members_at(map, {"data"}).size() + members_at(map, {"binaryData"}).size());
}
Value secret_keys(const Value& secret, WallTime) {
  return Value(members_at(secret, {"data"}).size());
}
Value service_account_secrets(const Value& account, WallTime) {
  return Value(array_at(account, {"secrets"}).size());
}

// Events --------------------------------------------------------------------------------------------------------------

// When it happened last: a series knows best, then the last of its repeats, then the moment it was made.
std::string_view last_time_of(const Value& event) {
  for (auto time : {json::string_at(event, {"series", "lastObservedTime"}), json::string_at(event, {"lastTimestamp"}),
                    json::string_at(event, {"eventTime"}), json::string_at(event, {"metadata", "creationTimestamp"})}) {
    if (!time.empty()) return time;
  }
  return {};
}

std::string_view first_time_of(const Value& event) {
  for (auto time : {json::string_at(event, {"firstTimestamp"}), json::string_at(event, {"eventTime"}),
                    json::string_at(event, {"metadata", "creationTimestamp"})}) {
    if (!time.empty()) return time;
  }
  return {};
}

Value event_last_seen(const Value& event, WallTime now) {
  return Value(age_of(last_time_of(event), now));
}
Value event_first_seen(const Value& event, WallTime now) {
  return Value(age_of(first_time_of(event), now));
}

Value event_object(const Value& event, WallTime) {
  auto kind = text_at(event, {"involvedObject", "kind"});
  std::transform(kind.begin(), kind.end(), kind.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  auto name = text_at(event, {"involvedObject", "name"});
  return Value(name.empty() ? kind : fmt::format("{}/{}", kind, name));
}

Value event_subobject(const Value& event, WallTime) {
  return Value(text_at(event, {"involvedObject", "fieldPath"}));
}

Value event_source(const Value& event, WallTime) {
  auto component = text_at(event, {"source", "component"}, json::string_at(event, {"reportingComponent"}));
  auto host = text_at(event, {"source", "host"}, json::string_at(event, {"reportingInstance"}));
  return Value(host.empty() ? component : fmt::format("{}, {}", component, host));
}

Value event_message(const Value& event, WallTime) {
  auto message = text_at(event, {"message"});
  auto last = message.find_last_not_of(" \t\r\n");
  return Value(last == std::string::npos ? "" : message.substr(0, last + 1));
}

Value event_count(const Value& event, WallTime) {
  auto count = int_at(event, {"series", "count"}, int_at(event, {"count"}));
  return Value(count == 0 ? 1 : count);
}

// Storage -------------------------------------------------------------------------------------------------------------

std::string access_modes(const json::Array& modes) {
  // Each mode is shown once, in the order of how much it allows.
  static constexpr std::pair<std::string_view, std::string_view> kShort[] = {
      {"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}};
  std::string text;
  for (const auto& [mode, letters] : kShort) {
    if (std::none_of(modes.begin(), modes.end(),
                     [m = mode](const Value& v) { return v.is_string() && v.get_string() == m; }))
      continue;
    text += (text.empty() ? "" : ",") + std::string(letters);
  }
  return text;
}

Value volume_access_modes(const Value& volume, WallTime) {
  return Value(access_modes(array_at(volume, {"spec", "accessModes"})));
}

Value volume_status(const Value& object, WallTime) {
  if (json::find(object, {"metadata", "deletionTimestamp"})) return Value("Terminating");
  return Value(text_at(object, {"status", "phase"}));
}

Value volume_claim(const Value& volume, WallTime) {
  if (!json::find(volume, {"spec", "claimRef"})) return Value("");
  return Value(text_at(volume, {"spec", "claimRef", "namespace"}) + "/" +
               text_at(volume, {"spec", "claimRef", "name"}));
}

Value volume_class(const Value& object, WallTime) {
  auto annotated = json::find(object, {"metadata", "annotations", "volume.beta.kubernetes.io/storage-class"});
  if (annotated && annotated->is_string()) return *annotated;
  return Value(text_at(object, {"spec", "storageClassName"}));
}

// A claim has a capacity and modes only once it is bound to a volume.
bool is_bound(const Value& claim) {
  return !json::string_at(claim, {"spec", "volumeName"}).empty();
}
Value claim_capacity(const Value& claim, WallTime) {
  return Value(is_bound(claim) ? text_at(claim, {"status", "capacity", "storage"}, "0") : "");
}
Value claim_access_modes(const Value& claim, WallTime) {
  return Value(is_bound(claim) ? access_modes(array_at(claim, {"status", "accessModes"})) : "");
}

Value storage_class_name(const Value& storage_class, WallTime) {
  auto name = text_at(storage_class, {"metadata", "name"});
  for (auto key : {"storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"}) {
    if (json::string_at(storage_class, {"metadata", "annotations", key}) == "true") return Value(name + " (default)");
  }
  return Value(name);
}

// Allotments ----------------------------------------------------------------------------------------------------------

Value allotment_places(const Value& allotment, WallTime) {
  return Value(array_at(allotment, {"spec", "places"}).size() + array_at(allotment, {"spec", "holds"}).size());
}
Value allotment_victims(const Value& allotment, WallTime) {
  return Value(array_at(allotment, {"spec", "victims"}).size());
}

// Role bindings -------------------------------------------------------------------------------------------------------

Value binding_role(const Value& binding, WallTime) {
  return Value(text_at(binding, {"roleRef", "kind"}) + "/" + text_at(binding, {"roleRef", "name"}));
}

Value binding_subjects(const Value& binding, std::string_view kind) {
  std::vector<std::string> names;
  for (const auto& subject : array_at(binding, {"subjects"})) {
    if (json::string_at(subject, {"kind"}) != kind) continue;
    auto name = text_at(subject, {"name"});
    names.push_back(kind == "ServiceAccount" ? text_at(subject, {"namespace"}) + "/" + name : name);
  }
  return Value(joined(names, [](const auto& name) { return name; }, ", "));
}
Value binding_users(const Value& binding, WallTime) {
  return binding_subjects(binding, "User");
}
Value binding_groups(const Value& binding, WallTime) {
  return binding_subjects(binding, "Group");
}
Value binding_service_accounts(const Value& binding, WallTime) {
  return binding_subjects(binding, "ServiceAccount");
}

}  // namespace
}  // namespace cells

CellFunction cell_function(std::string_view name) {
#define GW_CELL(function) {#function, &cells::function}
  static const std::map<std::string_view, CellFunction> functions{GW_CELL(age),
                                                                  GW_CELL(pod_ready),
                                                                  GW_CELL(pod_status),
                                                                  GW_CELL(pod_restarts),
                                                                  GW_CELL(pod_ip),
                                                                  GW_CELL(pod_readiness_gates),
                                                                  GW_CELL(ready_of_wanted),
                                                                  GW_CELL(managing_owner),
                                                                  GW_CELL(revision_number),
                                                                  GW_CELL(template_containers),
                                                                  GW_CELL(template_images),
                                                                  GW_CELL(label_selector),
                                                                  GW_CELL(job_completions),
                                                                  GW_CELL(job_duration),
                                                                  GW_CELL(job_status),
                                                                  GW_CELL(node_status),
                                                                  GW_CELL(node_roles),
                                                                  GW_CELL(node_internal_ip),
                                                                  GW_CELL(node_external_ip),
                                                                  GW_CELL(service_external_ip),
                                                                  GW_CELL(service_ports),
                                                                  GW_CELL(service_selector),
                                                                  GW_CELL(endpoints_addresses),
                                                                  GW_CELL(slice_ports),
                                                                  GW_CELL(slice_addresses),
                                                                  GW_CELL(config_map_keys),
                                                                  GW_CELL(secret_keys),
                                                                  GW_CELL(service_account_secrets),
                                                                  GW_CELL(event_last_seen),
                                                                  GW_CELL(event_first_seen),
                                                                  GW_CELL(event_object),
                                                                  GW_CELL(event_subobject),
                                                                  GW_CELL(event_source),
                                                                  GW_CELL(event_message),
                                                                  GW_CELL(event_count),
                                                                  GW_CELL(volume_access_modes),
                                                                  GW_CELL(volume_status),
                                                                  GW_CELL(volume_claim),
                                                                  GW_CELL(volume_class),
                                                                  GW_CELL(claim_capacity),
                                                                  GW_CELL(claim_access_modes),
                                                                  GW_CELL(storage_class_name),
                                                                  GW_CELL(binding_role),
                                                                  GW_CELL(binding_users),
                                                                  GW_CELL(binding_groups),
                                                                  GW_CELL(binding_service_accounts),
                                                                  GW_CELL(allotment_places),
                                                                  GW_CELL(allotment_victims)};
#undef GW_CELL
  auto at = functions.find(name);
  return at == functions.end() ? nullptr : at->second;
}

std::string age_of(std::string_view rfc3339, WallTime now) {
  auto time = parse_rfc3339(rfc3339);
  return time ? human_duration(now - *time) : "<unknown>";
}

}  // namespace gangway::apiserver
