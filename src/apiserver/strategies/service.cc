#include <fmt/format.h>

#include <set>

#include "apiserver/strategies/address.h"
#include "apiserver/strategies/labels.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/service_addresses.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::int64_t kAffinitySeconds = 10800;
constexpr std::int64_t kLongestAffinity = 86400;

bool is_external(const json::Value& service) {
  auto type = json::string_at(service, {"spec", "type"});
  if (type == "NodePort" || type == "LoadBalancer") return true;
  const auto* addresses = json::find(service, {"spec", "externalIPs"});
  return type == "ClusterIP" && addresses && addresses->is_array() && !addresses->get_array().empty();
}

void default_ports(json::Object& spec) {
  auto* ports = spec.if_contains("ports");
  if (!ports || !ports->is_array()) return;
  for (auto& port : ports->get_array()) {
    if (!port.is_object()) continue;
    if (json::string_at(port, {"protocol"}).empty()) port.get_object()["protocol"] = "TCP";
    const auto* target = json::find(port, {"targetPort"});
    bool missing = !target || target->is_null() || (target->is_int64() && target->get_int64() == 0) ||
                   (target->is_string() && target->get_string().empty());
    const auto* own = json::find(port, {"port"});
    if (!missing || !own) continue;
    auto number = *own;
    port.get_object()["targetPort"] = std::move(number);
  }
}

void add_defaults(json::Value& service) {
  auto* found = json::find(service, {"spec"});
  if (!found || !found->is_object()) return;
  auto& spec = found->get_object();
  std::string type(json::string_at(service, {"spec", "type"}));
  if (json::string_at(service, {"spec", "sessionAffinity"}) == "ClientIP") {
    if (!json::find(service, {"spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"})) {
      spec["sessionAffinityConfig"] = json::Object{{"clientIP", json::Object{{"timeoutSeconds", kAffinitySeconds}}}};
    }
  } else {
    spec.erase("sessionAffinityConfig");
  }
  default_ports(spec);
  if (is_external(service) && json::string_at(service, {"spec", "externalTrafficPolicy"}).empty()) {
    spec["externalTrafficPolicy"] = "Cluster";
  }
  if (type != "ExternalName" && !spec.contains("internalTrafficPolicy")) spec["internalTrafficPolicy"] = "Cluster";
  if (type == "LoadBalancer" && !spec.contains("allocateLoadBalancerNodePorts")) {
    spec["allocateLoadBalancerNodePorts"] = true;
  }
}

// Clients that do not know the addresses a service has been given leave them out; it keeps them.
void keep_allocated(Review& review) {
  const auto& old = *review.old;
  if (needs_cluster_address(old) && needs_cluster_address(review.object)) {
    for (auto key : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
      if (new_object(review)["spec"][key].empty()) keep_old(review, {"spec", key});
    }
  }
  if (needs_health_check_port(old) && needs_health_check_port(review.object) &&
      new_object(review)["spec"]["healthCheckNodePort"].integer_or(0) == 0) {
    keep_old(review, {"spec", "healthCheckNodePort"});
  }
  if (!needs_node_ports(old) || !needs_node_ports(review.object)) return;
  std::set<std::int64_t> used;
  for (const auto& port : new_object(review)["spec"]["ports"].items()) used.insert(port["nodePort"].integer_or(0));
  auto* ports = json::find(review.object, {"spec", "ports"});
  if (!ports || !ports->is_array()) return;
  for (auto& port : ports->get_array()) {
    if (!port.is_object()) continue;
    const auto* own = json::find(port, {"nodePort"});
    if (own && own->is_int64() && own->get_int64() != 0) continue;
    for (const auto& before : old_object(review)["spec"]["ports"].items()) {
      auto number = before["nodePort"].integer_or(0);
      if (before["name"].text() != json::string_at(port, {"name"}) || number == 0 || used.contains(number)) continue;
      port.get_object()["nodePort"] = number;
      used.insert(number);
      break;
    }
  }
}

// clusterIP is the first of clusterIPs; whoever changes one of the two means both.
void align_addresses(Review& review) {
  auto& fields = json::object_at(review.object, {"spec"});
  auto spec = new_object(review)["spec"];
  std::string single(spec["clusterIP"].text());
  if (!review.old) {
    if (!single.empty() && spec["clusterIPs"].empty()) fields["clusterIPs"] = json::Array{json::Value(single)};
    return;
  }
  auto before = old_object(review)["spec"];
  bool single_changed = single != before["clusterIP"].text();
  bool list_changed = !spec["clusterIPs"].same_as(before["clusterIPs"]);
  if (single_changed && !list_changed) {
    if (single.empty()) {
      fields.erase("clusterIPs");
    } else {
      fields["clusterIPs"] = json::Array{json::Value(single)};
    }
  }
}

