#include "controllers/cluster_role_aggregation.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "api/selector.h"
#include "client/resource.h"

namespace gangway::controllers {
namespace {

using client::Outcome;
using client::Patch;
using client::View;
using client::resources::kClusterRoles;

// Cheap enough for every role at every change of one; what it finds is parsed to be sure.
bool may_aggregate(const api::Version& role) {
  return role.json->find("\"aggregationRule\"") != std::string::npos;
}

std::vector<api::LabelSelector> selectors_of(const json::Value& role) {
  std::vector<api::LabelSelector> selectors;
  const json::Value* list = json::find(role, {"aggregationRule", "clusterRoleSelectors"});
  if (list == nullptr || !list->is_array()) return selectors;
  for (const json::Value& item : list->get_array())
    if (auto selector = api::read_label_selector(item)) selectors.push_back(std::move(*selector));
  return selectors;
}

json::Array rules_of(const json::Value& role) {
  const json::Value* rules = json::find(role, {"rules"});
  return rules != nullptr && rules->is_array() ? rules->get_array() : json::Array();
}

json::Array aggregate(const std::vector<api::LabelSelector>& selectors, const std::string& itself, const View& view) {
  json::Array all;
  std::set<std::string_view> taken_roles;
  for (const api::LabelSelector& selector : selectors) {
    for (const auto& [name, role] : view.objects(kClusterRoles).all()) {
      if (name.name == itself || !selector.matches(*role.header) || !taken_roles.insert(name.name).second) continue;
      const auto tree = json::parse(*role.json);
      if (!tree) continue;
      for (const json::Value& rule : rules_of(*tree))
        if (std::find(all.begin(), all.end(), rule) == all.end()) all.push_back(rule);
    }
  }
  return all;
}

void those_that_aggregate(const client::ObjectChange& change, const View& view, const client::KeySink& sink) {
  const auto tell = [&](const api::Version& role) {
    if (may_aggregate(role))
      sink(client::key_of(kClusterRoles, role.header->name), client::WorkQueue::Priority::kNormal);
  };
  tell(change.now);
  for (const auto& [name, role] : view.objects(kClusterRoles).all()) tell(role);
}

}  // namespace

std::vector<client::WatchRule> ClusterRoleAggregation::watches() const {
  return {{.resource = kClusterRoles, .keys = those_that_aggregate}};
}

Outcome ClusterRoleAggregation::reconcile(const api::ObjectKey& key, const View& view) const {
  Outcome outcome;
  const api::Version role = view.get(kClusterRoles, key.object);
  if (!role || role.header->deleting_since || !may_aggregate(role)) return outcome;
  const auto tree = json::parse(*role.json);
  if (!tree || json::find(*tree, {"aggregationRule"}) == nullptr) return outcome;
  json::Array rules = aggregate(selectors_of(*tree), key.object.name, view);
  if (rules == rules_of(*tree)) return outcome;
  outcome.allowed_now.push_back(
      Patch{client::target_of(kClusterRoles, role), json::Object{{"rules", std::move(rules)}}});
  return outcome;
}

}  // namespace gangway::controllers
