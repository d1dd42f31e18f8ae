// RbacPolicy: who may do what, from Roles and bindings. Immutable; one is made whenever one of them changes.
//
// A question costs a look-up for the user and for each group, and then only the rules that were granted to one of them.
// system:masters may do everything, whatever the roles say. Pure; usable from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/object.h"
#include "apiserver/auth/attributes.h"
#include "json/value.h"
#include "store/store.h"

namespace gangway::apiserver {

inline constexpr std::string_view kRbacGroup = "rbac.authorization.k8s.io";

struct PolicyRule {
  std::vector<std::string> verbs;
  std::vector<std::string> api_groups;
  std::vector<std::string> resources;
  std::vector<std::string> resource_names;
  std::vector<std::string> non_resource_urls;

  bool operator==(const PolicyRule&) const = default;
  bool allows(const Attributes& attributes) const;
};
std::vector<PolicyRule> read_rules(const json::Value& role);
json::Value to_json(const PolicyRule& rule);

struct Role {
  api::ObjectName name;  // a ClusterRole's ns is empty
  std::vector<PolicyRule> rules;
};

struct RoleRef {
  std::string kind;  // "Role" or "ClusterRole"
  std::string name;
};

struct RoleBinding {
  api::ObjectName name;  // a ClusterRoleBinding's ns is empty
  RoleRef role;
  std::vector<std::string> users;  // service accounts by their user names
  std::vector<std::string> groups;
};
Role read_role(const json::Value& object);
RoleBinding read_role_binding(const json::Value& object);

class RbacPolicy {
 public:
  RbacPolicy(std::vector<Role> roles, const std::vector<RoleBinding>& bindings);
  RbacPolicy(const RbacPolicy&) = delete;
  RbacPolicy& operator=(const RbacPolicy&) = delete;
  // The policy of all roles and bindings in `root`.
  static std::shared_ptr<const RbacPolicy> of(const store::Root& root);

  Decision authorize(const Attributes& attributes) const;

  // The rules that hold for the user in the namespace ("": cluster-wide ones only). Without the rights of
  // system:masters.
  std::vector<const PolicyRule*> rules_for(const UserInfo& user, std::string_view ns) const;
  // The rules of a role that a binding in `ns` refers to; null when there is no such role.
  const Role* find_role(const RoleRef& ref, std::string_view ns) const;

 private:
  struct Grant {
    const Role* role;    // null: the binding names one that does not exist
    std::string reason;  // made here once, since every request that it allows carries it; or what is missing
  };
  // What one subject was granted. Cluster-wide first, since those are asked for every request.
  struct Grants {
    std::vector<Grant> cluster;
    std::map<std::string, std::vector<Grant>, std::less<>> by_namespace;
  };
  using Index = std::unordered_map<std::string, Grants>;

  // Calls `visit(grant)` for each grant until it returns true.
  template <class Visit>
  bool visit_grants(const UserInfo& user, std::string_view ns, Visit visit) const;

  std::map<api::ObjectName, Role> roles_;
  Index users_;
  Index groups_;
};

// Restricted classes (annotated or labelled gangway.dev/restricted: "true") need the verb `use` of those who make pods
// of them.
inline constexpr std::string_view kRestrictedPriority = "gangway.dev/restricted";
bool is_restricted_priority_class(const json::Value& priority_class);

}  // namespace gangway::apiserver
