// EndpointSlices: the addresses behind a Service that selects pods, a hundred a slice.
//
//   Service with a selector, a family of addresses, a set of ports ──► as many slices as it takes, at least one
//   a pod comes ──► into a slice that has room       a pod changes ──► where it is       a pod goes ──► taken out
//   a slice is empty and not the only one ──► deleted
//
// A change of one pod writes one slice. Slices belong to their Service, so the garbage collector deletes them with it.
// Keyed by Service. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class EndpointSliceController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

  static constexpr std::size_t kMostEndpoints = 100;
};

}  // namespace gangway::controllers
