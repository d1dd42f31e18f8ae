#include "apiserver/auth/rights.h"

#include <algorithm>
#include <tuple>

namespace gangway::apiserver {
namespace {

// Some of the held rules, by their places.
class RuleSet {
 public:
  explicit RuleSet(std::size_t rules) : in_(rules, false) {}

  void add(std::size_t rule) { in_[rule] = true; }
  void keep_common(const RuleSet& other) {
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = in_[i] && other.in_[i];
  }
  bool meets(const RuleSet& other) const {
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (in_[i] && other.in_[i]) return true;
    }
    return false;
  }

 private:
  std::vector<bool> in_;
};

bool lists(const std::vector<std::string>& values, std::string_view wanted) {
  return std::any_of(values.begin(), values.end(), [&](const auto& value) { return value == wanted; });
}

// "*" is every value.
bool lists_or_all(const std::vector<std::string>& values, std::string_view wanted) {
  return lists(values, wanted) || lists(values, "*");
}

// "*/scale" is that subresource of every resource.
bool gives_resource(const PolicyRule& rule, std::string_view wanted) {
  if (lists_or_all(rule.resources, wanted)) return true;
  auto slash = wanted.find('/');
  return slash != std::string_view::npos && lists(rule.resources, "*" + std::string(wanted.substr(slash)));
}

// A name is given by rules that list it and by those that list none; no name, which means all, by the latter only.
bool gives_name(const PolicyRule& rule, std::string_view wanted) {
  return rule.resource_names.empty() || (!wanted.empty() && lists(rule.resource_names, wanted));
}

// "/api/*" is every path that begins so.
bool gives_url(const PolicyRule& rule, std::string_view wanted) {
  return std::any_of(rule.non_resource_urls.begin(), rule.non_resource_urls.end(), [&](std::string_view url) {
    if (url == wanted) return true;
    auto prefix = url.substr(0, url.find_last_not_of('*') + 1);
    return prefix.size() < url.size() && wanted.starts_with(prefix);
  });
}

// For each of `values`, the held rules for which `gives` is true.
template <class Gives>
std::vector<RuleSet> sets_of(const HeldRules& held, const std::vector<std::string>& values, const Gives& gives) {
  std::vector<RuleSet> sets;
  for (const auto& value : values) {
    auto& set = sets.emplace_back(held.size());
    for (std::size_t i = 0; i < held.size(); ++i) {
      if (gives(*held[i], value)) set.add(i);
    }
  }
  return sets;
}

const std::vector<std::string>& names_of(const PolicyRule& rule) {
  static const std::vector<std::string> any = {""};
  return rule.resource_names.empty() ? any : rule.resource_names;
}

// The held rules behind each part of one wanted rule.
struct Parts {
  Parts(const HeldRules& held, const PolicyRule& wanted)
      : verbs(sets_of(held, wanted.verbs, [](const auto& rule, const auto& v) { return lists_or_all(rule.verbs, v); })),
        groups(sets_of(held, wanted.api_groups,
                       [](const auto& rule, const auto& v) { return lists_or_all(rule.api_groups, v); })),
        resources(sets_of(held, wanted.resources, gives_resource)),
        names(sets_of(held, names_of(wanted), gives_name)),
        urls(sets_of(held, wanted.non_resource_urls, gives_url)) {}

  std::vector<RuleSet> verbs, groups, resources, names, urls;
};

using Place = std::tuple<std::string, std::string, std::string>;  // group, resource, name
using Missing = std::map<Place, std::vector<std::string>>;        // the verbs

void note(Missing& missing, const Place& place, const std::string& verb) {
  auto& verbs = missing[place];
  if (!lists(verbs, verb)) verbs.push_back(verb);
}

void add_missing_of_resources(const Parts& parts, const PolicyRule& wanted, Missing& missing) {
  for (std::size_t g = 0; g < parts.groups.size(); ++g) {
    for (std::size_t r = 0; r < parts.resources.size(); ++r) {
      auto of_resource = parts.groups[g];
      of_resource.keep_common(parts.resources[r]);
      for (std::size_t n = 0; n < parts.names.size(); ++n) {
        auto of_object = of_resource;
        of_object.keep_common(parts.names[n]);
        Place place{wanted.api_groups[g], wanted.resources[r], names_of(wanted)[n]};
        for (std::size_t v = 0; v < parts.verbs.size(); ++v) {
          if (!of_object.meets(parts.verbs[v])) note(missing, place, wanted.verbs[v]);
        }
      }
    }
  }
}

void add_missing_of_urls(const Parts& parts, const PolicyRule& wanted, std::vector<PolicyRule>& missing) {
  for (std::size_t u = 0; u < parts.urls.size(); ++u) {
    for (std::size_t v = 0; v < parts.verbs.size(); ++v) {
      if (parts.urls[u].meets(parts.verbs[v])) continue;
      missing.push_back({.verbs = {wanted.verbs[v]},
                         .api_groups = {},
                         .resources = {},
                         .resource_names = {},
                         .non_resource_urls = {wanted.non_resource_urls[u]}});
    }
  }
}

}  // namespace

bool one_rule_gives(const HeldRules& held, const PolicyRule& wanted) {
  Parts parts(held, wanted);
  RuleSet common(held.size());
  for (std::size_t i = 0; i < held.size(); ++i) common.add(i);
  auto all = common;
  auto narrow = [&](const std::vector<RuleSet>& sets) {
    for (const auto& set : sets) common.keep_common(set);
  };
  narrow(parts.verbs);
  narrow(parts.urls);
  if (!wanted.resources.empty()) {
    narrow(parts.groups);
    narrow(parts.resources);
    narrow(parts.names);
  }
  return common.meets(all);
}

std::vector<PolicyRule> uncovered(const HeldRules& held, const std::vector<PolicyRule>& wanted) {
  Missing of_resources;
  std::vector<PolicyRule> missing;
  for (const auto& rule : wanted) {
    Parts parts(held, rule);
    add_missing_of_resources(parts, rule, of_resources);
    add_missing_of_urls(parts, rule, missing);
  }
  for (auto& [place, verbs] : of_resources) {
    const auto& [group, resource, name] = place;
    PolicyRule rule{.verbs = std::move(verbs),
                    .api_groups = {group},
                    .resources = {resource},
                    .resource_names = {},
                    .non_resource_urls = {}};
    if (!name.empty()) rule.resource_names = {name};
    missing.push_back(std::move(rule));
  }
  return missing;
}

}  // namespace gangway::apiserver
