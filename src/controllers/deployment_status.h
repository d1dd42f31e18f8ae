// The status of a Deployment: counts, and the conditions that `kubectl rollout status` waits for. Pure.
//
//   Progressing:  NewReplicaSetCreated | FoundNewReplicaSet ──► ReplicaSetUpdated ⟲ (each step renews lastUpdateTime)
//                        │ nothing for progressDeadlineSeconds        │ all updated and available
//                        ▼                                            ▼
//                 ProgressDeadlineExceeded ── any step ──►    NewReplicaSetAvailable
//   paused ──► DeploymentPaused ── no longer ──► DeploymentResumed; ReplicaSetCreateError while a set is refused
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "client/reconciler.h"
#include "controllers/deployment_facts.h"

namespace gangway::controllers {

struct DeploymentNumbers {
  std::int64_t replicas = 0;
  std::int64_t updated = 0;
  std::int64_t ready = 0;
  std::int64_t available = 0;
  std::int64_t unavailable = 0;

  std::int64_t old() const { return replicas - updated; }
};

DeploymentNumbers count(const DeploymentLook& look);
// Every pod is of the current template and available, and there are no others.
bool is_complete(const DeploymentLook& look, const DeploymentNumbers& numbers);

struct StatusQuestion {
  bool judge_progress = true;                    // not while it is paused, scaled or being deleted
  std::optional<std::string> create_error = {};  // why the new set was refused
};

// Writes what has changed, and asks to look again when the deadline passes.
void write_status(const DeploymentLook& look, const StatusQuestion& question, WallTime now, client::Outcome& outcome);

}  // namespace gangway::controllers
