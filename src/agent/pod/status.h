// A pod's status as its node reports it: phase, conditions and the states of its containers. Pure.
#pragma once

#include <string>

#include "agent/pod/machine.h"

namespace gangway::agent {

// A failed pull is shown as that for a while, and then as the back-off that follows it.
inline constexpr Duration kShowPullError = std::chrono::seconds(5);

// The conditions' marks in the record follow what is the case; their times move only with them.
void update_marks(const PodSpec& spec, PodRecord& record, const PodFacts& facts, WallTime now);

// None for a pod that has ended before this node knew it. It is a strategic merge patch: conditions of others are not
// in it, what goes is null.
std::optional<json::Object> status_of(const PodSpec& spec, const PodRecord& record, const PodFacts& facts,
                                      const NodeFacts& node, WallTime now);

// Whether the object says all of it already. What others have changed since is seen by that as well.
bool has_status(const json::Value& pod, const json::Object& status);

// Its process runs, its postStart hook and its startup probe are done.
bool has_started(const PodContainer& container, const ContainerRecord& record, const PodFacts& facts);
bool is_ready(const PodContainer& container, const ContainerRecord& record, const PodFacts& facts);

// Go's way: "10s", "1m20s", "5m0s". Whole seconds.
std::string go_duration(Duration duration);

}  // namespace gangway::agent
