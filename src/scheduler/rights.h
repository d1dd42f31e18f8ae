// Rights: what a process must be allowed to do, as RBAC manifests state it, one by one. Pure.
//
// The manifest that is installed is also what is asked for: there is no second list that could differ from it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace gangway::scheduler {

struct Right {
  std::string verb;
  std::string group;
  std::string resource;     // "pods"
  std::string subresource;  // "status", or nothing
  std::string ns;           // empty: everywhere
  std::string name;         // empty: any object
  auto operator<=>(const Right&) const = default;
};

// Every right that the rules of all ClusterRoles and Roles in the manifest give. Those of Roles are for `ns`: an
// administrator may install them elsewhere than the manifest says.
Result<std::vector<Right>> rights_of(std::string_view manifest, const std::string& ns);

// What it is a right to, without the verb: "pods/status", "leases.coordination.k8s.io gangway-scheduler in kube-system"
std::string object_of(const Right& right);

// The body of a SelfSubjectAccessReview that asks for it.
json::Value review_of(const Right& right);

}  // namespace gangway::scheduler