// What no longer applies after a change of type goes, unless the client changed it at the same time.
void drop_by_type(Review& review) {
  const auto& old = *review.old;
  auto& fields = json::object_at(review.object, {"spec"});
  auto unchanged = [&](std::string_view key) {
    return new_object(review)["spec"][key].same_as(old_object(review)["spec"][key]);
  };
  auto drop = [&](std::string_view key) {
    if (unchanged(key)) fields.erase(key);
  };
  if (needs_cluster_address(old) && !needs_cluster_address(review.object)) {
    for (auto key : {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}) drop(key);
  }
  if (needs_node_ports(old) && !needs_node_ports(review.object)) {
    if (auto* ports = fields.if_contains("ports"); ports && ports->is_array()) {
      std::set<std::int64_t> before;
      for (const auto& port : old_object(review)["spec"]["ports"].items())
        before.insert(port["nodePort"].integer_or(0));
      for (auto& port : ports->get_array()) {
        const auto* number = json::find(port, {"nodePort"});
        if (number && number->is_int64() && before.contains(number->get_int64())) port.as_object().erase("nodePort");
      }
    }
  }
  if (needs_health_check_port(old) && !needs_health_check_port(review.object)) drop("healthCheckNodePort");
  bool was_balanced = json::string_at(old, {"spec", "type"}) == "LoadBalancer";
  bool is_balanced = json::string_at(review.object, {"spec", "type"}) == "LoadBalancer";
  if (was_balanced && !is_balanced) {
    drop("allocateLoadBalancerNodePorts");
    drop("loadBalancerClass");
  }
  if (is_external(old) && !is_external(review.object)) drop("externalTrafficPolicy");
  if (!is_balanced) json::object_at(review.object, {"status"})["loadBalancer"] = json::Object();
}

void prepare(Review& review) {
  if (review.subresource == "status") return;
  if (review.operation == Operation::kCreate) {
    review.object.as_object()["status"] = json::Object{{"loadBalancer", json::Object()}};
  } else {
    keep_allocated(review);
  }
  align_addresses(review);
  if (review.old) drop_by_type(review);
  allocate_addresses(review);
}

void check_port(const Field& port, bool several, std::set<std::string_view>& names) {
  auto name = port["name"];
  if (several && name.empty()) name.required();
  if (!name.empty()) {
    name.invalid_each(names::check_dns1123_label(name.text()));
    if (!names.insert(name.text()).second) name.duplicate();
  }
  auto number = port["port"].integer_or(0);
  for (const auto& message : names::check_port_number(number)) port["port"].invalid(json::Value(number), message);
  auto target = port["targetPort"];
  if (auto target_number = target.integer()) {
    for (const auto& message : names::check_port_number(*target_number)) target.invalid(message);
  } else {
    target.invalid_each(names::check_port_name(target.text()));
  }
  if (port["appProtocol"]) port["appProtocol"].invalid_each(names::check_qualified_name(port["appProtocol"].text()));
}

void check_ports(const Field& spec) {
  auto ports = spec["ports"].items();
  std::set<std::string_view> names;
  std::set<std::pair<std::string_view, std::int64_t>> numbers;
  std::set<std::pair<std::string_view, std::int64_t>> node_ports;
  for (const auto& port : ports) check_port(port, ports.size() > 1, names);
  for (const auto& port : ports) {
    auto protocol = port["protocol"].text();
    auto node_port = port["nodePort"].integer_or(0);
    if (node_port != 0) {
      if (spec["type"].text() == "ClusterIP") port["nodePort"].forbidden("may not be used when `type` is 'ClusterIP'");
      if (!node_ports.insert({protocol, node_port}).second) port["nodePort"].duplicate();
    }
    auto number = port["port"].integer_or(0);
    if (!numbers.insert({protocol, number}).second) {
      port.duplicate(json::Object{{"protocol", protocol}, {"port", number}});
    }
  }
}

void check_external_name(const Field& spec) {
  for (auto key : {"clusterIPs", "ipFamilies", "ipFamilyPolicy"}) {
    if (!spec[key].empty()) spec[key].forbidden("may not be set for ExternalName services");
  }
  auto name = spec["externalName"];
  auto text = name.text();
  if (text.ends_with('.')) text.remove_suffix(1);
  if (text.empty()) return name.required();
  for (const auto& message : names::check_dns1123_subdomain(text)) name.invalid(json::Value(text), message);
}

