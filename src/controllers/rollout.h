// The arithmetic of a Deployment: how large each of its ReplicaSets should be next. Numbers only; no JSON, no API.
// Pure.
//
// Kubernetes' rules, with one more: a rolling update grows only into room that is known to be free. What a set still
// has above its new size counts, so that there are never more pods than replicas + maxSurge.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"

namespace gangway::controllers {

struct RolloutSpec {
  std::int64_t replicas = 1;
  bool rolling = true;  // or Recreate
  std::int64_t max_surge = 0;
  std::int64_t max_unavailable = 0;

  std::int64_t most() const { return replicas + (rolling ? max_surge : 0); }
};

// Percentages in numbers: surge rounds up, unavailable down and is at most all; when both come to nothing, one pod may
// be unavailable, or nothing would ever move. Requires: 0 or more each.
RolloutSpec resolve(std::int64_t replicas, std::int64_t surge, std::int64_t unavailable);

struct RolloutSet {
  std::string name;
  WallTime created;
  bool is_new = false;                  // of the current template; at most one
  std::int64_t size = 0;                // spec.replicas
  std::int64_t actual = 0;              // status.replicas
  std::int64_t available = 0;           // status.availableReplicas
  bool observed = true;                 // the status is about this size
  std::optional<std::int64_t> desired;  // the Deployment's replicas when it was last scaled
  std::optional<std::int64_t> most;     // likewise with its surge

  bool is_active() const { return size > 0; }
};

using Sizes = std::vector<std::int64_t>;  // one a set, in the order given

// Whether the Deployment was given another size since its sets were last scaled.
bool is_scaling(const RolloutSpec& spec, const std::vector<RolloutSet>& sets);
// After such a change, or while it is paused: the one active set takes it all; several share it in proportion.
// `status_replicas` is the Deployment's own count, for sets that do not say what it was.
Sizes scale(const RolloutSpec& spec, const std::vector<RolloutSet>& sets, std::int64_t status_replicas);
// One step of a rolling update: grows the new set, or else shrinks old ones, those first that are not available.
Sizes roll(const RolloutSpec& spec, const std::vector<RolloutSet>& sets);
// The size with which a new set begins.
std::int64_t first_size(const RolloutSpec& spec, const std::vector<RolloutSet>& sets);

}  // namespace gangway::controllers
