// Laws of placement: who may be bound where, who may be evicted for whom. Each sees pods and grants change, with all
// that is known after the change; none shares code with those who plan.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/laws.h"
#include "sim/sightings.h"

namespace gangway::sim {

class PlacementLaw {
 public:
  virtual ~PlacementLaw() = default;
  virtual void on_pod(const Sightings& sightings, const SeenPod* before, const SeenPod* now, Verdicts& verdicts);
  virtual void on_grant(const Sightings& sightings, const SeenGrant* before, const SeenGrant* now, Verdicts& verdicts);
  virtual void on_node(const Sightings& sightings, const std::string& node, Verdicts& verdicts);
  virtual void at_rest(const Sightings& sightings, Verdicts& verdicts);
};

// Several of them over the same sightings, as one Law. `now` is the time that is everybody's.
std::unique_ptr<Law> placement_laws(std::vector<std::unique_ptr<PlacementLaw>> laws, std::function<MonoTime()> now);
std::vector<std::unique_ptr<PlacementLaw>> all_placement_laws();

bool is_new_grant(const SeenGrant* before, const SeenGrant* now);
bool is_newly_bound(const SeenPod* before, const SeenPod* now);

// So long may somebody not have heard of what happened.
inline constexpr Duration kLongestLag = std::chrono::minutes(15);

// ── of room ──

// What is promised on a node, to pods and to members that are made later, with all that is there and without those who
// leave for it, is no more than the node has.
// Room that is promised may only be taken by a higher priority; once one has come, a grant may have lost its room
// there.
std::unique_ptr<PlacementLaw> promised_room_is_kept();
// Nobody is bound where a grant places it before those who leave for it have gone.
std::unique_ptr<PlacementLaw> victims_go_first();

// ── of gangs ──

// A member is bound only if with it the minimum runs, or if a grant names places for all that the minimum lacks. One
// that was lost in the last minutes counts as there: who grants may not have heard of it.
std::unique_ptr<PlacementLaw> gangs_start_whole();
// At rest no grant is open: each is done or taken back.
std::unique_ptr<PlacementLaw> grants_come_to_an_end();
// At rest nobody waits who is alone in line and for whom there is room.
std::unique_ptr<PlacementLaw> nobody_waits_for_nothing();

// ── of preemption ──

// Nobody is evicted for an equal or lower priority.
std::unique_ptr<PlacementLaw> preemptors_outrank();
// Nobody but the top class disturbs a gang in its first minutes, or more often in an hour than it bears.
std::unique_ptr<PlacementLaw> protected_are_left_alone();
// Nobody is marked as a victim whom no grant names.
std::unique_ptr<PlacementLaw> evictions_are_granted();
// A grant for which somebody was evicted or bound gets all of its places, unless meanwhile a pod that it places or one
// that runs in its gang is lost, a node of it takes no pods, or somebody of higher priority comes to such a node.
std::unique_ptr<PlacementLaw> what_is_begun_is_finished();
// Nobody is evicted by one whom it has had evicted, directly or through others.
std::unique_ptr<PlacementLaw> preemption_has_no_cycles();

}  // namespace gangway::sim
