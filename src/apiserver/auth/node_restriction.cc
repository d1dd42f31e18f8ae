#include "apiserver/auth/node_restriction.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kLeaseNamespace = "kube-node-lease";

Decision allow() {
  return {.allowed = true, .reason = {}};
}
Decision deny(std::string reason) {
  return {.allowed = false, .reason = std::move(reason)};
}

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Decision if_used(const std::string& node, Used what, const Attributes& request, const NodeFacts& facts) {
  if (request.name.empty()) return deny("No Object name found");
  if (facts.uses(node, what, {request.ns, request.name})) return allow();
  return deny(fmt::format("no relationship found between node '{}' and this object", node));
}

Decision authorize_read(const std::string& node, Used what, const Attributes& request, const NodeFacts& facts) {
  if (!is_one_of(request.verb, {"get", "list", "watch"})) return deny("can only read resources of this type");
  if (!request.subresource.empty()) return deny("cannot read subresource");
  if (request.ns.empty()) return deny("can only read namespaced object of this type");
  return if_used(node, what, request, facts);
}

Decision authorize_get(const std::string& node, Used what, const Attributes& request, const NodeFacts& facts) {
  if (request.verb != "get") return deny("can only get individual resources of this type");
  if (!request.subresource.empty()) return deny("cannot get subresource");
  return if_used(node, what, request, facts);
}

Decision authorize_claim(const std::string& node, const Attributes& request, const NodeFacts& facts) {
  if (request.subresource != "status") return authorize_get(node, Used::kClaim, request, facts);
  if (!is_one_of(request.verb, {"update", "patch"})) return deny("can only get/update/patch this type");
  return if_used(node, Used::kClaim, request, facts);
}

Decision authorize_token(const std::string& node, const Attributes& request, const NodeFacts& facts) {
  if (request.verb != "create" || request.name.empty()) {
    return deny("can only create tokens for individual service accounts");
  }
  if (request.subresource != "token") return deny("can only create token subresource of serviceaccount");
  return if_used(node, Used::kServiceAccount, request, facts);
}

Decision authorize_lease(const std::string& node, const Attributes& request) {
  if (!is_one_of(request.verb, {"get", "create", "update", "patch", "delete"})) {
    return deny("can only get, create, update, patch, or delete a node lease");
  }
  if (request.ns != kLeaseNamespace) {
    return deny(fmt::format("can only access leases in the {} system namespace", quoted(kLeaseNamespace)));
  }
  // A create does not name its object in the path; check_node_write sees the name.
  if (request.verb != "create" && request.name != node) {
    return deny("can only access node lease with the same name as the requesting node");
  }
  return allow();
}

Decision authorize_own_node(const std::string& node, const Attributes& request) {
  if (request.subresource == "status" && is_one_of(request.verb, {"update", "patch"})) return allow();
  if (!request.subresource.empty()) return deny({});
  if (is_one_of(request.verb, {"create", "update", "patch"})) return allow();
  if (!is_one_of(request.verb, {"get", "list", "watch"})) return deny({});
  if (request.name == node) return allow();
  if (request.name.empty()) return deny(fmt::format("node '{}' cannot read all nodes, only its own Node object", node));
  return deny(fmt::format("node '{}' cannot read '{}', only its own Node object", node, request.name));
}

Decision authorize_pod(const std::string& node, const Attributes& request, const NodeFacts& facts) {
  if (request.subresource == "status" && is_one_of(request.verb, {"update", "patch"})) return allow();
  if (request.subresource == "eviction" && request.verb == "create") return allow();
  if (!request.subresource.empty()) return deny({});
  if (is_one_of(request.verb, {"create", "delete"})) return allow();
  if (!is_one_of(request.verb, {"get", "list", "watch"})) return deny({});
  if (request.verb != "get" && request.selected_node == node) return allow();
  if (request.name.empty()) return deny("can only list/watch pods with spec.nodeName field selector");
  if (facts.pod_is_on(node, {request.ns, request.name})) return allow();
  return deny(fmt::format("no relationship found between node '{}' and this object", node));
}

// The decisions that depend on which node asks; none where all nodes are alike.
std::optional<Decision> authorize_divided(const std::string& node, const Attributes& request, const NodeFacts& facts) {
  if (!request.is_resource) return std::nullopt;
  if (request.group == "coordination.k8s.io" && request.resource == "leases") return authorize_lease(node, request);
  if (!request.group.empty()) return std::nullopt;
  const auto& resource = request.resource;
  if (resource == "secrets") return authorize_read(node, Used::kSecret, request, facts);
  if (resource == "configmaps") return authorize_read(node, Used::kConfigMap, request, facts);
  if (resource == "persistentvolumeclaims") return authorize_claim(node, request, facts);
  if (resource == "persistentvolumes") return authorize_get(node, Used::kVolume, request, facts);
  if (resource == "serviceaccounts") return authorize_token(node, request, facts);
  if (resource == "nodes") return authorize_own_node(node, request);
  if (resource == "pods") return authorize_pod(node, request, facts);
  return std::nullopt;
}

