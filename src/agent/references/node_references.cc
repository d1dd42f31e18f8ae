#include "agent/references/node_references.h"

#include "json/access.h"

namespace gangway::agent {
namespace {

template <class Set, class Drop>
void drop_all_but(const Set& held, const Set& keep, Drop drop) {
  for (const auto& each : held) {
    if (!keep.contains(each)) drop(each);
  }
}

}  // namespace

std::optional<ServiceAddress> read_service(const json::Value& service) {
  ServiceAddress out{std::string(json::string_at(service, {"metadata", "name"})),
                     std::string(json::string_at(service, {"spec", "clusterIP"})),
                     {}};
  if (out.address.empty() || out.address == "None") return std::nullopt;
  for (const json::Value& port : json::array_at(service, {"spec", "ports"})) {
    out.ports.push_back({std::string(json::string_at(port, {"name"})),
                         static_cast<std::uint16_t>(json::int_at(port, {"port"})),
                         std::string(json::string_at(port, {"protocol"}))});
  }
  return out;
}

NodeReferences::NodeReferences(sys::EventLoop& loop, const std::map<std::string, client::ApiClient*>& clients,
                               const client::Informer& services, std::function<void(const std::string&)> on_change)
    : services_(services) {
  for (const auto& [name, client] : clients) nodes_[name] = std::make_unique<Node>(*client, loop, on_change);
}

void NodeReferences::hold(const PodSpec& pod) {
  const auto node = nodes_.find(pod.pod.node);
  if (node == nodes_.end()) return;
  Held& held = held_[pod.pod.uid];
  if (held.revision == pod.revision) return;
  NamedObjects objects = named_objects(pod);
  for (const NamedKeys& keys : objects.keys) node->second->keys.hold(pod.pod.uid, keys);
  for (const std::string& claim : objects.claims) node->second->claims.hold(pod.pod.uid, {pod.pod.ns, claim});
  for (const NamedToken& token : objects.tokens) node->second->tokens.hold(pod.pod, token);
  let_go(*node->second, held, objects);
  held = {pod.pod, pod.revision, std::move(objects)};
}

void NodeReferences::release(const std::string& pod_uid) {
  const auto at = held_.find(pod_uid);
  if (at == held_.end()) return;
  if (const auto node = nodes_.find(at->second.pod.node); node != nodes_.end()) let_go(*node->second, at->second, {});
  held_.erase(at);
}

void NodeReferences::let_go(Node& node, const Held& held, const NamedObjects& keep) {
  const PodIdentity& pod = held.pod;
  drop_all_but(held.objects.keys, keep.keys, [&](const NamedKeys& keys) { node.keys.release(pod.uid, keys); });
  drop_all_but(held.objects.claims, keep.claims,
               [&](const std::string& claim) { node.claims.release(pod.uid, {pod.ns, claim}); });
  drop_all_but(held.objects.tokens, keep.tokens, [&](const NamedToken& token) { node.tokens.release(pod.uid, token); });
}

Looked<KeyValues> NodeReferences::keys(KeyHolder in, const std::string& ns, const std::string& name) const {
  Looked<KeyValues> found;
  // Nodes of one agent share a machine and its owner: what one of them may see is no secret to the others.
  for (const auto& [node, own] : nodes_) {
    auto looked = own->keys.get({in, ns, name});
    if (looked.state != Looked<KeyValues>::State::kUnknown) return looked;
    if (!looked.error.empty()) found = std::move(looked);
  }
  return found;
}

Looked<ClaimedPath> NodeReferences::claim(const std::string& ns, const std::string& name) const {
  for (const auto& [node, own] : nodes_) {
    auto looked = own->claims.get({ns, name});
    if (looked.state != Looked<ClaimedPath>::State::kUnknown) return looked;
  }
  return {};
}

Looked<std::string> NodeReferences::token(const PodIdentity& pod, const std::string& account,
                                          const TokenSource& wanted) const {
  const auto node = nodes_.find(pod.node);
  if (node == nodes_.end()) return {};
  return node->second->tokens.get(pod.uid, {account, wanted.audience, wanted.seconds});
}

std::vector<ServiceAddress> NodeReferences::services(const std::string& ns) const {
  std::vector<ServiceAddress> all;
  for (const api::Version& version : services_.objects().in_namespace(ns)) {
    const auto tree = json::parse(*version.json);
    if (!tree) continue;
    if (auto service = read_service(*tree)) all.push_back(std::move(*service));
  }
  return all;
}

}  // namespace gangway::agent
