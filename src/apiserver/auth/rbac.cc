#include "apiserver/auth/rbac.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"

namespace gangway::apiserver {
namespace {

std::string_view text_of(const json::Value& value) {
  if (!value.is_string()) return {};
  return {value.get_string().data(), value.get_string().size()};
}

std::vector<std::string> strings_at(const json::Value& object, std::string_view key) {
  std::vector<std::string> strings;
  const auto* list = json::find(object, {key});
  if (list == nullptr || !list->is_array()) return strings;
  strings.reserve(list->get_array().size());
  for (const auto& item : list->get_array()) strings.emplace_back(text_of(item));
  return strings;
}

bool contains(const std::vector<std::string>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool matches(const std::vector<std::string>& list, std::string_view value) {
  return std::any_of(list.begin(), list.end(), [&](const auto& item) { return item == "*" || item == value; });
}

// "pods/log" as its two parts, so that no request has to join them.
bool matches_resource(std::string_view rule, std::string_view resource, std::string_view subresource) {
  if (rule == "*") return true;
  if (subresource.empty()) return rule == resource;
  auto slash = rule.find('/');
  if (slash == std::string_view::npos || rule.substr(slash + 1) != subresource) return false;
  auto prefix = rule.substr(0, slash);
  return prefix == "*" || prefix == resource;
}

bool matches_url(std::string_view rule, std::string_view path) {
  if (rule == "*" || rule == path) return true;
  if (!rule.ends_with('*')) return false;
  rule.remove_suffix(rule.size() - 1 - std::min(rule.find_last_not_of('*'), rule.size() - 1));
  return path.starts_with(rule);
}

template <class Add>
void read_all(const store::Root& root, const char* resource, Add add) {
  for (const auto& version : root.objects(resource)) {
    if (auto object = json::parse(*version.json)) add(*object);
  }
}

std::string allowed_by(const RoleBinding& binding, std::string_view subject_kind, std::string_view subject) {
  auto where = binding.name.ns.empty()
                   ? fmt::format("ClusterRoleBinding {}", quoted(binding.name.name))
                   : fmt::format("RoleBinding {}", quoted(binding.name.name + "/" + binding.name.ns));
  std::string who(subject);
  if (subject.starts_with(kServiceAccountPrefix)) {
    auto ns_and_name = subject.substr(kServiceAccountPrefix.size());
    auto colon = std::min(ns_and_name.find(':'), ns_and_name.size() - 1);
    subject_kind = "ServiceAccount";
    who = std::string(ns_and_name.substr(colon + 1)).append("/").append(ns_and_name.substr(0, colon));
  }
  return fmt::format("RBAC: allowed by {} of {} {} to {} {}", where, binding.role.kind, quoted(binding.role.name),
                     subject_kind, quoted(who));
}

std::string not_there(const RoleRef& role) {
  return fmt::format("{}.rbac.authorization.k8s.io {} not found", role.kind == "Role" ? "role" : "clusterrole",
                     quoted(role.name));
}

}  // namespace

std::vector<PolicyRule> read_rules(const json::Value& role) {
  std::vector<PolicyRule> rules;
  const auto* list = json::find(role, {"rules"});
  if (list == nullptr || !list->is_array()) return rules;
  for (const auto& rule : list->get_array()) {
    rules.push_back({.verbs = strings_at(rule, "verbs"),
                     .api_groups = strings_at(rule, "apiGroups"),
                     .resources = strings_at(rule, "resources"),
                     .resource_names = strings_at(rule, "resourceNames"),
                     .non_resource_urls = strings_at(rule, "nonResourceURLs")});
  }
  return rules;
}

json::Value to_json(const PolicyRule& rule) {
  json::Object object;
  auto set = [&](const char* key, const std::vector<std::string>& list) {
    if (!list.empty()) object[key] = json::Array(list.begin(), list.end());
  };
  object["verbs"] = json::Array(rule.verbs.begin(), rule.verbs.end());
  set("apiGroups", rule.api_groups);
  set("resources", rule.resources);
  set("resourceNames", rule.resource_names);
  set("nonResourceURLs", rule.non_resource_urls);
  return object;
}

Role read_role(const json::Value& object) {
  return Role{.name = {std::string(json::string_at(object, {"metadata", "namespace"})),
                       std::string(json::string_at(object, {"metadata", "name"}))},
              .rules = read_rules(object)};
}

RoleBinding read_role_binding(const json::Value& object) {
  RoleBinding binding{.name = {std::string(json::string_at(object, {"metadata", "namespace"})),
                               std::string(json::string_at(object, {"metadata", "name"}))},
                      .role = {.kind = std::string(json::string_at(object, {"roleRef", "kind"})),
                               .name = std::string(json::string_at(object, {"roleRef", "name"}))},
                      .users = {},
                      .groups = {}};
  const auto* subjects = json::find(object, {"subjects"});
  if (subjects == nullptr || !subjects->is_array()) return binding;
  for (const auto& subject : subjects->get_array()) {
    auto kind = json::string_at(subject, {"kind"});
    auto name = json::string_at(subject, {"name"});
    if (kind == "User") binding.users.emplace_back(name);
    if (kind == "Group") binding.groups.emplace_back(name);
    if (kind == "ServiceAccount") {
      auto ns = json::string_at(subject, {"namespace"});
      binding.users.push_back(service_account_user(ns.empty() ? std::string_view(binding.name.ns) : ns, name));
    }
  }
  return binding;
}

bool PolicyRule::allows(const Attributes& a) const {
  if (!matches(verbs, a.verb)) return false;
  if (!a.is_resource) {
    return std::any_of(non_resource_urls.begin(), non_resource_urls.end(),
                       [&](const auto& url) { return matches_url(url, a.path); });
  }
  return matches(api_groups, a.group) &&
         std::any_of(resources.begin(), resources.end(),
                     [&](const auto& resource) { return matches_resource(resource, a.resource, a.subresource); }) &&
         (resource_names.empty() || contains(resource_names, a.name));
}

RbacPolicy::RbacPolicy(std::vector<Role> roles, const std::vector<RoleBinding>& bindings) {
  for (auto& role : roles) {
    auto name = role.name;
    roles_.insert_or_assign(std::move(name), std::move(role));
  }
  for (const auto& binding : bindings) {
    const auto* role = find_role(binding.role, binding.name.ns);
    auto add = [&](Index& index, std::string_view kind, const std::string& subject) {
      auto& grants = index[subject];
      auto& list = binding.name.ns.empty() ? grants.cluster : grants.by_namespace[binding.name.ns];
      list.push_back({.role = role, .reason = role ? allowed_by(binding, kind, subject) : not_there(binding.role)});
    };
    for (const auto& user : binding.users) add(users_, "User", user);
    for (const auto& group : binding.groups) add(groups_, "Group", group);
  }
}

std::shared_ptr<const RbacPolicy> RbacPolicy::of(const store::Root& root) {
  std::vector<Role> roles;
  std::vector<RoleBinding> bindings;
  auto add_role = [&](const json::Value& object) { roles.push_back(read_role(object)); };
  auto add_binding = [&](const json::Value& object) { bindings.push_back(read_role_binding(object)); };
  read_all(root, "clusterroles.rbac.authorization.k8s.io", add_role);
  read_all(root, "roles.rbac.authorization.k8s.io", add_role);
  read_all(root, "clusterrolebindings.rbac.authorization.k8s.io", add_binding);
  read_all(root, "rolebindings.rbac.authorization.k8s.io", add_binding);
  return std::make_shared<const RbacPolicy>(std::move(roles), bindings);
}

const Role* RbacPolicy::find_role(const RoleRef& ref, std::string_view ns) const {
  if (ref.kind == "Role" && ns.empty()) return nullptr;  // a ClusterRoleBinding cannot refer to a Role
  auto found = roles_.find({ref.kind == "Role" ? std::string(ns) : std::string(), ref.name});
  return found == roles_.end() ? nullptr : &found->second;
}

template <class Visit>
bool RbacPolicy::visit_grants(const UserInfo& user, std::string_view ns, Visit visit) const {
  auto visit_subject = [&](const Index& index, const std::string& subject) {
    auto found = index.find(subject);
    if (found == index.end()) return false;
    const auto& [cluster, by_namespace] = found->second;
    if (std::any_of(cluster.begin(), cluster.end(), visit)) return true;
    if (ns.empty()) return false;
    auto local = by_namespace.find(ns);
    return local != by_namespace.end() && std::any_of(local->second.begin(), local->second.end(), visit);
  };
  if (visit_subject(users_, user.name)) return true;
  return std::any_of(user.groups.begin(), user.groups.end(),
                     [&](const auto& group) { return visit_subject(groups_, group); });
}

Decision RbacPolicy::authorize(const Attributes& attributes) const {
  if (attributes.user.in_group(kMastersGroup)) return {.allowed = true, .reason = {}};
  Decision decision;
  std::vector<std::string_view> missing;
  auto ns = attributes.is_resource ? std::string_view(attributes.ns) : std::string_view();
  visit_grants(attributes.user, ns, [&](const Grant& grant) {
    if (!grant.role) {
      if (std::find(missing.begin(), missing.end(), grant.reason) == missing.end()) missing.push_back(grant.reason);
      return false;
    }
    bool allows = std::any_of(grant.role->rules.begin(), grant.role->rules.end(),
                              [&](const auto& rule) { return rule.allows(attributes); });
    if (allows) decision = {.allowed = true, .reason = grant.reason};
    return allows;
  });
  if (decision.allowed || missing.empty()) return decision;
  auto all = fmt::format("{}", fmt::join(missing, ", "));
  decision.reason = missing.size() == 1 ? fmt::format("RBAC: {}", all) : fmt::format("RBAC: [{}]", all);
  return decision;
}

std::vector<const PolicyRule*> RbacPolicy::rules_for(const UserInfo& user, std::string_view ns) const {
  std::vector<const PolicyRule*> rules;
  visit_grants(user, ns, [&](const Grant& grant) {
    if (!grant.role) return false;
    for (const auto& rule : grant.role->rules) rules.push_back(&rule);
    return false;
  });
  return rules;
}

bool is_restricted_priority_class(const json::Value& priority_class) {
  return json::string_at(priority_class, {"metadata", "annotations", kRestrictedPriority}) == "true" ||
         json::string_at(priority_class, {"metadata", "labels", kRestrictedPriority}) == "true";
}

}  // namespace gangway::apiserver
