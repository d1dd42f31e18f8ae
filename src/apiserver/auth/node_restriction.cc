#include "apiserver/auth/node_restriction.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"

namespace gangway::apiserver {
namespace {

constexpr std::string_view kLeaseNamespace = "kube-node-lease";
constexpr std::string_view kLeaseGroup = "coordination.k8s.io";

// What makes a request one about the node's own things.
enum class Tie : std::uint8_t {
  kUsed,      // a pod on the node uses the object
  kItself,    // the object is the node
  kOnIt,      // the object is a pod on the node
  kSelected,  // the selector names the node
  kLease,     // the object is the node's lease
  kNewLease,  // it will be a lease of nodes; whose it is shows when it is written
  kWritten,   // all of it shows when it is written
};

struct NodeRight {
  std::string_view group;
  std::string_view resource;
  std::string_view subresource;
  std::string_view verbs;  // with spaces between
  Tie tie;
  Used used = Used::kSecret;  // with Tie::kUsed: as what
};

// All that depends on which node asks. Of a resource that is named here nodes have no rights besides.
constexpr NodeRight kRights[] = {
    {"", "nodes", "", "get list watch", Tie::kItself},
    {"", "nodes", "", "create update patch", Tie::kWritten},
    {"", "nodes", "status", "update patch", Tie::kWritten},
    {kLeaseGroup, "leases", "", "get update patch delete", Tie::kLease},
    {kLeaseGroup, "leases", "", "create", Tie::kNewLease},
    {"", "pods", "", "get list watch", Tie::kOnIt},
    {"", "pods", "", "list watch", Tie::kSelected},
    {"", "pods", "", "create delete", Tie::kWritten},
    {"", "pods", "status", "update patch", Tie::kWritten},
    {"", "pods", "eviction", "create", Tie::kWritten},
    {"", "secrets", "", "get list watch", Tie::kUsed, Used::kSecret},
    {"", "configmaps", "", "get list watch", Tie::kUsed, Used::kConfigMap},
    {"", "persistentvolumeclaims", "", "get", Tie::kUsed, Used::kClaim},
    {"", "persistentvolumeclaims", "status", "update patch", Tie::kUsed, Used::kClaim},
    {"", "persistentvolumes", "", "get", Tie::kUsed, Used::kVolume},
    {"", "serviceaccounts", "token", "create", Tie::kUsed, Used::kServiceAccount},
};

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    auto end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

// Empty when the tie holds, else what is missing.
std::string broken(const NodeRight& right, const std::string& node, const Attributes& request, const NodeFacts& facts) {
  auto unless = [](bool holds, std::string why) { return holds ? std::string() : std::move(why); };
  switch (right.tie) {
    case Tie::kUsed:
      return unless(!request.name.empty() && facts.uses(node, right.used, {request.ns, request.name}),
                    fmt::format("no pod on node {} uses this object", quoted(node)));
    case Tie::kItself:
      return unless(request.name == node, fmt::format("node {} may read its own Node only", quoted(node)));
    case Tie::kOnIt:
      return unless(!request.name.empty() && facts.pod_is_on(node, {request.ns, request.name}),
                    fmt::format("the pod is not on node {}", quoted(node)));
    case Tie::kSelected:
      return unless(request.selected_node == node,
                    "nodes list and watch pods with the field selector spec.nodeName=<their name>");
    case Tie::kLease:
      return unless(request.ns == kLeaseNamespace && request.name == node,
                    fmt::format("a node's lease has the node's name, in namespace {}", quoted(kLeaseNamespace)));
    case Tie::kNewLease:
      return unless(request.ns == kLeaseNamespace,
                    fmt::format("the leases of nodes are in namespace {}", quoted(kLeaseNamespace)));
    case Tie::kWritten:
      break;
  }
  return {};
}

// None where all nodes are alike.
std::optional<Decision> authorize_by_tie(const std::string& node, const Attributes& request, const NodeFacts& facts) {
  if (!request.is_resource) return std::nullopt;
  bool divided = false;
  std::string reason = fmt::format("nodes may not {} such objects", request.verb);
  for (const auto& right : kRights) {
    if (right.group != request.group || right.resource != request.resource) continue;
    divided = true;
    if (right.subresource != request.subresource || !has_word(right.verbs, request.verb)) continue;
    auto why = broken(right, node, request, facts);
    if (why.empty()) return Decision{.allowed = true, .reason = {}};
    reason = std::move(why);
  }
  if (!divided) return std::nullopt;
  return Decision{.allowed = false, .reason = std::move(reason)};
}

struct NodeWrite {
  const std::string& node;
  const Attributes& request;
  const json::Value* old;
  const json::Value* now;
  const NodeFacts& facts;

