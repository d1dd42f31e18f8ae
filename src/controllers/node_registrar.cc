#include "controllers/node_registrar.h"

#include <algorithm>
#include <utility>

#include "client/resource.h"
#include "controllers/conditions.h"
#include "controllers/node_status.h"

namespace gangway::controllers {
namespace {

using client::Create;
using client::Delete;
using client::Outcome;
using client::Patch;
using client::PatchStatus;
using client::View;
using client::resources::kNodes;

constexpr const char* kDeclared = "gangway.dev/declared";
constexpr const char* kHostname = "kubernetes.io/hostname";

std::map<std::string, std::string> declared_labels(const NodeSpec& node) {
  std::map<std::string, std::string> labels = node.labels;
  for (const std::string& role : node.roles) labels["node-role.kubernetes.io/" + role] = "";
  return labels;
}

// Facts about the machine: put right whatever users do to them, as a kubelet does.
std::map<std::string, std::string> fixed_labels(const NodeSpec& node, const NodeSystem& system) {
  return {{kHostname, node.name},
          {"kubernetes.io/arch", system.architecture},
          {"kubernetes.io/os", system.operating_system},
          {"beta.kubernetes.io/arch", system.architecture},
          {"beta.kubernetes.io/os", system.operating_system}};
}

json::Value to_json(const Taint& taint) {
  json::Object object{{"key", taint.key}, {"effect", taint.effect}};
  if (!taint.value.empty()) object["value"] = taint.value;
  return object;
}

json::Array declared_taints(const NodeSpec& node) {
  json::Array taints;
  for (const Taint& taint : node.taints) taints.push_back(to_json(taint));
  for (const std::string& role : node.roles) {
    if (role == "master" || role == "control-plane")
      taints.push_back(to_json({"node-role.kubernetes.io/" + role, "", "NoSchedule"}));
  }
  return taints;
}

json::Value declaration_of(const NodeSpec& node) {
  json::Object labels;
  for (const auto& [key, value] : declared_labels(node)) labels[key] = value;
  return json::Object{{"labels", std::move(labels)}, {"taints", declared_taints(node)}};
}

json::Array list_at(const json::Value& tree, std::initializer_list<std::string_view> path) {
  const json::Value* list = json::find(tree, path);
  return list != nullptr && list->is_array() ? list->get_array() : json::Array();
}

json::Object map_at(const json::Value& tree, std::initializer_list<std::string_view> path) {
  const json::Value* map = json::find(tree, path);
  return map != nullptr && map->is_object() ? map->get_object() : json::Object();
}

bool is_same_taint(const json::Value& a, const json::Value& b) {
  return json::string_at(a, {"key"}) == json::string_at(b, {"key"}) &&
         json::string_at(a, {"effect"}) == json::string_at(b, {"effect"});
}

auto find_taint(json::Array& taints, const json::Value& wanted) {
  return std::find_if(taints.begin(), taints.end(),
                      [&](const json::Value& taint) { return is_same_taint(taint, wanted); });
}

// Three-way: only what differs between the last declaration and this one is brought to `now`.
json::Object merge_labels(const json::Object& now, const json::Object& last, const json::Object& next) {
  json::Object patch;
  for (const auto& entry : next) {
    const json::Value* before = last.if_contains(entry.key());
    if ((before == nullptr || *before != entry.value()) &&
        (!now.contains(entry.key()) || now.at(entry.key()) != entry.value()))
      patch[entry.key()] = entry.value();
  }
  for (const auto& entry : last) {
    const json::Value* current = now.if_contains(entry.key());
    if (!next.contains(entry.key()) && current != nullptr && *current == entry.value()) patch[entry.key()] = nullptr;
  }
  return patch;
}

json::Array merge_taints(json::Array now, json::Array last, json::Array next) {
  for (const json::Value& taint : next) {
    auto* before = find_taint(last, taint);
    if (before != last.end() && *before == taint) continue;
    auto* current = find_taint(now, taint);
    if (current == now.end()) {
      now.push_back(taint);
    } else {
      *current = taint;
    }
  }
  for (const json::Value& taint : last) {
    if (find_taint(next, taint) != next.end()) continue;
    auto* current = find_taint(now, taint);
    if (current != now.end()) now.erase(current);
  }
  return now;
}

json::Value new_node(const NodeSpec& node, const NodeSystem& system, WallTime now) {
  json::Object labels;
  for (const auto& [key, value] : declared_labels(node)) labels[key] = value;
  for (const auto& [key, value] : fixed_labels(node, system)) labels[key] = value;
  json::Object spec;
  if (json::Array taints = declared_taints(node); !taints.empty()) spec["taints"] = std::move(taints);
  return json::Object{
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata", json::Object{{"name", node.name},
                                {"labels", std::move(labels)},
                                {"annotations", json::Object{{kDeclared, json::serialize(declaration_of(node))}}}}},
      {"spec", std::move(spec)},
      {"status", node_status(node, system, json::Array(), now)}};
}

