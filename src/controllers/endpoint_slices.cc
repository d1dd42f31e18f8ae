#include "controllers/endpoint_slices.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "api/owner.h"
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
using client::resources::kEndpointSlices;
using client::resources::kNodes;
using client::resources::kPods;
using client::resources::kServices;

constexpr const char* kServiceName = "kubernetes.io/service-name";
constexpr const char* kManagedBy = "endpointslice.kubernetes.io/managed-by";
constexpr const char* kManager = "endpointslice-controller.k8s.io";
constexpr const char* kZone = "topology.kubernetes.io/zone";

// Slices of one kind take the same pods.
struct SliceKind {
  IpFamily family = IpFamily::kV4;
  std::vector<EndpointPort> ports;
  auto operator<=>(const SliceKind&) const = default;
};

struct Slice {
  api::Version version;  // none for a new one
  json::Value tree;
  json::Array endpoints;

  bool has_room() const { return endpoints.size() < EndpointSliceController::kMostEndpoints; }
};

// By the uid of the pod.
using Wanted = std::map<std::string, json::Value>;

json::Value to_json(const Endpoint& endpoint, const std::string& address, const api::Version& service,
                    const ServiceFacts& facts, const View& view) {
  const bool is_serving = endpoint.facts->is_ready;
  const bool is_terminating = endpoint.is_terminating();
  json::Object value{
      {"addresses", json::Array{json::Value(address)}},
      {"conditions", json::Object{{"ready", facts.publishes_not_ready || (is_serving && !is_terminating)},
                                  {"serving", is_serving},
                                  {"terminating", is_terminating}}},
      {"targetRef", target_reference(endpoint)}};
  if (const std::string* label = dns_label(endpoint, service)) value["hostname"] = *label;
  if (endpoint.facts->node.empty()) return value;
  value["nodeName"] = endpoint.facts->node;
  const api::Version node = view.get(kNodes, {"", endpoint.facts->node});
  if (node && !node.header->label(kZone).empty()) value["zone"] = node.header->label(kZone);
  return value;
}

std::map<SliceKind, Wanted> wanted_endpoints(const api::Version& service, const ServiceFacts& facts, const View& view) {
  std::map<SliceKind, Wanted> wanted;
  const auto endpoints = endpoints_of(view, service, facts);
  for (const IpFamily family : facts.families) {
    bool is_empty = true;
    for (const Endpoint& endpoint : endpoints) {
      const std::string* address = endpoint.facts->address(family);
      if (address == nullptr) continue;
      wanted[{family, endpoint.ports}].emplace(endpoint.pod.header->uid,
                                               to_json(endpoint, *address, service, facts, view));
      is_empty = false;
    }
    // An empty slice says that there is nobody, and not that nobody has looked.
    if (is_empty) wanted[{family, {}}];
  }
  return wanted;
}

json::Value ports_json(const std::vector<EndpointPort>& ports) {
  json::Array list;
  for (const EndpointPort& port : ports) {
    json::Value value = controllers::to_json(port);
    value.as_object()["name"] = port.name;
    list.push_back(std::move(value));
  }
  return list.empty() ? json::Value(nullptr) : json::Value(std::move(list));
}

std::vector<EndpointPort> read_ports(const json::Value& slice) {
  std::vector<EndpointPort> ports;
  for (const json::Value& item : json::array_at(slice, {"ports"})) {
    EndpointPort port{std::string(json::string_at(item, {"name"})), std::string(json::string_at(item, {"protocol"})),
                      json::integer_at(item, {"port"}), std::nullopt};
    if (const json::Value* app = json::find(item, {"appProtocol"}); app != nullptr && app->is_string())
      port.app_protocol = std::string(json::string_at(*app, {}));
    ports.push_back(std::move(port));
  }
  return ports;
}

std::map<SliceKind, std::vector<Slice>> present_slices(const api::Version& service, const View& view) {
  std::map<SliceKind, std::vector<Slice>> slices;
  for (api::Version& version : view.objects(kEndpointSlices).owned_by(service.header->uid)) {
    if (version.header->label(kManagedBy) != kManager || version.header->deleting_since) continue;
    auto tree = json::parse(*version.json);
    if (!tree) continue;
    const bool is_v6 = json::string_at(*tree, {"addressType"}) == "IPv6";
    SliceKind kind{is_v6 ? IpFamily::kV6 : IpFamily::kV4, read_ports(*tree)};
    slices[std::move(kind)].push_back({std::move(version), std::move(*tree), {}});
  }
  return slices;
}

