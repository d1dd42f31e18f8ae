// Which rights some rules lack that others give: the arithmetic of "nobody gives away what they do not have".
//
// A right (one verb on one resource, say) is held when one held rule gives it. For each value that a wanted rule lists
// there is the set of held rules that include it; a right is held where the sets of its parts have a rule in common. So
// values are compared once each, and only sets once a right. Pure; usable from any thread.
#pragma once

#include "apiserver/auth/rbac.h"

namespace gangway::apiserver {

using HeldRules = std::vector<const PolicyRule*>;

// Whether a single held rule gives all of `wanted`.
bool one_rule_gives(const HeldRules& held, const PolicyRule& wanted);

// What no held rule gives of `wanted`: one rule for each group, resource and name with the verbs that are missing
// there, and one for each verb on a URL.
std::vector<PolicyRule> uncovered(const HeldRules& held, const std::vector<PolicyRule>& wanted);

}  // namespace gangway::apiserver
