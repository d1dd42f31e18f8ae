// Role, ClusterRole, RoleBinding and ClusterRoleBinding.
#include <fmt/format.h>

#include "apiserver/auth/escalation.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/registry.h"
#include "apiserver/strategies/labels.h"
#include "apiserver/strategies/review.h"
#include "apiserver/strategies/strategies.h"
#include "base/names.h"
#include "base/quote.h"

namespace gangway::apiserver {
namespace {

using Check = Result<void> (*)(const RbacPolicy&, const Attributes&, const json::Value*, const json::Value&);

Result<void> admit(Review& review, Check check) {
  if (review.operation == Operation::kDelete) return {};
  Attributes request;
  request.user = review.facts.user;
  request.verb = review.operation == Operation::kCreate ? "create" : "update";
  request.is_resource = true;
  request.group = review.kind.group;
  request.version = "v1";
  request.resource = review.kind.plural;
  request.ns = json::string_at(review.object, {"metadata", "namespace"});
  request.name = json::string_at(review.object, {"metadata", "name"});
  if (review.facts.policy) return check(*review.facts.policy, request, review.old, review.object);
  return check(*RbacPolicy::of(review.facts.state), request, review.old, review.object);
}

Result<void> admit_role(Review& review) {
  return admit(review, check_role_write);
}
Result<void> admit_binding(Review& review) {
  return admit(review, check_binding_write);
}

void check_rule(const Field& rule, bool namespaced) {
  if (rule["verbs"].empty()) rule["verbs"].required("verbs must contain at least one value");
  auto urls = rule["nonResourceURLs"];
  if (!urls.empty()) {
    if (namespaced) urls.invalid("namespaced rules cannot apply to non-resource URLs");
    if (!rule["apiGroups"].empty() || !rule["resources"].empty() || !rule["resourceNames"].empty()) {
      urls.invalid("rules cannot apply to both regular resources and non-resource URLs");
    }
    return;
  }
  if (rule["apiGroups"].empty()) rule["apiGroups"].required("resource rules must supply at least one api group");
  if (rule["resources"].empty()) rule["resources"].required("resource rules must supply at least one resource");
}

void validate_role(Review& review) {
  auto object = new_object(review);
  for (const auto& rule : object["rules"].items()) check_rule(rule, review.kind.namespaced);
  auto aggregation = object["aggregationRule"];
  if (!aggregation) return;
  auto selectors = aggregation["clusterRoleSelectors"];
  if (selectors.empty()) selectors.required("at least one clusterRoleSelector required if aggregationRule is non-nil");
  for (const auto& selector : selectors.items()) check_selector(selector);
}

void check_subject(const Field& subject, bool namespaced) {
  auto name = subject["name"];
  if (name.empty()) name.required();
  auto kind = subject["kind"].text();
  auto group = subject["apiGroup"];
  if (kind == "ServiceAccount") {
    if (!name.empty()) name.invalid_each(names::check_dns1123_subdomain(name.text()));
    if (!group.empty()) group.not_supported({""});
    if (!namespaced && subject["namespace"].empty()) subject["namespace"].required();
  } else if (kind == "User" || kind == "Group") {
    if (group.text() != kRbacGroup) group.not_supported({kRbacGroup});
  } else {
    subject["kind"].not_supported({"ServiceAccount", "User", "Group"});
  }
}

void add_binding_defaults(json::Value& object) {
  auto* subjects = json::find(object, {"subjects"});
  if (!subjects || !subjects->is_array()) return;
  for (auto& subject : subjects->get_array()) {
    auto kind = json::string_at(subject, {"kind"});
    if ((kind == "User" || kind == "Group") && json::string_at(subject, {"apiGroup"}).empty()) {
      subject.as_object()["apiGroup"] = kRbacGroup;
    }
  }
}

void validate_binding(Review& review) {
  auto object = new_object(review);
  auto role = object["roleRef"];
  bool namespaced = review.kind.namespaced;
  if (role["apiGroup"].text() != kRbacGroup) role["apiGroup"].not_supported({kRbacGroup});
  auto kind = role["kind"].text();
  if (namespaced && kind != "Role" && kind != "ClusterRole") role["kind"].not_supported({"Role", "ClusterRole"});
  if (!namespaced && kind != "ClusterRole") role["kind"].not_supported({"ClusterRole"});
  if (role["name"].empty()) {
    role["name"].required();
  } else {
    role["name"].invalid_each(names::check_path_segment(role["name"].text()));
  }
  for (const auto& subject : object["subjects"].items()) check_subject(subject, namespaced);
  if (review.old && !role.same_as(old_object(review)["roleRef"])) {
    role.refuse("FieldValueInvalid",
                fmt::format("Invalid value: rbac.RoleRef{{APIGroup:{}, Kind:{}, Name:{}}}: cannot change roleRef",
                            quoted(role["apiGroup"].text()), quoted(kind), quoted(role["name"].text())));
  }
}

}  // namespace

const Strategy& role_strategy() {
  static const Strategy strategy{.admit = admit_role,
                                 .validate = validate_role,
                                 .create_on_update = true,
                                 .check_name = names::check_path_segment};
  return strategy;
}

const Strategy& role_binding_strategy() {
  static const Strategy strategy{.add_defaults = add_binding_defaults,
                                 .admit = admit_binding,
                                 .validate = validate_binding,
                                 .create_on_update = true,
                                 .check_name = names::check_path_segment};
  return strategy;
}

}  // namespace gangway::apiserver
