// Plan: what the planners decided, as a value: tickets for those who get something, verdicts for those who wait.
//
// Refers to the Snapshot it was made from. Doing it is the scheduler's business, and so is writing down first what must
// not be forgotten half-way.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planning/snapshot.h"

namespace gangway::planning {

struct Placement {
  PodId pod = kNone;
  NodeId node = kNone;
  bool operator==(const Placement&) const = default;
};

// Room for a member that does not exist yet.
struct Hold {
  std::uint32_t late = 0;  // which of Gang::late
  NodeId node = kNone;
  bool operator==(const Hold&) const = default;
};

// What one victim gives up.
struct Eviction {
  enum class How : std::uint8_t {
    kShrink,   // members above an elastic gang's minimum
    kFail,     // only the pods whose room is needed
    kRequeue,  // all of the gang, which is made again later
  };
  GangId gang = kNone;
  How how = How::kFail;
  std::vector<PodId> pods = {};  // that are to end
  bool operator==(const Eviction&) const = default;
};

// What one gang gets. Its pods can be bound when those it evicts or waits for have gone: at once where there are none.
struct Ticket {
  GangId gang = kNone;
  std::vector<Placement> places = {};
  std::vector<Hold> holds = {};
  std::vector<Eviction> evictions = {};
  std::vector<PodId> waits_for = {};  // pods that are ending already and whose room it counts on
  // Gangs of lower priority whose open tickets are taken back for this one: nobody of them runs there yet.
  std::vector<GangId> withdrawn = {};
  bool is_growth = false;             // the gang runs already: these are more members of it
  std::int64_t lost_gpu_seconds = 0;  // work that the evictions throw away

  bool is_immediate() const { return evictions.empty() && waits_for.empty(); }
  bool operator==(const Ticket&) const = default;
};

// Room that is kept for a gang that cannot start yet, on named nodes, so that smaller ones do not starve it.
struct Reservation {
  GangId gang = kNone;
  std::vector<Placement> places = {};
  std::vector<Hold> holds = {};
  // When it can start at the latest, where the ends of all that is in its way are known.
  std::optional<WallTime> starts = {};
  bool operator==(const Reservation&) const = default;
};

struct Verdict {
  enum class Code : std::uint8_t {
    kUnschedulable,    // no node takes it, or none has the room
    kGangIncomplete,   // fewer pods exist than the gang needs
    kWaitsForVictims,  // has a ticket; those in its way are still ending
    kReserved,         // fits only where room is kept for somebody else
    kGated,            // scheduling gates
  };
  GangId gang = kNone;
  PodId pod = kNone;  // the member it is said of: the first that found no place; none when it is about the whole gang
  Code code = Code::kUnschedulable;
  std::string message = {};                   // as kube-scheduler words it
  std::vector<GangId> blockers = {};          // who has the room, the cheapest to move first
  std::vector<std::string> protections = {};  // why they keep it: one line each
  Request short_by = {};                      // what one node that is nearest to taking it lacks
  NodeId nearest = kNone;                     // that node
  bool operator==(const Verdict&) const = default;
};

struct Plan {
  // Open tickets that can no longer be kept: a node has gone, or takes such pods no more. Their gangs wait again.
  std::vector<GangId> taken_back = {};
  std::vector<Ticket> tickets = {};  // in the order of decision: each stands on those before
  std::vector<Verdict> verdicts = {};
  std::optional<Reservation> reservation = {};
  bool operator==(const Plan&) const = default;
};

}  // namespace gangway::planning