bool same_at(const json::Value& a, const json::Value& b, std::initializer_list<std::string_view> path) {
  const auto* left = json::find(a, path);
  const auto* right = json::find(b, path);
  return left == nullptr || right == nullptr ? left == right : *left == *right;
}

Result<void> check_pod(const std::string& node, const Attributes& request, const json::Value* old,
                       const json::Value* now) {
  auto refuse = [&](const std::string& why) { return forbidden_object({}, "pods", request.name, why); };
  auto is_ours = [&](const json::Value* pod) {
    return pod != nullptr && json::string_at(*pod, {"spec", "nodeName"}) == node;
  };
  if (request.subresource == "status") {
    if (!is_ours(old)) {
      return refuse(
          fmt::format("node {} can only update pod status for pods with spec.nodeName set to itself", quoted(node)));
    }
    if (now != nullptr && !same_at(*old, *now, {"metadata", "labels"})) {
      return refuse(fmt::format("node {} cannot update labels through pod status", quoted(node)));
    }
    return {};
  }
  if (request.verb == "delete") {
    if (is_ours(old)) return {};
    return refuse(fmt::format("node {} can only delete pods with spec.nodeName set to itself", quoted(node)));
  }
  // Nodes have no pods of their own here: whoever could make them could run anything as anyone.
  return refuse(fmt::format("node {} cannot write pods", quoted(node)));
}

Result<void> check_own_node(const std::string& node, const Attributes& request, const json::Value* old,
                            const json::Value* now) {
  auto name = request.name.empty() && now != nullptr ? json::string_at(*now, {"metadata", "name"})
                                                     : std::string_view(request.name);
  auto refuse = [&](const std::string& why) { return forbidden_object({}, "nodes", name, why); };
  if (name != node) {
    return refuse(fmt::format("node {} is not allowed to modify node {}", quoted(node), quoted(name)));
  }
  if (old == nullptr || now == nullptr) return {};
  if (!same_at(*old, *now, {"spec", "taints"})) {
    return refuse(fmt::format("node {} is not allowed to modify taints", quoted(node)));
  }
  if (!same_at(*old, *now, {"metadata", "ownerReferences"})) {
    return refuse(fmt::format("node {} is not allowed to modify ownerReferences", quoted(node)));
  }
  return {};
}

Result<void> check_token(const std::string& node, const Attributes& request, const json::Value* now,
                         const NodeFacts& facts) {
  auto refuse = [&](const char* why) { return forbidden_object({}, "serviceaccounts", request.name, why); };
  if (now == nullptr || json::string_at(*now, {"spec", "boundObjectRef", "kind"}) != "Pod") {
    return refuse("node requested token not bound to a pod");
  }
  if (json::string_at(*now, {"spec", "boundObjectRef", "uid"}).empty()) {
    return refuse("node requested token with a pod binding without a uid");
  }
  std::string pod(json::string_at(*now, {"spec", "boundObjectRef", "name"}));
  if (facts.pod_is_on(node, {request.ns, pod})) return {};
  return refuse("node requested token bound to a pod scheduled on a different node");
}

}  // namespace

std::optional<std::string> node_of(const UserInfo& user) {
  if (!user.name.starts_with(kNodeUserPrefix) || !user.in_group(kNodesGroup)) return std::nullopt;
  return user.name.substr(kNodeUserPrefix.size());
}

std::optional<Decision> authorize_node(const Attributes& request, const std::vector<PolicyRule>& rules,
                                       const NodeFacts& facts) {
  auto node = node_of(request.user);
  if (!node) return std::nullopt;
  if (node->empty()) return deny(fmt::format("unknown node for user {}", quoted(request.user.name)));
  if (auto decision = authorize_divided(*node, request, facts)) return decision;
  bool allowed = std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.allows(request); });
  return Decision{.allowed = allowed, .reason = {}};
}

Result<void> check_node_write(const Attributes& request, const json::Value* old, const json::Value* now,
                              const NodeFacts& facts) {
  auto node = node_of(request.user);
  if (!node) return {};
  if (request.group == "coordination.k8s.io" && request.resource == "leases") {
    auto name = now == nullptr ? std::string_view(request.name) : json::string_at(*now, {"metadata", "name"});
    if (name == *node) return {};
    return forbidden_object(request.group, "leases", name,
                            "can only access node lease with the same name as the requesting node");
  }
  if (!request.group.empty()) return {};
  if (request.resource == "nodes") return check_own_node(*node, request, old, now);
  if (request.resource == "serviceaccounts") return check_token(*node, request, now, facts);
  if (request.resource != "pods") return {};
  if (request.subresource == "eviction") {
    if (facts.pod_is_on(*node, {request.ns, request.name})) return {};
    return forbidden_object({}, "pods", request.name,
                            fmt::format("node {} can only evict pods with spec.nodeName set to itself", *node));
  }
  return check_pod(*node, request, old, now);
}

}  // namespace gangway::apiserver
