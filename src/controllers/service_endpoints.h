// Which pods are behind a Service, at which addresses and ports, in which state. What Endpoints and EndpointSlices have
// in common. Pure; pods and Services are read once a version.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "api/selector.h"
#include "client/reconciler.h"
#include "json/value.h"

namespace gangway::controllers {

enum class IpFamily : std::uint8_t { kV4, kV6 };
const char* to_string(IpFamily family);

struct ServicePort {
  std::string name;
  std::string protocol;
  std::int64_t port = 0;
  std::string target_name;  // of a port of the pod's containers; empty: the number counts
  std::int64_t target_number = 0;
  std::optional<std::string> app_protocol;
};

struct ServiceFacts {
  bool has_endpoints = false;  // it selects pods, and is not a name for something else
  api::LabelSelector selector = api::LabelSelector::nothing();
  std::vector<ServicePort> ports;
  std::vector<IpFamily> families;
  bool is_headless = false;
  json::Object labels;  // for what is made for it: its own, and whether it is headless
  bool publishes_not_ready = false;
};
ServiceFacts read_service(const api::Version& service);

// What a pod is to the Services that select it.
struct EndpointPod {
  std::vector<std::string> addresses;
  std::string node;
  std::string hostname;
  std::string subdomain;
  bool has_ended = false;
  bool is_ready = false;
  struct Port {
    std::string name;
    std::string protocol;
    std::int64_t number = 0;
    bool operator==(const Port&) const = default;
  };
  std::vector<Port> ports;

  // The first address of the family.
  const std::string* address(IpFamily family) const;
  bool operator==(const EndpointPod&) const = default;
};
EndpointPod read_endpoint_pod(const api::Version& pod);

// A port as endpoints have it.
struct EndpointPort {
  std::string name;
  std::string protocol;
  std::int64_t number = 0;
  std::optional<std::string> app_protocol;

  auto operator<=>(const EndpointPort&) const = default;
};
json::Value to_json(const EndpointPort& port);

// One pod behind a Service.
struct Endpoint {
  api::Version pod;
  std::shared_ptr<const EndpointPod> facts;
  std::vector<EndpointPort> ports;  // those of the Service that it has

  bool is_terminating() const { return pod.header->deleting_since.has_value(); }
};
// Those with an address, in the order of names, terminating ones included. Without ports there are none, but for a
// headless Service that has no ports either.
std::vector<Endpoint> endpoints_of(const client::View& view, const api::Version& service, const ServiceFacts& facts);

// {kind, namespace, name, uid}
json::Value target_reference(const Endpoint& endpoint);
// What a pod's DNS name begins with; none for a pod that does not name this Service as its subdomain.
const std::string* dns_label(const Endpoint& endpoint, const api::Version& service);

// The Services that a change of a pod concerns.
client::KeyMapper services_of_pod();

}  // namespace gangway::controllers
