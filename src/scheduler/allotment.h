// Allotments: tickets of a plan as objects. Written before the first effect, so that whoever schedules next can finish
// what was begun or take it back. Pure.
//
//   none ──► granted ──► releasing: victims end ──► binding: pods are bound ──► Bound
//              └───────────────┴───────────────────────┴──► Withdrawn: room is given back, its gang waits again
//
// Which of these a ticket is in follows from the pods that it names; `status.phase` is for people, but for Bound and
// Withdrawn, which end it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/object.h"
#include "base/time.h"
#include "client/action.h"
#include "client/api_client.h"
#include "client/object_cache.h"
#include "client/resource.h"
#include "json/value.h"
#include "planning/plan.h"

namespace gangway::scheduler {

using client::resources::kAllotments;
using client::resources::kPodGroups;
inline const client::Resource kConfigurations{"gangway.dev", "v1alpha1", "configurations"};
inline const client::Resource kPriorityClasses{"scheduling.k8s.io", "v1", "priorityclasses"};

inline constexpr const char* kBound = "Bound";
inline constexpr const char* kWithdrawn = "Withdrawn";
inline constexpr const char* kReleasing = "Releasing";

struct AllotmentFacts {
  struct Place {
    std::string pod;
    std::string uid;
    std::string node;
  };
  struct Victim {
    api::ObjectName pod;
    std::string uid;
    std::string node;
    std::string gang;          // "ns/name" of a group; empty for a plain pod
    std::string how = "Fail";  // Shrink, Fail or Requeue
  };
  // Room for a late member of the group.
  struct Hold {
    std::string name;
    std::string node;
    json::Value requests = nullptr;
  };
  bool is_group = false;
  std::string gang;        // the PodGroup's name, or the pod's
  std::int64_t epoch = 0;  // of the leader who granted it, or has taken it on since
  std::vector<Place> places;
  std::vector<Hold> holds;
  std::vector<Victim> victims;
  std::string phase;
  bool is_observed = false;                  // the phase is about the grant as it stands, not about an earlier one
  std::vector<WallTime> preemptions;         // when its gang was preempted
  std::vector<std::string> preemption_keys;  // by which ticket, beside each

  bool is_open() const { return !is_observed || (phase != kBound && phase != kWithdrawn); }
};
AllotmentFacts read_allotment(const api::Version& allotment);
// The same of one that is not written yet: only its grant says anything.
AllotmentFacts read_grant(const json::Value& allotment);

// Finds Allotments by the uids of their victims.
client::KeyIndex allotments_by_victim();

using client::allotment_name;

// What identifies one grant: the Allotment and its generation.
std::string grant_key(const api::Header& allotment);

// status.verdict: why a ticket is not carried out yet, or was taken back. Written with the phase, and only then: it
// costs no write of its own. A patch that has the null removes it.
struct TicketVerdict {
  std::string code;  // WaitsForVictims, TakenOver, TakenBack; empty: nothing is in its way
  std::string message;
  std::vector<std::string> blockers;  // as "namespace/name"
};
json::Value to_json(const TicketVerdict& verdict, WallTime since);
TicketVerdict waits_for(const std::vector<std::string>& victims);
TicketVerdict taken_over_by(const std::string& gang);
// Where the next look only finds that its room is gone, this is all that can be said.
TicketVerdict taken_back();
TicketVerdict nobody_is_left();

// The object for a ticket. `kept` is what of an earlier grant still holds: its places, holds and victims.
json::Value allotment_of(const planning::Snapshot& snapshot, const planning::Ticket& ticket, WallTime now,
                         std::int64_t epoch, const AllotmentFacts& kept);

}  // namespace gangway::scheduler
