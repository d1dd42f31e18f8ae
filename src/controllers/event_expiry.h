// Events are forgotten an hour after they were last written.
//
//   Event ──► an hour after its creation: looked at
//         ──► written since ──► looked at again an hour after that
//         ──► not ──► deleted
//
// When it was last written is read off its managedFields, which name the time of every manager's last change; so it is
// known after a restart too. Events of both groups are the same objects. Pure; a look parses nothing while the event is
// younger than an hour.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class EventExpiry final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;

  static constexpr Duration kKept = std::chrono::hours(1);
};

}  // namespace gangway::controllers