// Leaves everybody where it is, and puts the others where there is room.
void fill(std::vector<Slice>& slices, Wanted wanted) {
  for (Slice& slice : slices) {
    for (const json::Value& endpoint : json::array_at(slice.tree, {"endpoints"})) {
      auto still = wanted.extract(std::string(json::string_at(endpoint, {"targetRef", "uid"})));
      if (!still.empty() && slice.has_room()) slice.endpoints.push_back(std::move(still.mapped()));
    }
  }
  std::size_t at = 0;
  for (auto& [uid, endpoint] : wanted) {
    while (at < slices.size() && !slices[at].has_room()) ++at;
    if (at == slices.size()) slices.emplace_back();
    slices[at].endpoints.push_back(std::move(endpoint));
  }
}

class Writer {
 public:
  Writer(const api::Version& service, const ServiceFacts& facts, const View& view, Outcome& outcome)
      : service_(service), view_(view), outcome_(outcome), labels_(facts.labels) {
    labels_[kServiceName] = service.header->name.name;
    labels_[kManagedBy] = kManager;
  }

  void write(const SliceKind& kind, Slice slice) {
    json::Value object = slice.tree.is_object() ? slice.tree : fresh();
    json::object_at(object, {"metadata"})["labels"] = labels_;
    object.as_object()["addressType"] = to_string(kind.family);
    object.as_object()["endpoints"] = slice.endpoints.empty() ? json::Value(nullptr) : json::Value(slice.endpoints);
    object.as_object()["ports"] = ports_json(kind.ports);
    if (!slice.version) {
      outcome_.allowed_now.push_back(
          Create{kEndpointSlices, service_.header->name.ns, std::move(object), service_.header->uid});
    } else if (!is_same(slice.tree, object)) {
      outcome_.allowed_now.push_back(Update{client::target_of(kEndpointSlices, slice.version), std::move(object)});
    }
  }

  void remove(const Slice& slice) {
    outcome_.allowed_now.push_back(Delete{client::target_of(kEndpointSlices, slice.version)});
  }

 private:
  // What is empty may be left out of what is stored.
  static bool is_same(const json::Value& before, const json::Value& after) {
    return json::equal(json::array_at(before, {"endpoints"}), json::array_at(after, {"endpoints"})) &&
           json::equal(json::map_at(before, {"metadata", "labels"}), json::map_at(after, {"metadata", "labels"})) &&
           read_ports(before) == read_ports(after);
  }

  // The lowest number whose name is free: the same until a slice by that name is there.
  json::Value fresh() {
    const api::Header& service = *service_.header;
    std::string name;
    do {
      name = client::generated_name(service.name.name, service.uid, "endpoints", next_++, 0);
    } while (view_.objects(kEndpointSlices).contains({service.name.ns, name}));
    const auto owner = api::controller_reference("v1", "Service", service);
    return json::Object{{"apiVersion", "discovery.k8s.io/v1"},
                        {"kind", "EndpointSlice"},
                        {"metadata", json::Object{{"name", name},
                                                  {"namespace", service.name.ns},
                                                  {"generateName", service.name.name + "-"},
                                                  {"ownerReferences", json::Array{api::to_json(owner)}}}}};
  }

  const api::Version& service_;
  const View& view_;
  Outcome& outcome_;
  json::Object labels_;
  std::uint64_t next_ = 0;
};

client::KeyMapper service_of_slice() {
  return [](const ObjectChange& change, const View&, const client::KeySink& sink) {
    const std::string_view name = change.now.header->label(kServiceName);
    if (!name.empty())
      sink(client::key_of(kServices, {change.now.header->name.ns, std::string(name)}), WorkQueue::Priority::kNormal);
  };
}

}  // namespace

std::vector<client::WatchRule> EndpointSliceController::watches() const {
  return {{.resource = kServices, .keys = client::itself(kServices)},
          {.resource = kPods, .keys = services_of_pod()},
          {.resource = kEndpointSlices, .keys = service_of_slice()},
          {.resource = kNodes}};
}

Outcome EndpointSliceController::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version service = view.get(kServices, key.object);
  if (!service || service.header->deleting_since) return outcome;
  const auto facts = view.objects(kServices).facts(service, read_service);
  if (!facts->has_endpoints) return outcome;

  auto present = present_slices(service, view);
  Writer writer(service, *facts, view, outcome);
  for (auto& [kind, wanted] : wanted_endpoints(service, *facts, view)) {
    std::vector<Slice> slices;
    if (auto found = present.extract(kind)) slices = std::move(found.mapped());
    fill(slices, std::move(wanted));
    if (slices.empty()) slices.emplace_back();
    bool has_one = false;
    for (Slice& slice : slices) {
      const bool is_last_chance = !has_one && &slice == &slices.back();
      if (slice.endpoints.empty() && slice.version && !is_last_chance) {
        writer.remove(slice);
        continue;
      }
      has_one = true;
      writer.write(kind, std::move(slice));
    }
  }
  for (const auto& [kind, slices] : present)
    for (const Slice& slice : slices) writer.remove(slice);
  return outcome;
}

}  // namespace gangway::controllers
