#include "agent/node/node_registrar.h"

#include <algorithm>
#include <utility>

#include "agent/node/node_status.h"
#include "client/resource.h"
#include "json/access.h"

namespace gangway::agent {
namespace {

using client::Delete;
using client::Outcome;
using client::Patch;
using client::View;
using client::resources::kNodes;

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

// What was declared last, and since then maybe changed by users; nothing for a node that nobody declared.
json::Value last_declaration(const json::Value& tree) {
  auto parsed = json::parse(json::string_at(tree, {"metadata", "annotations", kDeclared}));
  return parsed ? std::move(*parsed) : json::Value(json::Object());
}

json::Value declaration_patch(const json::Value& tree, const NodeSpec& node) {
  const json::Value next = declaration_of(node);
  const std::string text = json::serialize(next);
  const json::Value last = last_declaration(tree);
  json::Value patch = json::Object();
  json::Object labels = merge_labels(json::members_at(tree, {"metadata", "labels"}), json::members_at(last, {"labels"}),
                                     json::members_at(next, {"labels"}));
  if (!labels.empty()) json::object_at(patch, {"metadata"})["labels"] = std::move(labels);
  const json::Array& taints = json::array_at(tree, {"spec", "taints"});
  json::Array merged = merge_taints(taints, json::array_at(last, {"taints"}), json::array_at(next, {"taints"}));
  if (merged != taints) json::object_at(patch, {"spec"})["taints"] = std::move(merged);
  if (json::string_at(tree, {"metadata", "annotations", kDeclared}) != text)
    json::object_at(patch, {"metadata", "annotations"})[kDeclared] = text;
  return patch;
}

}  // namespace

NodeRegistrar::NodeRegistrar(std::vector<NodeSpec> nodes) {
  for (NodeSpec& node : nodes) {
    std::string name = node.name;
    nodes_.emplace(std::move(name), std::move(node));
  }
}

std::vector<client::WatchRule> NodeRegistrar::watches() const {
  return {{.resource = kNodes, .keys = client::itself(kNodes)}};
}

Outcome NodeRegistrar::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version version = view.get(kNodes, key.object);
  if (!version || version.header->deleting_since) return outcome;
  const auto tree = json::parse(*version.json);
  if (!tree) return outcome;
  const auto wanted = nodes_.find(key.object.name);
  if (wanted == nodes_.end()) {
    if (json::members_at(*tree, {"metadata", "annotations"}).contains(kDeclared))
      outcome.allowed_now.push_back(Delete{client::target_of(kNodes, version)});
    return outcome;
  }
  json::Value patch = declaration_patch(*tree, wanted->second);
  if (!patch.get_object().empty())
    outcome.allowed_now.push_back(Patch{client::target_of(kNodes, version), std::move(patch)});
  return outcome;
}

}  // namespace gangway::agent
