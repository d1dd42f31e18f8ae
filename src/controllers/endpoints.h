// Endpoints: the addresses behind a Service that selects pods, in the old form.
//
//   Service with a selector ──► Endpoints of the same name: ports that have the same pods behind them share a subset
//   Service gone ──► Endpoints that were made here are deleted
//
// At most 1,000 addresses are listed; EndpointSlices have all. Keyed by Service. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class EndpointsController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

  static constexpr std::size_t kMostAddresses = 1000;
};

}  // namespace gangway::controllers
