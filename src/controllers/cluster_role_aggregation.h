// ClusterRoles with an aggregationRule get the rules of all ClusterRoles that it selects.
//
//   role with an aggregationRule ──► its rules = the selected roles' rules, in the order of names, each once
//
// Any change of a ClusterRole is a look at those that aggregate. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class ClusterRoleAggregation final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::controllers
