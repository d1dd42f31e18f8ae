// Deployment: rolls a pod template out over ReplicaSets, one a template.
//
//   sets claimed (owned.h) ──► the one of the current template is the new one, all others are old
//   no new set   ──► one is made, "<deployment>-<hash of the template>", as far as the strategy leaves room
//   scaled       ──► the sets are scaled with it, in proportion
//   RollingUpdate──► the new set grows, the old ones shrink (rollout.h); Recreate: the old ones go first, pods and all
//   complete     ──► sets beyond revisionHistoryLimit are deleted
//   paused       ──► it is scaled and counted, and nothing else
//
// What a roll-out must remember is on the sets: their revisions, and the size for which they were last scaled.
// Keyed by Deployment. Pure.
#pragma once

#include <vector>

#include "client/reconciler.h"

namespace gangway::controllers {

class DeploymentController final : public client::Reconciler {
 public:
  std::vector<client::WatchRule> watches() const override;
  client::Outcome reconcile(const api::ObjectKey& key, const client::View& view) const override;
};

}  // namespace gangway::controllers
