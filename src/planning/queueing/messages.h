// Words for decisions: the conditions, reasons and messages that users of Kueue know.
#pragma once

#include <string>

#include "planning/queueing/plan.h"

namespace gangway::planning::queueing {

// Of the condition QuotaReserved.
const char* reason_text(PendingReason reason);
std::string message_of(const Snapshot& snapshot, const Decision& decision);

// Of the condition Preempted.
const char* reason_text(Victim::Reason reason);
// Said to a victim about the workload that takes its place.
std::string preemption_message(const Snapshot& snapshot, const Workload& preemptor, const Victim& victim);

}  // namespace gangway::planning::queueing
