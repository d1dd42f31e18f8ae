// Endpoints and EndpointSlice: where a service's traffic goes.
#include <set>

#include "apiserver/strategies/address.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"

namespace gangway::apiserver {
namespace {

constexpr std::size_t kMaxAddresses = 100;
constexpr std::size_t kMaxEndpoints = 1000;
constexpr std::size_t kMaxPorts = 20000;

void check_node_name(const Field& name) {
  if (name) name.invalid_each(names::check_dns1123_subdomain(name.text()));
}

void add_endpoints_defaults(json::Value& object) {
  auto* subsets = json::find(object, {"subsets"});
  if (!subsets || !subsets->is_array()) return;
  for (auto& subset : subsets->get_array()) {
    auto* ports = json::find(subset, {"ports"});
    if (!ports || !ports->is_array()) continue;
    for (auto& port : ports->get_array()) {
      if (json::string_at(port, {"protocol"}).empty()) port.as_object()["protocol"] = "TCP";
    }
  }
}

void check_endpoint_address(const Field& address) {
  check_address(address["ip"]);
  if (!address["hostname"].empty()) {
    address["hostname"].invalid_each(names::check_dns1123_label(address["hostname"].text()));
  }
  check_node_name(address["nodeName"]);
  check_reachable(address["ip"]);
}

void check_subset(const Field& subset) {
  if (subset["addresses"].empty() && subset["notReadyAddresses"].empty()) {
    subset.required("must specify `addresses` or `notReadyAddresses`");
  }
  for (auto key : {"addresses", "notReadyAddresses"}) {
    for (const auto& address : subset[key].items()) check_endpoint_address(address);
  }
  bool several = subset["ports"].size() > 1;
  for (const auto& port : subset["ports"].items()) {
    auto name = port["name"];
    if (several && name.empty()) name.required();
    if (!name.empty()) name.invalid_each(names::check_dns1123_label(name.text()));
    auto number = port["port"].integer_or(0);
    for (const auto& message : names::check_port_number(number)) port["port"].invalid(json::Value(number), message);
    port["protocol"].one_of({"SCTP", "TCP", "UDP"});
    if (port["appProtocol"]) port["appProtocol"].invalid_each(names::check_qualified_name(port["appProtocol"].text()));
  }
}

void validate_endpoints(Review& review) {
  auto object = new_object(review);
  if (review.old && object["subsets"].same_as(old_object(review)["subsets"])) return;
  for (const auto& subset : object["subsets"].items()) check_subset(subset);
}

void check_slice_address(const Field& addresses, const Field& address, std::string_view type) {
  if (type == "FQDN") return address.invalid_each(names::check_dns1123_subdomain(address.text()));
  if (type != "IPv4" && type != "IPv6") return;
  if (!check_address(address)) return;
  bool is_v4 = parse_address(address.text())->is_v4;
  if (is_v4 != (type == "IPv4")) {
    addresses.invalid(*address.value(), type == "IPv4" ? "must be an IPv4 address" : "must be an IPv6 address");
  }
  check_reachable(address);
}

void check_endpoint(const Field& endpoint, std::string_view type) {
  auto addresses = endpoint["addresses"];
  if (addresses.empty()) addresses.required("must contain at least 1 address");
  if (addresses.size() > kMaxAddresses) addresses.too_many(kMaxAddresses);
  for (const auto& address : addresses.items()) check_slice_address(addresses, address, type);
  check_node_name(endpoint["nodeName"]);
  if (endpoint["hostname"]) endpoint["hostname"].invalid_each(names::check_dns1123_label(endpoint["hostname"].text()));
}

void check_slice_ports(const Field& ports) {
  if (ports.size() > kMaxPorts) return ports.too_many(kMaxPorts);
  std::set<std::string_view> seen;
  for (const auto& port : ports.items()) {
    auto name = port["name"];
    if (!name.empty()) name.invalid_each(names::check_dns1123_label(name.text()));
    if (!seen.insert(name.text()).second) name.duplicate();
    port["protocol"].one_of({"SCTP", "TCP", "UDP"});
    if (port["appProtocol"]) port["appProtocol"].invalid_each(names::check_qualified_name(port["appProtocol"].text()));
  }
}

void validate_slice(Review& review) {
  auto object = new_object(review);
  auto before = old_object(review);
  auto type = object["addressType"];
  if (type.empty()) {
    type.required();
  } else {
    type.one_of({"FQDN", "IPv4", "IPv6"});
  }
  check_slice_ports(object["ports"]);
  auto endpoints = object["endpoints"];
  if (endpoints.size() > kMaxEndpoints) {
    endpoints.too_many(kMaxEndpoints);
  } else if (!review.old || !endpoints.same_as(before["endpoints"])) {
    for (const auto& endpoint : endpoints.items()) check_endpoint(endpoint, type.text());
  }
  if (review.old) type.immutable(before["addressType"]);
}

}  // namespace

const Strategy& endpoints_strategy() {
  static const Strategy strategy{
      .add_defaults = add_endpoints_defaults, .validate = validate_endpoints, .create_on_update = true};
  return strategy;
}

const Strategy& endpoint_slice_strategy() {
  static const Strategy strategy{.validate = validate_slice, .generation = GenerationRule::kContentOrLabels};
  return strategy;
}

}  // namespace gangway::apiserver
