// Services and their endpoints as the network sees them: what has an address, and who answers there.
//
// Values read from the API's objects; everything that will stand in a rule or a host file is checked here, so that no
// object can write syntax into them. Pure; usable from any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "json/value.h"

namespace gangway::agent {

enum class Protocol : std::uint8_t { kTcp, kUdp, kSctp };
// "tcp", as nftables says it.
std::string_view to_string(Protocol protocol);
std::optional<Protocol> parse_protocol(std::string_view text);  // "TCP"; empty is TCP

struct ServicePort {
  std::string name;
  Protocol protocol = Protocol::kTcp;
  std::uint16_t port = 0;
  std::uint16_t node_port = 0;  // 0: none
};

struct Service {
  api::ObjectName name;
  bool headless = false;
  std::optional<std::uint32_t> cluster_ip;  // IPv4; none for headless ones and other names
  std::vector<std::uint32_t> external_ips;  // and those of load balancers
  std::vector<ServicePort> ports;
  bool sticky = false;  // a client keeps its endpoint
};

struct EndpointPort {
  std::string name;
  Protocol protocol = Protocol::kTcp;
  std::uint16_t port = 0;
};

struct Endpoint {
  std::uint32_t address = 0;
  bool ready = true;
  bool draining = false;  // terminating, but it still answers
  std::string hostname;
};

struct EndpointSlice {
  api::ObjectName service;  // whose it is
  std::vector<EndpointPort> ports;
  std::vector<Endpoint> endpoints;
};

// None for what has no place in the network: other names for outside hosts, slices of IPv6, slices of no service.
std::optional<Service> service_view(const json::Value& object);
std::optional<EndpointSlice> slice_view(const json::Value& object);

// All objects by their names. Slices are named apart from the services that they are of.
using Services = std::map<api::ObjectName, Service>;
using Slices = std::map<api::ObjectName, EndpointSlice>;

struct Backend {
  std::uint32_t address = 0;
  std::uint16_t port = 0;
  auto operator<=>(const Backend&) const = default;
};

// The slices of each service.
using SlicesOfService = std::map<api::ObjectName, std::vector<const EndpointSlice*>>;
SlicesOfService by_service(const Slices& slices);

// Who answers at the port: those that are ready, or else those that still answer while they end. Sorted, each once.
std::vector<Backend> backends_of(const ServicePort& port, const std::vector<const EndpointSlice*>& slices);

}  // namespace gangway::agent
