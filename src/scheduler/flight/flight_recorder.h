// FlightRecorder: the CycleSink that keeps cycles in a FlightLog. Lives on the scheduler's loop.
//
// Keeps those that decided something, and those in which somebody waits for another reason than before. Costs what has
// changed and what is planned, as text; everything else is the log's thread's.
#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "scheduler/cycle_sink.h"
#include "scheduler/flight/flight_log.h"
#include "scheduler/flight/snapshot_text.h"

namespace gangway::scheduler::flight {

// The entry for a cycle. Remembers what only makes sense from one cycle to the next.
class EntryMaker {
 public:
  Entry make(const Cycle& cycle, const Changes& changes);

 private:
  void add_budgets(const Cycle& cycle, Entry& entry);

  Encoder encoder_;
  std::set<std::string> budgets_;  // keys of those there were
};

class FlightRecorder final : public CycleSink {
 public:
  explicit FlightRecorder(FlightLog& log) : log_(log) {}

  bool wants(const Cycle& cycle) override;
  void record(const Cycle& cycle, const Changes& changes) override;

 private:
  FlightLog& log_;
  EntryMaker maker_;
  std::size_t last_reasons_ = 0;  // a hash of why everybody waits
};

}  // namespace gangway::scheduler::flight
