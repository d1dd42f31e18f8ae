#include "controllers/service_endpoints.h"

#include <algorithm>
#include <utility>

#include "api/conditions.h"
#include "api/pod_requests.h"
#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::View;
using client::WorkQueue;
using client::resources::kPods;
using client::resources::kServices;

constexpr const char* kHeadless = "service.kubernetes.io/headless";

IpFamily family_of(std::string_view address) {
  return address.find(':') == std::string_view::npos ? IpFamily::kV4 : IpFamily::kV6;
}

std::string text_or(const json::Value& value, std::string_view key, std::string_view otherwise) {
  const std::string_view text = json::string_at(value, {key});
  return std::string(text.empty() ? otherwise : text);
}

ServicePort read_port(const json::Value& item) {
  ServicePort port;
  port.name = json::string_at(item, {"name"});
  port.protocol = text_or(item, "protocol", "TCP");
  port.port = json::integer_at(item, {"port"});
  const json::Value* target = json::find(item, {"targetPort"});
  if (target != nullptr && target->is_string()) {
    port.target_name = json::string_at(*target, {});
  } else {
    const std::int64_t number = target == nullptr ? 0 : json::integer_at(*target, {});
    port.target_number = number == 0 ? port.port : number;
  }
  if (const json::Value* app = json::find(item, {"appProtocol"}); app != nullptr && app->is_string())
    port.app_protocol = std::string(json::string_at(*app, {}));
  return port;
}

std::vector<IpFamily> read_families(const json::Value& service) {
  std::vector<IpFamily> families;
  for (const json::Value& family : json::array_at(service, {"spec", "ipFamilies"}))
    families.push_back(json::string_at(family, {}) == "IPv6" ? IpFamily::kV6 : IpFamily::kV4);
  if (families.empty()) families.push_back(family_of(json::string_at(service, {"spec", "clusterIP"})));
  return families;
}

void read_container_ports(const json::Value& container, std::vector<EndpointPod::Port>& ports) {
  for (const json::Value& port : json::array_at(container, {"ports"}))
    ports.push_back(
        {text_or(port, "name", ""), text_or(port, "protocol", "TCP"), json::integer_at(port, {"containerPort"})});
}

// The number behind a port of the Service; none for a pod that has no port of that name.
std::optional<std::int64_t> number_of(const ServicePort& port, const EndpointPod& pod) {
  if (port.target_name.empty()) return port.target_number;
  for (const EndpointPod::Port& each : pod.ports)
    if (each.name == port.target_name && each.protocol == port.protocol) return each.number;
  return std::nullopt;
}

std::vector<EndpointPort> ports_of(const ServiceFacts& service, const EndpointPod& pod) {
  std::vector<EndpointPort> ports;
  for (const ServicePort& port : service.ports)
    if (const auto number = number_of(port, pod))
      ports.push_back({port.name, port.protocol, *number, port.app_protocol});
  return ports;
}

bool selects(const View& view, const api::Version& service, const api::Header& pod) {
  return view.objects(kServices).facts(service, read_service)->selector.matches(pod);
}

}  // namespace

const char* to_string(IpFamily family) {
  return family == IpFamily::kV4 ? "IPv4" : "IPv6";
}

ServiceFacts read_service(const api::Version& version) {
  ServiceFacts facts;
  const auto tree = json::parse(*version.json);
  if (!tree) return facts;
  const json::Value& service = *tree;
  const json::Value* selector = json::find(service, {"spec", "selector"});
  facts.has_endpoints = selector != nullptr && selector->is_object() && !selector->as_object().empty() &&
                        json::string_at(service, {"spec", "type"}) != "ExternalName";
  if (!facts.has_endpoints) return facts;
  facts.selector = api::read_label_map(*selector);
  for (const json::Value& port : json::array_at(service, {"spec", "ports"})) facts.ports.push_back(read_port(port));
  facts.families = read_families(service);
  facts.is_headless = json::string_at(service, {"spec", "clusterIP"}) == "None";
  facts.labels = json::map_at(service, {"metadata", "labels"});
  facts.labels.erase(kHeadless);
  if (facts.is_headless) facts.labels[kHeadless] = "";
  facts.publishes_not_ready = json::flag_at(service, {"spec", "publishNotReadyAddresses"});
  return facts;
}

