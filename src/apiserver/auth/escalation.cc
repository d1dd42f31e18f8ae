#include "apiserver/auth/escalation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/quote.h"

namespace gangway::apiserver {
namespace {

bool has(const std::vector<std::string>& list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool has_or_all(const std::vector<std::string>& list, std::string_view value) {
  return has(list, "*") || has(list, value);
}

bool url_covers(std::string_view held, std::string_view wanted) {
  if (held == wanted) return true;
  if (!held.ends_with('*')) return false;
  while (held.ends_with('*')) held.remove_suffix(1);
  return wanted.starts_with(held);
}

bool resource_covers(const PolicyRule& held, std::string_view wanted) {
  if (has_or_all(held.resources, wanted)) return true;
  auto slash = wanted.find('/');
  return slash != std::string_view::npos && has(held.resources, "*" + std::string(wanted.substr(slash)));
}

// Requires: `wanted` has at most one of everything, as the rules of break_down have.
bool covers(const PolicyRule& held, const PolicyRule& wanted) {
  if (!has_or_all(held.verbs, wanted.verbs.front())) return false;
  if (!wanted.non_resource_urls.empty()) {
    return std::any_of(held.non_resource_urls.begin(), held.non_resource_urls.end(),
                       [&](const auto& url) { return url_covers(url, wanted.non_resource_urls.front()); });
  }
  if (!has_or_all(held.api_groups, wanted.api_groups.front())) return false;
  if (!resource_covers(held, wanted.resources.front())) return false;
  if (held.resource_names.empty()) return true;
  return !wanted.resource_names.empty() && has(held.resource_names, wanted.resource_names.front());
}

void break_down(const PolicyRule& rule, std::vector<PolicyRule>& out) {
  static const std::vector<std::string> kAnyName = {""};
  const auto& names = rule.resource_names.empty() ? kAnyName : rule.resource_names;
  for (const auto& group : rule.api_groups) {
    for (const auto& resource : rule.resources) {
      for (const auto& verb : rule.verbs) {
        for (const auto& name : names) {
          PolicyRule part{.verbs = {verb},
                          .api_groups = {group},
                          .resources = {resource},
                          .resource_names = {},
                          .non_resource_urls = {}};
          if (!rule.resource_names.empty()) part.resource_names = {name};
          out.push_back(std::move(part));
        }
      }
    }
  }
  for (const auto& url : rule.non_resource_urls) {
    for (const auto& verb : rule.verbs) {
      out.push_back(
          {.verbs = {verb}, .api_groups = {}, .resources = {}, .resource_names = {}, .non_resource_urls = {url}});
    }
  }
}

// Rules that differ in their verb only become one again, for the message.
std::vector<PolicyRule> with_verbs_joined(const std::vector<PolicyRule>& rules) {
  std::vector<PolicyRule> joined;
  for (const auto& rule : rules) {
    auto same = std::find_if(joined.begin(), joined.end(), [&](const PolicyRule& other) {
      return rule.non_resource_urls.empty() && rule.api_groups == other.api_groups &&
             rule.resources == other.resources && rule.resource_names == other.resource_names;
    });
    if (same == joined.end()) {
      joined.push_back(rule);
    } else {
      same->verbs.insert(same->verbs.end(), rule.verbs.begin(), rule.verbs.end());
    }
  }
  return joined;
}

std::string list_text(const std::vector<std::string>& list) {
  std::string text = "[";
  for (const auto& item : list) text += (text.size() > 1 ? " " : "") + quoted(item);
  return text + "]";
}

std::string rule_text(const PolicyRule& rule) {
  std::vector<std::string> parts;
  auto add = [&](std::string_view name, const std::vector<std::string>& list) {
    if (!list.empty()) parts.push_back(fmt::format("{}:{}", name, list_text(list)));
  };
  add("APIGroups", rule.api_groups);
  add("Resources", rule.resources);
  add("NonResourceURLs", rule.non_resource_urls);
  add("ResourceNames", rule.resource_names);
  add("Verbs", rule.verbs);
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

// Why the user may not hand out `wanted`; empty when they may.
std::string missing_rights(const RbacPolicy& policy, const Attributes& request, const std::vector<PolicyRule>& wanted) {
  auto missing = uncovered(policy.rules_for(request.user, request.ns), wanted);
  if (missing.empty()) return {};
  std::set<std::string> texts;
  for (const auto& rule : with_verbs_joined(missing)) texts.insert(rule_text(rule));
  return fmt::format("user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
                     quoted(request.user.name), list_text(request.user.groups), fmt::join(texts, "\n"));
}

const std::vector<PolicyRule>& full_authority() {
  static const std::vector<PolicyRule> kRules = {
      {.verbs = {"*"}, .api_groups = {"*"}, .resources = {"*"}, .resource_names = {}, .non_resource_urls = {}},
      {.verbs = {"*"}, .api_groups = {}, .resources = {}, .resource_names = {}, .non_resource_urls = {"*"}},
  };
  return kRules;
}

bool has_aggregation_rule(const json::Value& role) {
  const auto* selectors = json::find(role, {"aggregationRule", "clusterRoleSelectors"});
  return selectors != nullptr && selectors->is_array() && !selectors->get_array().empty();
}

// The garbage collector must be able to let go of an object whose rights it does not hold.
bool only_frees(const json::Value* old, const json::Value& now) {
  if (old == nullptr) return false;
  auto without_owners = [](json::Value value) {
    auto& metadata = json::object_at(value, {"metadata"});
    for (const char* key : {"ownerReferences", "finalizers", "managedFields", "resourceVersion"}) metadata.erase(key);
    return value;
  };
  return without_owners(*old) == without_owners(now);
}

Error refused(const Attributes& request, const json::Value& object, std::string_view why) {
  return forbidden_object(kRbacGroup, request.resource, json::string_at(object, {"metadata", "name"}), why);
}

}  // namespace

std::vector<PolicyRule> uncovered(const std::vector<const PolicyRule*>& held, const std::vector<PolicyRule>& wanted) {
  std::vector<PolicyRule> parts;
  for (const auto& rule : wanted) break_down(rule, parts);
  std::erase_if(parts, [&](const PolicyRule& part) {
    return std::any_of(held.begin(), held.end(), [&](const PolicyRule* rule) { return covers(*rule, part); });
  });
  return parts;
}

Result<void> check_role_write(const RbacPolicy& policy, const Attributes& request, const json::Value* old,
                              const json::Value& now) {
  if (request.user.in_group(kMastersGroup)) return {};
  auto escalate = request;
  escalate.verb = "escalate";
  escalate.subresource.clear();
  if (policy.authorize(escalate).allowed || only_frees(old, now)) return {};
  if (auto why = missing_rights(policy, request, read_rules(now)); !why.empty()) return refused(request, now, why);
  // An aggregation rule can gather anything, so only who may do everything may write one.
  if (has_aggregation_rule(now) || (old != nullptr && has_aggregation_rule(*old))) {
    if (!uncovered(policy.rules_for(request.user, request.ns), full_authority()).empty()) {
      return refused(request, now, "must have cluster-admin privileges to use the aggregationRule");
    }
  }
  return {};
}

Result<void> check_binding_write(const RbacPolicy& policy, const Attributes& request, const json::Value* old,
                                 const json::Value& now) {
  if (request.user.in_group(kMastersGroup) || only_frees(old, now)) return {};
  auto binding = read_role_binding(now);
  auto bind = request;
  bind.verb = "bind";
  bind.group = kRbacGroup;
  bind.resource = binding.role.kind == "Role" ? "roles" : "clusterroles";
  bind.subresource.clear();
  bind.name = binding.role.name;
  if (policy.authorize(bind).allowed) return {};
  const auto* role = policy.find_role(binding.role, request.ns);
  if (role == nullptr) {
    return Error{
        .reason = Reason::kNotFound,
        .message = fmt::format("{}.{} {} not found", request.resource, kRbacGroup, quoted(binding.role.name)),
        .subject = {.group = std::string(kRbacGroup), .kind = request.resource, .name = binding.role.name, .uid = {}},
        .causes = {}};
  }
  if (auto why = missing_rights(policy, request, role->rules); !why.empty()) return refused(request, now, why);
  return {};
}

}  // namespace gangway::apiserver
