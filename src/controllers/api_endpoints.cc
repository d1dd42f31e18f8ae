#include "controllers/api_endpoints.h"

#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Create;
using client::Outcome;
using client::Patch;
using client::Resource;
using client::View;
using client::resources::kEndpoints;
using client::resources::kEndpointSlices;
using client::resources::kServices;

const api::ObjectName kName{"default", "kubernetes"};

json::Array ports_of(const ApiAddress& address) {
  return {json::Object{{"name", "https"}, {"port", address.port}, {"protocol", "TCP"}}};
}

// The fields that are ours, as a patch that puts them right.
json::Value slice_fields(const std::optional<ApiAddress>& address) {
  json::Array endpoints;
  json::Array ports;
  if (address) {
    endpoints.push_back(json::Object{{"addresses", json::Array{json::Value(address->address)}},
                                     {"conditions", json::Object{{"ready", true}}}});
    ports = ports_of(*address);
  }
  return json::Object{{"metadata", json::Object{{"labels", json::Object{{"kubernetes.io/service-name", kName.name}}}}},
                      {"endpoints", std::move(endpoints)},
                      {"ports", std::move(ports)}};
}

json::Value endpoints_fields(const std::optional<ApiAddress>& address) {
  json::Array subsets;
  if (address) {
    subsets.push_back(json::Object{{"addresses", json::Array{json::Object{{"ip", address->address}}}},
                                   {"ports", ports_of(*address)}});
  }
  // The slice is written here and need not be made from these.
  json::Object labels{{"endpointslice.kubernetes.io/skip-mirror", "true"}};
  return json::Object{{"metadata", json::Object{{"labels", std::move(labels)}}}, {"subsets", std::move(subsets)}};
}

// Lists that are empty may be left out of what is stored.
bool says(const json::Value& object, const json::Value& fields) {
  for (const auto& [key, want] : fields.get_object()) {
    if (key == "metadata") continue;
    const auto* have = json::find(object, {std::string_view(key)});
    bool both_empty = want.get_array().empty() && (!have || !have->is_array() || have->get_array().empty());
    if (!both_empty && (!have || !json::equal(*have, want))) return false;
  }
  for (const auto& [label, value] : json::find(fields, {"metadata", "labels"})->get_object()) {
    if (json::string_at(object, {"metadata", "labels", label}) != value.get_string()) return false;
  }
  return true;
}

// Makes the object, or puts its fields right.
void ensure(Outcome& outcome, const View& view, const Resource& resource, json::Value fresh, json::Value fields) {
  const auto present = view.get(resource, kName);
  if (!present) {
    auto& body = fresh.as_object();
    for (const auto& [key, value] : fields.get_object()) body[key] = value;
    auto& metadata = body["metadata"].as_object();
    metadata["namespace"] = kName.ns;
    metadata["name"] = kName.name;
    outcome.allowed_now.push_back(Create{resource, kName.ns, std::move(fresh)});
    return;
  }
  const auto tree = json::parse(*present.json);
  if (!tree || says(*tree, fields)) return;
  outcome.allowed_now.push_back(Patch{client::target_of(resource, present), std::move(fields)});
}

client::KeyMapper of_the_api() {
  return [](const client::ObjectChange& change, const View&, const client::KeySink& sink) {
    if (change.now.header->name == kName) sink(client::key_of(kServices, kName), client::WorkQueue::Priority::kNormal);
  };
}

}  // namespace

std::vector<client::WatchRule> ApiEndpoints::watches() const {
  return {{.resource = kServices, .keys = of_the_api()},
          {.resource = kEndpointSlices, .keys = of_the_api()},
          {.resource = kEndpoints, .keys = of_the_api()}};
}

Outcome ApiEndpoints::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  if (key.object != kName) return outcome;
  if (!view.get(kServices, kName)) {
    if (service_.is_object()) outcome.allowed_now.push_back(Create{kServices, kName.ns, service_});
    return outcome;
  }
  json::Value slice =
      json::Object{{"apiVersion", "discovery.k8s.io/v1"}, {"kind", "EndpointSlice"}, {"addressType", "IPv4"}};
  ensure(outcome, view, kEndpointSlices, std::move(slice), slice_fields(address_));
  json::Value endpoints = json::Object{{"apiVersion", "v1"}, {"kind", "Endpoints"}};
  ensure(outcome, view, kEndpoints, std::move(endpoints), endpoints_fields(address_));
  return outcome;
}

}  // namespace gangway::controllers