EndpointPod read_endpoint_pod(const api::Version& version) {
  EndpointPod facts;
  const auto tree = json::parse(*version.json);
  if (!tree) return facts;
  const json::Value& pod = *tree;
  for (const json::Value& item : json::array_at(pod, {"status", "podIPs"}))
    if (const auto ip = json::string_at(item, {"ip"}); !ip.empty()) facts.addresses.emplace_back(ip);
  if (const auto ip = json::string_at(pod, {"status", "podIP"}); facts.addresses.empty() && !ip.empty())
    facts.addresses.emplace_back(ip);
  facts.node = json::string_at(pod, {"spec", "nodeName"});
  facts.hostname = json::string_at(pod, {"spec", "hostname"});
  facts.subdomain = json::string_at(pod, {"spec", "subdomain"});
  const std::string_view phase = json::string_at(pod, {"status", "phase"});
  facts.has_ended = phase == "Succeeded" || phase == "Failed";
  facts.is_ready = api::condition_is_true(pod, "Ready");
  for (const json::Value& container : json::array_at(pod, {"spec", "containers"}))
    read_container_ports(container, facts.ports);
  for (const json::Value& container : json::array_at(pod, {"spec", "initContainers"}))
    if (api::is_sidecar(container)) read_container_ports(container, facts.ports);
  return facts;
}

const std::string* EndpointPod::address(IpFamily family) const {
  const auto at = std::find_if(addresses.begin(), addresses.end(),
                               [&](const std::string& address) { return family_of(address) == family; });
  return at == addresses.end() ? nullptr : &*at;
}

json::Value to_json(const EndpointPort& port) {
  json::Object object{{"port", port.number}, {"protocol", port.protocol}};
  if (port.app_protocol) object["appProtocol"] = *port.app_protocol;
  return object;
}

std::vector<Endpoint> endpoints_of(const View& view, const api::Version& service, const ServiceFacts& facts) {
  std::vector<Endpoint> endpoints;
  const auto& pods = view.objects(kPods);
  const std::string& ns = service.header->name.ns;
  for (auto at = pods.all().lower_bound({ns, ""}); at != pods.all().end() && at->first.ns == ns; ++at) {
    const api::Version& pod = at->second;
    if (!facts.selector.matches(*pod.header)) continue;
    auto pod_facts = pods.facts(pod, read_endpoint_pod);
    if (pod_facts->addresses.empty() || pod_facts->has_ended) continue;
    auto ports = ports_of(facts, *pod_facts);
    const bool needs_none = facts.is_headless && facts.ports.empty();
    if (ports.empty() && !needs_none) continue;
    endpoints.push_back({pod, std::move(pod_facts), std::move(ports)});
  }
  return endpoints;
}

json::Value target_reference(const Endpoint& endpoint) {
  const api::Header& pod = *endpoint.pod.header;
  return json::Object{{"kind", "Pod"}, {"namespace", pod.name.ns}, {"name", pod.name.name}, {"uid", pod.uid}};
}

const std::string* dns_label(const Endpoint& endpoint, const api::Version& service) {
  const EndpointPod& pod = *endpoint.facts;
  return !pod.hostname.empty() && pod.subdomain == service.header->name.name ? &pod.hostname : nullptr;
}

client::KeyMapper services_of_pod() {
  return [](const client::ObjectChange& change, const View& view, const client::KeySink& sink) {
    const auto& pods = view.objects(kPods);
    if (change.type == client::ObjectChange::Type::kModified &&
        change.before.header->labels == change.now.header->labels &&
        change.before.header->deleting_since == change.now.header->deleting_since &&
        read_endpoint_pod(change.before) == *pods.facts(change.now, read_endpoint_pod))
      return;
    for (const api::Version& service : view.objects(kServices).in_namespace(change.now.header->name.ns)) {
      if (selects(view, service, *change.now.header) ||
          (change.before && selects(view, service, *change.before.header)))
        sink(client::key_of(kServices, service.header->name), WorkQueue::Priority::kNormal);
    }
  };
}

}  // namespace gangway::controllers
