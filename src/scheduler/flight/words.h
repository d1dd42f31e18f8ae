// The words that stand for the planner's enumerations and amounts in records. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/time.h"
#include "planning/plan.h"
#include "planning/snapshot.h"

namespace gangway::scheduler::flight {

inline constexpr std::array<std::string_view, 6> kOps{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
inline constexpr std::array<std::string_view, 3> kEffects{"NoSchedule", "PreferNoSchedule", "NoExecute"};
inline constexpr std::array<std::string_view, 3> kOnPreempt{"Fail", "Requeue", "Shrink"};
inline constexpr std::array<std::string_view, 3> kHows{"shrink", "fail", "requeue"};
inline constexpr std::array<std::string_view, 5> kCodes{"Unschedulable", "GangIncomplete", "WaitsForVictims",
                                                        "Reserved", "Gated"};

inline std::string_view word_of(planning::Requirement::Op op) {
  return kOps[static_cast<std::size_t>(op)];
}
inline std::string_view word_of(planning::Taint::Effect effect) {
  return kEffects[static_cast<std::size_t>(effect)];
}
inline std::string_view word_of(planning::OnPreempt choice) {
  return kOnPreempt[static_cast<std::size_t>(choice)];
}
inline std::string_view word_of(planning::Eviction::How how) {
  return kHows[static_cast<std::size_t>(how)];
}
inline std::string_view word_of(planning::Verdict::Code code) {
  return kCodes[static_cast<std::size_t>(code)];
}

// "1500m" of cpu, "64Gi" of what is counted whole.
std::string amount_text(bool is_cpu, std::int64_t amount);

// Times that lie too far apart for a Duration become the longest there is, and so does a time beyond the last.
Duration between(WallTime from, WallTime to);
WallTime later_by(WallTime from, Duration duration);

}  // namespace gangway::scheduler::flight
