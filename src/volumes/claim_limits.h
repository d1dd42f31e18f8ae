// Where pods may be because of the claims that they use. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "api/node_selector.h"
#include "client/view.h"
#include "volumes/claim_facts.h"

namespace gangway::volumes {

// Where a pod may be because of something that is on some nodes only.
struct PlaceLimit {
  std::vector<api::NodeSelector> nodes;  // one of these must match
  std::string reason;                    // why it may not be elsewhere
};

struct ClaimLimits {
  std::string refusal;  // it can be nowhere: why, in the words of kube-scheduler
  std::vector<PlaceLimit> limits;
};

// Who binds claims that wait for their first pod: somebody who looks where it is, or somebody who must be told before.
enum class ClaimBinding : std::uint8_t { kFollowsPods, kIsTold };

// `placed`: nodes that this look has given to pods, by the claims that they use.
using PlacedClaims = std::map<api::ObjectName, std::string>;
ClaimLimits claim_limits(const client::View& view, const std::string& ns, const std::vector<std::string>& claims,
                         const PlacedClaims& placed, ClaimBinding binding = ClaimBinding::kFollowsPods);
// The best volume that is nobody's and that the claim could have on a node; none is an empty version.
api::Version volume_on(const client::View& view, const ClaimFacts& claim, const api::Header& node);

}  // namespace gangway::volumes
