// Nobody gives away what they do not have: the rules for writing Roles and bindings.
//
// Whoever writes a role must hold every right in it, or have the verb `escalate` on it; whoever writes a binding must
// hold every right of its role, or have the verb `bind` on the role. Pure functions over an RbacPolicy.
#pragma once

#include "apiserver/auth/rights.h"
#include "base/result.h"

namespace gangway::apiserver {

// `request` is the write of a role or cluster role; `old` is null on create.
Result<void> check_role_write(const RbacPolicy& policy, const Attributes& request, const json::Value* old,
                              const json::Value& now);
// The same for bindings.
Result<void> check_binding_write(const RbacPolicy& policy, const Attributes& request, const json::Value* old,
                                 const json::Value& now);

}  // namespace gangway::apiserver
