#include "controllers/definition_cleanup.h"

#include <algorithm>
#include <chrono>

#include "api/conditions.h"
#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Outcome;
using client::Resource;
using client::View;

const Resource kDefinitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions"};
constexpr const char* kInstances = "instances";
constexpr std::string_view kFinalizer = "customresourcecleanup.apiextensions.k8s.io";
constexpr auto kPatience = std::chrono::seconds(1);

std::string text(const json::Value& value, std::string_view key) {
  return std::string(json::string_at(value, {key}));
}

// The definition's objects in a version that is served. One whose names were never accepted has none: objects that go
// by them are another kind's.
Resource instances_of(const json::Value& definition) {
  Resource resource{text(definition.at("spec"), "group"), "",
                    std::string(json::string_at(definition, {"spec", "names", "plural"}))};
  if (!api::condition_is_true(definition, "Established")) return resource;
  const auto* versions = json::find(definition, {"spec", "versions"});
  if (!versions || !versions->is_array()) return resource;
  for (const auto& version : versions->get_array()) {
    const auto* served = json::find(version, {"served"});
    if (served && served->is_bool() && served->get_bool()) resource.version = text(version, "name");
  }
  return resource;
}

client::Update let_go(const api::Version& definition, json::Value tree) {
  json::Array rest;
  for (const auto& finalizer : definition.header->finalizers) {
    if (finalizer != kFinalizer) rest.emplace_back(finalizer);
  }
  json::object_at(tree, {"metadata"})["finalizers"] = std::move(rest);
  return client::Update{client::target_of(kDefinitions, definition), std::move(tree)};
}

}  // namespace

std::vector<client::WatchRule> DefinitionCleanup::watches() const {
  return {{.resource = kDefinitions, .keys = client::itself(kDefinitions)}};
}

Outcome DefinitionCleanup::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version definition = view.get(kDefinitions, key.object);
  if (!definition || !definition.header->deleting_since) return outcome;
  const auto& finalizers = definition.header->finalizers;
  if (std::find(finalizers.begin(), finalizers.end(), kFinalizer) == finalizers.end()) return outcome;
  auto tree = json::parse(*definition.json);
  if (!tree) return outcome;
  const auto resource = instances_of(*tree);
  const auto* answer = view.answer(kInstances);
  // A definition without a served version cannot be asked for its objects, and nobody could see them.
  if (!resource.version.empty() && (answer == nullptr || !answer->has_value())) {
    outcome.allowed_now.push_back(client::Probe{
        kInstances,
        json::Object{{"group", resource.group}, {"version", resource.version}, {"plural", resource.plural}}});
    return outcome;
  }
  const auto* items = resource.version.empty() ? nullptr : json::find(**answer, {"items"});
  if (!resource.version.empty() && !items) {
    outcome.look_again(view.now() + kPatience);
    return outcome;
  }
  if (items && !items->get_array().empty()) {
    for (const auto& item : items->get_array()) {
      const auto* deleting = json::find(item, {"deleting"});
      if (deleting && deleting->is_bool() && deleting->get_bool()) continue;
      outcome.allowed_now.push_back(
          client::Delete{{resource, {text(item, "namespace"), text(item, "name")}, text(item, "uid"), 0}});
    }
    outcome.look_again(view.now() + kPatience);
    return outcome;
  }
  outcome.allowed_now.push_back(let_go(definition, std::move(*tree)));
  return outcome;
}

void InstanceProbe::ask(const client::Probe& probe, sys::Completion<json::Value> done) {
  client::ListRequest request;
  request.resource = {text(probe.question, "group"), text(probe.question, "version"), text(probe.question, "plural")};
  client_.list(std::move(request), [done = std::move(done)](Result<client::ListAnswer> answer) {
    if (!answer) {
      // A kind that is not served has no objects that anybody could reach.
      if (answer.error().reason == Reason::kNotFound) return done(json::Value(json::Object{{"items", json::Array()}}));
      return done(json::Value(json::Object{{"error", answer.error().message}}));
    }
    json::Array items;
    for (const auto& object : answer->items) {
      const auto& header = *object.header;
      items.push_back(json::Object{{"namespace", header.name.ns},
                                   {"name", header.name.name},
                                   {"uid", header.uid},
                                   {"deleting", header.deleting_since.has_value()}});
    }
    done(json::Value(json::Object{{"items", std::move(items)}}));
  });
}

}  // namespace gangway::controllers
