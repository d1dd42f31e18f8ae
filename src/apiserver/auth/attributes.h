// Attributes: what is asked of the authorizers, and what they answer.
#pragma once

#include <string>
#include <string_view>

#include "apiserver/auth/user.h"
#include "base/error.h"

namespace gangway::apiserver {

struct Attributes {
  UserInfo user;
  std::string verb;
  bool is_resource = false;
  // Of a resource request:
  std::string group;
  std::string version;
  std::string resource;
  std::string subresource;
  std::string ns;
  std::string name;
  std::string selected_node;  // what a list's field selector wants spec.nodeName to be
  // Of a non-resource request:
  std::string path;
};

struct Decision {
  bool allowed = false;
  std::string reason;  // why, or why not, where there is something to say
};

// `pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default"`, and `: reason`.
Error forbidden(const Attributes& attributes, std::string_view reason = {});
// `roles.rbac.authorization.k8s.io "x" is forbidden: why`, for a refusal that is not about the verb.
Error forbidden_object(std::string_view group, std::string_view resource, std::string_view name, std::string_view why);

}  // namespace gangway::apiserver
