// Whether and when a container that has ended runs again: at once the first time, then after 10 s, 20 s, … 5 min; a run
// of more than ten minutes is a new beginning. Pure.
#pragma once

#include "agent/pod/pod_record.h"
#include "agent/pod/pod_spec.h"

namespace gangway::agent {

inline constexpr Duration kFirstBackoff = std::chrono::seconds(10);
inline constexpr Duration kLongestBackoff = std::chrono::minutes(5);
inline constexpr Duration kHealthyRun = std::chrono::minutes(10);

bool will_restart(RestartPolicy policy, const PodContainer& container, const Exit& exit);

// Requires that it has ended.
Duration restart_delay(const ContainerRecord& container);
WallTime restart_at(const ContainerRecord& container);
// What ContainerRecord::backoff becomes with the next run.
Duration next_backoff(const ContainerRecord& container);

// Its number is used up: the next one is ready to be started. `ended`: the run before came to an end of its own, so
// that this one is a restart.
void next_attempt(ContainerRecord& container, bool ended);

}  // namespace gangway::agent
