// Why a pod finds no place, in the words that users of kube-scheduler know, and what it is short of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planning/placement/board.h"
#include "planning/placement/victims.h"
#include "planning/plan.h"

namespace gangway::planning {

// Fills message, nearest, short_by, blockers and protections of a verdict about a pod without a place.
// `priority` is what it could preempt with; none when it never does, and `why_never` then says why.
inline constexpr const char* kByPolicy = "not eligible due to preemptionPolicy=Never.";
inline constexpr const char* kForGrowth = "not eligible: members above a group's minimum preempt nobody.";
void explain_refusal(Board& board, const Victims& victims, const Claimant& claimant,
                     const std::optional<std::int64_t>& priority, Verdict& verdict, const char* why_never = kByPolicy);

}  // namespace gangway::planning
