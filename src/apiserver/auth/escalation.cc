#include "apiserver/auth/escalation.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/quote.h"

namespace gangway::apiserver {
namespace {

// A rule is as many rights as the product of its lists. Nobody writes more than this by hand, and a few kilobytes could
// ask for billions.
constexpr std::size_t kMostRights = 100'000;

double number_of_rights(const std::vector<PolicyRule>& rules) {
  double rights = 0;
  for (const auto& rule : rules) {
    auto names = std::max<std::size_t>(rule.resource_names.size(), 1);
    rights += static_cast<double>(rule.verbs.size()) *
              (static_cast<double>(rule.api_groups.size()) * static_cast<double>(rule.resources.size()) *
                   static_cast<double>(names) +
               static_cast<double>(rule.non_resource_urls.size()));
  }
  return rights;
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
std::string missing_rights(const RbacPolicy& policy, const Attributes& request, std::vector<PolicyRule> wanted) {
  auto held = policy.rules_for(request.user, request.ns);
  std::erase_if(wanted, [&](const PolicyRule& rule) { return one_rule_gives(held, rule); });
  if (number_of_rights(wanted) > kMostRights) {
    return fmt::format(
        "the rules grant more than {} rights, too many to compare with those of user {}; use fewer rules", kMostRights,
        quoted(request.user.name));
  }
  auto missing = uncovered(held, wanted);
  if (missing.empty()) return {};
  std::set<std::string> texts;
  for (const auto& rule : missing) texts.insert(rule_text(rule));
  return fmt::format("user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
                     quoted(request.user.name), list_text(request.user.groups), fmt::join(texts, "\n"));
}

// Every verb on everything there is or will be, URLs included.
bool holds_everything(const HeldRules& held) {
  auto all = [](const std::vector<std::string>& list) {
    return std::find(list.begin(), list.end(), "*") != list.end();
  };
  bool objects = std::any_of(held.begin(), held.end(), [&](const PolicyRule* rule) {
    return all(rule->verbs) && all(rule->api_groups) && all(rule->resources) && rule->resource_names.empty();
  });
  return objects && std::any_of(held.begin(), held.end(), [&](const PolicyRule* rule) {
           return all(rule->verbs) && all(rule->non_resource_urls);
         });
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

// Whether the user may hand out more than they hold, with `verb` on the role.
bool may_exceed(const RbacPolicy& policy, const Attributes& request, std::string verb, std::string resource,
                std::string name) {
  if (request.user.in_group(kMastersGroup)) return true;
  auto question = request;
  question.verb = std::move(verb);
  question.group = kRbacGroup;
  question.resource = std::move(resource);
  question.subresource.clear();
  question.name = std::move(name);
  return policy.authorize(question).allowed;
}

Error refused(const Attributes& request, const json::Value& object, std::string_view why) {
  return forbidden_object(kRbacGroup, request.resource, json::string_at(object, {"metadata", "name"}), why);
}

}  // namespace

Result<void> check_role_write(const RbacPolicy& policy, const Attributes& request, const json::Value* old,
                              const json::Value& now) {
  if (only_frees(old, now) || may_exceed(policy, request, "escalate", request.resource, request.name)) return {};
  if (auto why = missing_rights(policy, request, read_rules(now)); !why.empty()) return refused(request, now, why);
  // An aggregation rule can gather anything, so only who may do everything may write one.
  bool gathers = has_aggregation_rule(now) || (old != nullptr && has_aggregation_rule(*old));
  if (!gathers || holds_everything(policy.rules_for(request.user, request.ns))) return {};
  return refused(request, now, "must have cluster-admin privileges to use the aggregationRule");
}

Result<void> check_binding_write(const RbacPolicy& policy, const Attributes& request, const json::Value* old,
                                 const json::Value& now) {
  auto binding = read_role_binding(now);
  auto roles = binding.role.kind == "Role" ? "roles" : "clusterroles";
  if (only_frees(old, now) || may_exceed(policy, request, "bind", roles, binding.role.name)) return {};
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
