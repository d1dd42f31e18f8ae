// What could be done so that somebody gets a place: changes as values, and what the planner makes of them.
//
// A change is tried on a copy of the snapshot, by the planner itself: nothing here knows what fits where. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "planning/plan.h"
#include "planning/snapshot.h"

namespace gangway::scheduler {

// Who asks: a gang, or one member of it. All changes to pods are changes to the gang's pods that wait.
struct Asker {
  planning::GangId gang = planning::kNone;
  planning::PodId pod = planning::kNone;  // none: what the gang cannot do without
  // spec.nodeSelector of its pods, where it is known: shapes do not tell it from node affinity that says the same.
  std::optional<planning::Labels> node_selector = {};
};
// Whether this is what spec.nodeSelector says, or could be where that is not known.
bool is_node_selector(const Asker& asker, const planning::NodeSelector& selector);

struct CreateMembers {
  std::int64_t count = 0;
};
struct Uncordon {
  std::vector<planning::NodeId> nodes;
};
// Nodes that their own agents or controllers have tainted: not ready, out of disk.
struct RestoreNodes {
  std::vector<planning::NodeId> nodes;
};
struct Tolerate {
  planning::Taint taint;
};
struct DropNodeSelector {
  std::string key;
  std::string value;
};
struct DropNodeAffinity {};
struct DropPodAffinity {};
struct DropPodAntiAffinity {};
struct DropSpread {
  std::string topology_key;
};
struct DropHostPorts {};
struct DropMinResources {};
// With it, room may be used that is kept for somebody else until then.
struct SayDuration {
  Duration duration = {};
};
// They are deleted, or waited for. Pods that wait leave the line.
struct EndPods {
  std::vector<planning::PodId> pods;
};
struct LowerRequest {
  planning::ResourceId resource = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;  // 0: asks for none
};
struct LowerMinMembers {
  std::int64_t from = 0;
  std::int64_t to = 0;
};
struct RaisePriority {
  std::string priority_class;  // empty: none of those that exist will do
  std::int64_t value = 0;
};
struct AllowPreemption {};
struct AddNodes {
  planning::NodeId like = planning::kNone;  // none: there is no node at all
  std::int64_t count = 1;
  planning::Amounts allocatable;
};

using Step =
    std::variant<CreateMembers, Uncordon, RestoreNodes, Tolerate, DropNodeSelector, DropNodeAffinity, DropPodAffinity,
                 DropPodAntiAffinity, DropSpread, DropHostPorts, DropMinResources, SayDuration, EndPods, LowerRequest,
                 LowerMinMembers, RaisePriority, AllowPreemption, AddNodes>;
using Steps = std::vector<Step>;

// Makes the snapshot what it would be. Places in its tables stay what they are.
void apply(planning::Snapshot& snapshot, const Asker& asker, const Step& step);

// What the asker would get. Names, because the snapshot it was found on is gone.
struct Granted {
  std::vector<std::pair<std::string, std::string>> places = {};  // pod, node
  std::vector<std::string> preempts = {};                        // "ns/name" of gangs
};

// The ticket that gives the asker what it asks for; null when the plan has none.
const planning::Ticket* ticket_for(const planning::Plan& plan, const Asker& asker);

// Trials of changes to one snapshot; each costs one plan of the whole cluster, so they are counted.
class WhatIf {
 public:
  WhatIf(const planning::Snapshot& snapshot, const planning::Policies& policies, Asker asker);

  // Nothing when the asker would still wait, or when there were too many trials.
  std::optional<Granted> try_with(const Steps& steps);
  planning::Snapshot with(const Steps& steps) const;
  // The whole plan, for those who want to know more. Counted too.
  planning::Plan plan_for(const planning::Snapshot& changed);

  const planning::Snapshot& snapshot() const { return snapshot_; }
  const planning::Policies& policies() const { return policies_; }
  const Asker& asker() const { return asker_; }
  bool is_exhausted() const { return left_ <= 0; }

 private:
  const planning::Snapshot& snapshot_;
  const planning::Policies& policies_;
  Asker asker_;
  std::int64_t left_;
};

// Members that have no node, are not ending and have no gates.
std::vector<planning::PodId> waiting_members(const planning::Snapshot& snapshot, planning::GangId gang);
// Gangs that have such members, as the planner lines them up.
std::vector<planning::GangId> line_of(const planning::Snapshot& snapshot);
// A taint that says how a node is, not for whom it is.
bool is_condition_of_node(const planning::Taint& taint);

}  // namespace gangway::scheduler