  // In the path, or in the body of a create.
  std::string_view name() const {
    if (!request.name.empty() || now == nullptr) return request.name;
    return json::string_at(*now, {"metadata", "name"});
  }
  bool keeps(std::initializer_list<std::string_view> path) const {
    if (old == nullptr || now == nullptr) return true;
    const auto* before = json::find(*old, path);
    const auto* after = json::find(*now, path);
    return before == nullptr || after == nullptr ? before == after : *before == *after;
  }
};

// A law returns why it forbids the write, or nothing.
using Law = std::string (*)(const NodeWrite&);

std::string is_of_the_node(const NodeWrite& write) {
  if (write.name() == write.node) return {};
  return fmt::format("node {} may write what bears its own name, not {}", quoted(write.node), quoted(write.name()));
}

// Taints keep pods away that the node would like to have; an owner could be made to take the node down with it.
std::string taints_and_owners_stay(const NodeWrite& write) {
  if (!write.keeps({"spec", "taints"})) return fmt::format("node {} may not change its taints", quoted(write.node));
  if (write.keeps({"metadata", "ownerReferences"})) return {};
  return fmt::format("node {} may not change its ownerReferences", quoted(write.node));
}

std::string pod_is_here(const NodeWrite& write) {
  if (write.facts.pod_is_on(write.node, {write.request.ns, write.request.name})) return {};
  return fmt::format("the pod is not on node {}, which has a say in its own pods only", quoted(write.node));
}

// Services and controllers choose pods by their labels.
std::string labels_stay(const NodeWrite& write) {
  if (write.keeps({"metadata", "labels"})) return {};
  return fmt::format("node {} may write the status of a pod, not its labels", quoted(write.node));
}

// Whoever could make or change pods could run anything as anyone.
std::string only_reports_and_removes(const NodeWrite& write) {
  const auto& verb = write.request.verb;
  const auto& part = write.request.subresource;
  if (part == "status" || part == "eviction" || (part.empty() && verb == "delete")) return {};
  return fmt::format("node {} cannot write pods", quoted(write.node));
}

std::string token_is_for_a_pod_here(const NodeWrite& write) {
  auto bound = [&](std::string_view field) {
    return write.now ? json::string_at(*write.now, {"spec", "boundObjectRef", field}) : std::string_view();
  };
  if (bound("kind") != "Pod" || bound("uid").empty()) {
    return "a node's tokens are bound to its pods: spec.boundObjectRef must name one, with its uid";
  }
  if (write.facts.pod_is_on(write.node, {write.request.ns, std::string(bound("name"))})) return {};
  return "the pod that the token would be bound to is on another node";
}

constexpr struct {
  std::string_view group;
  std::string_view resource;
  std::string_view subresource;  // "*": with any or none
  Law law;
} kLaws[] = {
    {"", "nodes", "*", is_of_the_node},           {"", "nodes", "*", taints_and_owners_stay},
    {kLeaseGroup, "leases", "*", is_of_the_node}, {"", "serviceaccounts", "*", token_is_for_a_pod_here},
    {"", "pods", "*", only_reports_and_removes},  {"", "pods", "*", pod_is_here},
    {"", "pods", "status", labels_stay},
};

}  // namespace

std::optional<std::string> node_of(const UserInfo& user) {
  if (!user.name.starts_with(kNodeUserPrefix) || !user.in_group(kNodesGroup)) return std::nullopt;
  return user.name.substr(kNodeUserPrefix.size());
}

std::optional<Decision> authorize_node(const Attributes& request, const std::vector<PolicyRule>& rules,
                                       const NodeFacts& facts) {
  auto node = node_of(request.user);
  if (!node) return std::nullopt;
  if (node->empty())
    return Decision{.allowed = false, .reason = fmt::format("user {} is no node's name", quoted(request.user.name))};
  if (auto decision = authorize_by_tie(*node, request, facts)) return decision;
  bool allowed = std::any_of(rules.begin(), rules.end(), [&](const auto& rule) { return rule.allows(request); });
  return Decision{.allowed = allowed, .reason = {}};
}

Result<void> check_node_write(const Attributes& request, const json::Value* old, const json::Value* now,
                              const NodeFacts& facts) {
  auto node = node_of(request.user);
  if (!node) return {};
  NodeWrite write{*node, request, old, now, facts};
  for (const auto& [group, resource, subresource, law] : kLaws) {
    bool concerned = group == request.group && resource == request.resource &&
                     (subresource == "*" || subresource == request.subresource);
    if (!concerned) continue;
    if (auto why = law(write); !why.empty())
      return forbidden_object(request.group, request.resource, write.name(), why);
  }
  return {};
}

}  // namespace gangway::apiserver
