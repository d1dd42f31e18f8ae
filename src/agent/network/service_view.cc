#include "agent/network/service_view.h"

#include <algorithm>

#include "base/address.h"
#include "base/names.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

constexpr std::string_view kServiceNameLabel = "kubernetes.io/service-name";

std::uint16_t port_at(const json::Value& object, std::string_view key) {
  auto number = json::int_at(object, {key});
  return number > 0 && number <= 65535 ? static_cast<std::uint16_t>(number) : std::uint16_t{0};
}

bool is_label(std::string_view text) {
  return names::check_dns1123_label(text).empty();
}

api::ObjectName name_of(const json::Value& object) {
  return {std::string(json::string_at(object, {"metadata", "namespace"})),
          std::string(json::string_at(object, {"metadata", "name"}))};
}

std::vector<ServicePort> service_ports(const json::Value& object) {
  std::vector<ServicePort> ports;
  for (const auto& item : json::array_at(object, {"spec", "ports"})) {
    auto protocol = parse_protocol(json::string_at(item, {"protocol"}));
    auto number = port_at(item, "port");
    if (!protocol || number == 0) continue;
    ports.push_back({std::string(json::string_at(item, {"name"})), *protocol, number, port_at(item, "nodePort")});
  }
  return ports;
}

std::vector<std::uint32_t> external_ips(const json::Value& object) {
  std::vector<std::uint32_t> addresses;
  auto add = [&](std::string_view text) {
    if (auto address = parse_v4(text)) addresses.push_back(*address);
  };
  for (const auto& item : json::array_at(object, {"spec", "externalIPs"})) {
    if (item.is_string()) add(item.get_string());
  }
  if (json::string_at(object, {"spec", "type"}) == "LoadBalancer") {
    for (const auto& item : json::array_at(object, {"status", "loadBalancer", "ingress"}))
      add(json::string_at(item, {"ip"}));
  }
  return addresses;
}

}  // namespace

std::string_view to_string(Protocol protocol) {
  switch (protocol) {
    case Protocol::kTcp:
      return "tcp";
    case Protocol::kUdp:
      return "udp";
    case Protocol::kSctp:
      return "sctp";
  }
  return "tcp";
}

std::optional<Protocol> parse_protocol(std::string_view text) {
  if (text.empty() || text == "TCP") return Protocol::kTcp;
  if (text == "UDP") return Protocol::kUdp;
  if (text == "SCTP") return Protocol::kSctp;
  return std::nullopt;
}

std::optional<Service> service_view(const json::Value& object) {
  Service service;
  service.name = name_of(object);
  if (!is_label(service.name.ns) || !is_label(service.name.name)) return std::nullopt;
  if (json::string_at(object, {"spec", "type"}) == "ExternalName") return std::nullopt;
  auto address = json::string_at(object, {"spec", "clusterIP"});
  service.headless = address == "None";
  service.cluster_ip = parse_v4(address);
  service.external_ips = external_ips(object);
  service.ports = service_ports(object);
  service.sticky = json::string_at(object, {"spec", "sessionAffinity"}) == "ClientIP";
  return service;
}

std::optional<EndpointSlice> slice_view(const json::Value& object) {
  if (json::string_at(object, {"addressType"}) != "IPv4") return std::nullopt;
  EndpointSlice slice;
  slice.service = {std::string(json::string_at(object, {"metadata", "namespace"})),
                   std::string(json::string_at(object, {"metadata", "labels", kServiceNameLabel}))};
  if (slice.service.name.empty()) return std::nullopt;
  for (const auto& item : json::array_at(object, {"ports"})) {
    auto protocol = parse_protocol(json::string_at(item, {"protocol"}));
    auto number = port_at(item, "port");
    if (protocol && number != 0)
      slice.ports.push_back({std::string(json::string_at(item, {"name"})), *protocol, number});
  }
  for (const auto& item : json::array_at(object, {"endpoints"})) {
    bool ready = json::bool_at(item, {"conditions", "ready"}, true);
    bool draining = json::bool_at(item, {"conditions", "terminating"}, false) &&
                    json::bool_at(item, {"conditions", "serving"}, ready);
    auto hostname = json::string_at(item, {"hostname"});
    if (!is_label(hostname)) hostname = {};
    for (const auto& text : json::array_at(item, {"addresses"})) {
      // All addresses of an endpoint are the same pod's; the first is the one to use.
      if (auto address = text.is_string() ? parse_v4(text.get_string()) : std::nullopt) {
        slice.endpoints.push_back({*address, ready, draining, std::string(hostname)});
        break;
      }
    }
  }
  return slice;
}

SlicesOfService by_service(const Slices& slices) {
  SlicesOfService grouped;
  for (const auto& [name, slice] : slices) grouped[slice.service].push_back(&slice);
  return grouped;
}

std::vector<Backend> backends_of(const ServicePort& port, const std::vector<const EndpointSlice*>& slices) {
  std::vector<Backend> ready;
  std::vector<Backend> draining;
  for (const auto* slice : slices) {
    for (const auto& target : slice->ports) {
      if (target.name != port.name || target.protocol != port.protocol) continue;
      for (const auto& endpoint : slice->endpoints) {
        if (endpoint.ready) ready.push_back({endpoint.address, target.port});
        if (!endpoint.ready && endpoint.draining) draining.push_back({endpoint.address, target.port});
      }
    }
  }
  auto& chosen = ready.empty() ? draining : ready;
  std::sort(chosen.begin(), chosen.end());
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return std::move(chosen);
}

}  // namespace gangway::agent
