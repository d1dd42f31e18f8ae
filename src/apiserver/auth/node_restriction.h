// What nodes may do: read what their own pods use, write what is theirs. Beyond that a node has no rights, so a machine
// that is taken over gives away only what runs on it.
//
// Pure functions over NodeFacts; usable from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/auth/attributes.h"
#include "apiserver/auth/rbac.h"
#include "base/result.h"
#include "json/value.h"
#include "store/store.h"

namespace gangway::apiserver {

// The name of the node that the user is; none for all others. A node is system:node:NAME in group system:nodes.
std::optional<std::string> node_of(const UserInfo& user);

// What pods use.
enum class Used : std::uint8_t { kSecret, kConfigMap, kClaim, kVolume, kServiceAccount };

class NodeFacts {
 public:
  virtual ~NodeFacts() = default;
  virtual bool pod_is_on(std::string_view node, const api::ObjectName& pod) const = 0;
  // Whether a pod on the node uses the object.
  virtual bool uses(std::string_view node, Used what, const api::ObjectName& object) const = 0;
};

// The facts as of one revision. A question costs a walk over the headers of a namespace's pods, and reads those that
// are on the node.
class StoreNodeFacts final : public NodeFacts {
 public:
  explicit StoreNodeFacts(const store::Root& state) : state_(state) {}
  bool pod_is_on(std::string_view node, const api::ObjectName& pod) const override;
  bool uses(std::string_view node, Used what, const api::ObjectName& object) const override;

 private:
  const store::Root& state_;
};

// None: the user is not a node, and others decide. `rules` are those that hold for all nodes alike (the role
// system:node).
std::optional<Decision> authorize_node(const Attributes& request, const std::vector<PolicyRule>& rules,
                                       const NodeFacts& facts);

// The second look, at what is written: a node writes its own Node, Lease and pods' status, and may not free itself of
// taints. `old` is null on create, `now` on delete; for tokens and evictions `now` is the request's body. Others than
// nodes pass.
Result<void> check_node_write(const Attributes& request, const json::Value* old, const json::Value* now,
                              const NodeFacts& facts);

}  // namespace gangway::apiserver