void put_right(const api::Version& version, const json::Value& tree, const NodeSpec& node, const NodeSystem& system,
               Outcome& outcome) {
  const json::Value next = declaration_of(node);
  const std::string text = json::serialize(next);
  const json::Object annotations = map_at(tree, {"metadata", "annotations"});
  const json::Value* applied = annotations.if_contains(kDeclared);
  json::Value last = json::Object();
  if (applied != nullptr && applied->is_string()) {
    if (auto parsed = json::parse(applied->get_string())) last = std::move(*parsed);
  }

  const json::Object labels = map_at(tree, {"metadata", "labels"});
  json::Object label_patch = merge_labels(labels, map_at(last, {"labels"}), map_at(next, {"labels"}));
  for (const auto& [key, value] : fixed_labels(node, system)) {
    const json::Value* current = labels.if_contains(key);
    if (current == nullptr || *current != json::Value(value)) label_patch[key] = value;
  }
  json::Value patch = json::Object();
  if (!label_patch.empty()) json::object_at(patch, {"metadata"})["labels"] = std::move(label_patch);
  const json::Array taints = list_at(tree, {"spec", "taints"});
  json::Array merged = merge_taints(taints, list_at(last, {"taints"}), list_at(next, {"taints"}));
  if (merged != taints) json::object_at(patch, {"spec"})["taints"] = std::move(merged);
  if (applied == nullptr || !applied->is_string() || std::string_view(applied->get_string()) != text)
    json::object_at(patch, {"metadata", "annotations"})[kDeclared] = text;
  if (!patch.get_object().empty()) outcome.allowed_now.push_back(Patch{client::target_of(kNodes, version), patch});
}

void put_status_right(const api::Version& version, const json::Value& tree, const NodeSpec& node,
                      const NodeSystem& system, WallTime now, Outcome& outcome) {
  const json::Object status = map_at(tree, {"status"});
  const json::Object wanted = node_status(node, system, conditions_of(tree), now);
  json::Object patch;
  // Conditions are the heartbeat's, once they are there.
  for (const auto& entry : wanted) {
    const json::Value* current = status.if_contains(entry.key());
    if (entry.key() == "conditions" && current != nullptr) continue;
    if (current == nullptr || *current != entry.value()) patch[entry.key()] = entry.value();
  }
  if (patch.empty()) return;
  // A merge patch would keep resources that are declared no more.
  for (const char* key : {"capacity", "allocatable"}) {
    json::Value* amounts = patch.if_contains(key);
    if (amounts == nullptr) continue;
    for (const auto& entry : map_at(tree, {"status", key}))
      if (!amounts->get_object().contains(entry.key())) amounts->get_object()[entry.key()] = nullptr;
  }
  outcome.allowed_now.push_back(
      PatchStatus{client::target_by_uid(kNodes, version), json::Object{{"status", std::move(patch)}}});
}

}  // namespace

NodeRegistrar::NodeRegistrar(std::vector<NodeSpec> nodes, NodeSystem system) : system_(std::move(system)) {
  for (NodeSpec& node : nodes) {
    std::string name = node.name;
    nodes_.emplace(std::move(name), std::move(node));
  }
}

std::vector<client::WatchRule> NodeRegistrar::watches() const {
  return {{.resource = kNodes, .keys = client::itself(kNodes)}};
}

std::vector<api::ObjectKey> NodeRegistrar::keys() const {
  std::vector<api::ObjectKey> all;
  for (const auto& [name, node] : nodes_) all.push_back(client::key_of(kNodes, {"", name}));
  return all;
}

Outcome NodeRegistrar::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version version = view.get(kNodes, key.object);
  const auto wanted = nodes_.find(key.object.name);
  if (!version) {
    if (wanted != nodes_.end())
      outcome.allowed_now.push_back(Create{kNodes, "", new_node(wanted->second, system_, view.now())});
    return outcome;
  }
  const auto tree = json::parse(*version.json);
  if (!tree || version.header->deleting_since) return outcome;
  if (wanted == nodes_.end()) {
    if (map_at(*tree, {"metadata", "annotations"}).contains(kDeclared))
      outcome.allowed_now.push_back(Delete{client::target_of(kNodes, version)});
    return outcome;
  }
  put_right(version, *tree, wanted->second, system_, outcome);
  if (outcome.allowed_now.empty()) put_status_right(version, *tree, wanted->second, system_, view.now(), outcome);
  return outcome;
}

}  // namespace gangway::controllers