void check_cluster_addresses(const Field& spec) {
  auto single = spec["clusterIP"].text();
  auto list = spec["clusterIPs"];
  if (single.empty()) {
    if (!list.empty()) list.invalid("must be empty when `clusterIP` is not specified");
  } else if (list.empty()) {
    list.required();
  } else if (list.at(0).text() != single) {
    list.invalid("first value must match `clusterIP`");
  }
  std::set<std::string_view> families;
  for (const auto& family : spec["ipFamilies"].items()) {
    family.one_of({"IPv4", "IPv6"});
    if (!families.insert(family.text()).second) family.duplicate();
  }
  auto items = list.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == 0 && items[i].text() == "None") {
      if (items.size() > 1) list.invalid("'None' must be the first and only value");
      continue;
    }
    check_address(items[i]);
  }
  if (items.size() > 2) list.invalid("may only hold up to 2 values");
}

void check_affinity_config(const Field& spec) {
  if (spec["sessionAffinity"].text() != "ClientIP") return;
  auto seconds = spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
  auto number = seconds.integer_or(0);
  if (number < 1 || number > kLongestAffinity) {
    seconds.invalid(json::Value(number), fmt::format("must be greater than 0 and less than {}", kLongestAffinity));
  }
}

void check_traffic(const json::Value& service, const Field& spec) {
  auto policy = spec["externalTrafficPolicy"];
  if (!is_external(service)) {
    if (!policy.empty()) policy.invalid("may only be set for externally-accessible services");
  } else {
    policy.one_of({"Cluster", "Local"});
  }
  if (!needs_health_check_port(service) && spec["healthCheckNodePort"].integer_or(0) != 0) {
    spec["healthCheckNodePort"].invalid(
        "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'");
  }
  bool balanced = spec["type"].text() == "LoadBalancer";
  for (auto key : {"allocateLoadBalancerNodePorts", "loadBalancerClass"}) {
    if (spec[key] && !balanced) spec[key].forbidden("may only be used when `type` is 'LoadBalancer'");
  }
}

void check_update(const Field& spec, const Field& before) {
  if (spec["type"].text() == "ExternalName" || before["type"].text() == "ExternalName") return;
  auto now = spec["clusterIPs"];
  auto old = before["clusterIPs"];
  if (now.at(0).text() == "None" && old.at(0).text() == "None") return;
  if (now.empty() && !old.empty()) {
    now.at(0).invalid(json::Value(json::Array()), "primary clusterIP can not be unset");
  } else if (!old.empty() && now.at(0).text() != old.at(0).text()) {
    now.at(0).invalid(*now.value(), "may not change once set");
  }
  auto families = spec["ipFamilies"];
  auto old_families = before["ipFamilies"];
  if (!families.empty() && !old_families.empty() && families.at(0).text() != old_families.at(0).text()) {
    families.at(0).invalid(*families.value(), "may not change once set");
  }
}

void validate(Review& review) {
  if (review.subresource == "status") return;
  auto spec = new_object(review)["spec"];
  if (review.old) check_update(spec, old_object(review)["spec"]);
  auto type = spec["type"].text();
  bool headless = spec["clusterIPs"].at(0).text() == "None";
  if (spec["ports"].empty() && !headless && type != "ExternalName") spec["ports"].required();
  if (headless && (type == "LoadBalancer" || type == "NodePort")) {
    spec["clusterIPs"].at(0).invalid(fmt::format("may not be set to 'None' for {} services", type));
  }
  if (type == "ExternalName") check_external_name(spec);
  check_ports(spec);
  check_labels(spec["selector"]);
  check_affinity_config(spec);
  if (type != "ExternalName") check_cluster_addresses(spec);
  for (const auto& address : spec["externalIPs"].items()) {
    if (check_address(address)) check_reachable(address);
  }
  check_traffic(review.object, spec);
}

}  // namespace

const Strategy& service_strategy() {
  static const Strategy strategy{.add_defaults = add_defaults,
                                 .prepare = prepare,
                                 .validate = validate,
                                 .create_on_update = true,
                                 .returns_deleted = true,
                                 .claims = service_claims,
                                 .check_name = names::check_dns1035_label};
  return strategy;
}

}  // namespace gangway::apiserver
