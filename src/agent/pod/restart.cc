#include "agent/pod/restart.h"

#include <algorithm>

#include "base/check.h"

namespace gangway::agent {

bool will_restart(RestartPolicy policy, const PodContainer& container, const Exit& exit) {
  const bool failed = exit.code != 0;
  switch (container.role) {
    case ContainerRole::kSidecar:
      return true;
    case ContainerRole::kInit:
      return failed && policy != RestartPolicy::kNever;
    case ContainerRole::kMain:
      break;
  }
  return policy == RestartPolicy::kAlways || (policy == RestartPolicy::kOnFailure && failed);
}

Duration restart_delay(const ContainerRecord& container) {
  GW_CHECK(container.end.has_value());
  const Exit& exit = container.end->exit;
  return exit.at - exit.started_at > kHealthyRun ? Duration::zero() : container.backoff;
}

WallTime restart_at(const ContainerRecord& container) {
  return container.end->exit.at + restart_delay(container);
}

Duration next_backoff(const ContainerRecord& container) {
  const Duration waited = restart_delay(container);
  return waited == Duration::zero() ? kFirstBackoff : std::min(2 * waited, kLongestBackoff);
}

void next_attempt(ContainerRecord& container, bool ended) {
  if (ended) {
    container.backoff = next_backoff(container);
    container.last = std::move(container.end);
    ++container.restarts;
  }
  ++container.attempt;
  container.stage = ContainerRecord::Stage::kNone;
  container.end.reset();
  container.stop.reset();
  container.removed = false;
  container.hook_done = false;
  container.pid = 0;
}

}  // namespace gangway::agent
