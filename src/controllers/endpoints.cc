#include "controllers/endpoints.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "client/resource.h"
#include "controllers/service_endpoints.h"

namespace gangway::controllers {
namespace {

using client::Create;
using client::Delete;
using client::ObjectChange;
using client::Outcome;
using client::Update;
using client::View;
using client::WorkQueue;
using client::resources::kEndpoints;
using client::resources::kPods;
using client::resources::kServices;

constexpr const char* kManagedBy = "endpoints.kubernetes.io/managed-by";
constexpr const char* kManager = "endpoint-controller";
constexpr const char* kOverCapacity = "endpoints.kubernetes.io/over-capacity";

struct Address {
  std::string ip;
  std::string uid;
  bool is_ready = false;
  json::Value value;
};

std::vector<Address> addresses_of(const api::Version& service, const ServiceFacts& facts,
                                  const std::vector<const Endpoint*>& endpoints) {
  std::vector<Address> addresses;
  for (const Endpoint* endpoint : endpoints) {
    const std::string* ip = endpoint->facts->address(facts.families.front());
    if (ip == nullptr) continue;
    json::Object value{{"ip", *ip}, {"targetRef", target_reference(*endpoint)}};
    if (!endpoint->facts->node.empty()) value["nodeName"] = endpoint->facts->node;
    if (const std::string* label = dns_label(*endpoint, service)) value["hostname"] = *label;
    addresses.push_back(
        {*ip, endpoint->pod.header->uid, facts.publishes_not_ready || endpoint->facts->is_ready, std::move(value)});
  }
  std::sort(addresses.begin(), addresses.end(),
            [](const Address& a, const Address& b) { return std::tie(a.ip, a.uid) < std::tie(b.ip, b.uid); });
  return addresses;
}

json::Value to_json(const std::vector<Address>& addresses, const std::vector<EndpointPort>& ports) {
  json::Array ready;
  json::Array not_ready;
  for (const Address& address : addresses) (address.is_ready ? ready : not_ready).push_back(address.value);
  json::Object subset;
  if (!ready.empty()) subset["addresses"] = std::move(ready);
  if (!not_ready.empty()) subset["notReadyAddresses"] = std::move(not_ready);
  json::Array list;
  for (const EndpointPort& port : ports) {
    json::Value value = controllers::to_json(port);
    if (!port.name.empty()) value.as_object()["name"] = port.name;
    list.push_back(std::move(value));
  }
  if (!list.empty()) subset["ports"] = std::move(list);
  return subset;
}

// Those that are ready come first when there is not room for all.
void cut(std::vector<Endpoint>& endpoints) {
  if (endpoints.size() <= EndpointsController::kMostAddresses) return;
  std::stable_partition(endpoints.begin(), endpoints.end(), [](const Endpoint& each) { return each.facts->is_ready; });
  endpoints.resize(EndpointsController::kMostAddresses);
}

json::Array subsets_of(const api::Version& service, const ServiceFacts& facts, const std::vector<Endpoint>& endpoints) {
  std::map<EndpointPort, std::vector<const Endpoint*>> behind;
  std::vector<const Endpoint*> without_port;
  for (const Endpoint& endpoint : endpoints) {
    for (const EndpointPort& port : endpoint.ports) behind[port].push_back(&endpoint);
    if (endpoint.ports.empty()) without_port.push_back(&endpoint);
  }
  std::map<std::vector<const Endpoint*>, std::vector<EndpointPort>> subsets;
  for (auto& [port, pods] : behind) subsets[std::move(pods)].push_back(port);
  if (!without_port.empty()) subsets[std::move(without_port)];
  // In the order of their ports: addresses of memory say nothing.
  std::map<std::vector<EndpointPort>, json::Value> ordered;
  for (const auto& [pods, ports] : subsets) {
    const auto addresses = addresses_of(service, facts, pods);
    if (!addresses.empty()) ordered.emplace(ports, to_json(addresses, ports));
  }
  json::Array list;
  for (auto& [ports, subset] : ordered) list.push_back(std::move(subset));
  return list;
}

bool is_ours(const api::Version& endpoints) {
  return endpoints.header->label(kManagedBy) == kManager;
}

void remove(const api::ObjectName& name, const View& view, Outcome& outcome) {
  const api::Version left = view.get(kEndpoints, name);
  if (left && is_ours(left) && !left.header->deleting_since)
    outcome.allowed_now.push_back(Delete{client::target_of(kEndpoints, left)});
}

void write(const api::ObjectName& name, json::Object labels, json::Array subsets, bool is_cut, const View& view,
           Outcome& outcome) {
  const api::Version present = view.get(kEndpoints, name);
  json::Value object = json::Object{{"apiVersion", "v1"}, {"kind", "Endpoints"}};
  if (present) {
    auto tree = json::parse(*present.json);
    if (!tree) return;
    object = std::move(*tree);
  }
  const json::Value before = object;
  json::Object& metadata = json::object_at(object, {"metadata"});
  metadata["name"] = name.name;
  metadata["namespace"] = name.ns;
  metadata["labels"] = std::move(labels);
  if (is_cut) {
    json::object_at(object, {"metadata", "annotations"})[kOverCapacity] = "truncated";
  } else if (json::find(object, {"metadata", "annotations", kOverCapacity}) != nullptr) {
    json::object_at(object, {"metadata", "annotations"}).erase(kOverCapacity);
  }
  if (subsets.empty()) {
    object.as_object().erase("subsets");
  } else {
    object.as_object()["subsets"] = std::move(subsets);
  }
  if (!present) {
    outcome.allowed_now.push_back(Create{kEndpoints, name.ns, std::move(object)});
  } else if (!json::equal(before, object)) {
    outcome.allowed_now.push_back(Update{client::target_of(kEndpoints, present), std::move(object)});
  }
}

}  // namespace

std::vector<client::WatchRule> EndpointsController::watches() const {
  return {{.resource = kServices, .keys = client::itself(kServices)},
          {.resource = kPods, .keys = services_of_pod()},
          {.resource = kEndpoints, .keys = [](const ObjectChange& change, const View&, const client::KeySink& sink) {
             sink(client::key_of(kServices, change.now.header->name), WorkQueue::Priority::kNormal);
           }}};
}

Outcome EndpointsController::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version service = view.get(kServices, key.object);
  if (!service) {
    remove(key.object, view, outcome);
    return outcome;
  }
  const auto facts = view.objects(kServices).facts(service, read_service);
  if (!facts->has_endpoints || service.header->deleting_since) return outcome;
  std::vector<Endpoint> endpoints = endpoints_of(view, service, *facts);
  if (!facts->publishes_not_ready)
    std::erase_if(endpoints, [](const Endpoint& endpoint) { return endpoint.is_terminating(); });
  const bool is_cut = endpoints.size() > kMostAddresses;
  cut(endpoints);
  json::Object labels = facts->labels;
  labels[kManagedBy] = kManager;
  write(key.object, std::move(labels), subsets_of(service, *facts, endpoints), is_cut, view, outcome);
  return outcome;
}

}  // namespace gangway::controllers
