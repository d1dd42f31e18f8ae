// Snapshot: all that a plan is made from. A value; whoever fills it (scheduler/, tests) keeps it true, planners read
// it.
//
// Pods, nodes and gangs are named by their place in its tables. Tables have gaps where something has gone, and places
// are used again, so nothing that is decided may depend on them: equal choices break on names.
//
//   Gang ── members ──► Pod ── on ──► Node           a plain pod is a gang of one
//    └── ticket ──► places, holds, victims           what an earlier plan has given it and is not done yet
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "planning/shapes.h"

namespace gangway::planning {

using NodeId = std::uint32_t;
using PodId = std::uint32_t;
using GangId = std::uint32_t;
inline constexpr std::uint32_t kNone = 0xffffffff;

struct Node {
  std::string name;  // empty: a gap in the table
  std::string hostname;
  std::shared_ptr<const NodeTraits> traits = {};
  Amounts allocatable = {};
};

struct Pod {
  std::string ns;
  std::string name;  // empty: a gap in the table
  std::string uid;
  std::shared_ptr<const PodShape> shape;
  Labels labels = {};
  GangId gang = kNone;
  NodeId node = kNone;                // where it is bound
  std::int64_t priority = 0;          // effective: that of its queue's class where it has one
  bool never_preempts = false;        // preemptionPolicy: Never
  bool is_gated = false;              // has scheduling gates, or belongs to another scheduler: not ours to place
  bool is_terminating = false;        // has been told to end; holds its room until it is gone
  std::int64_t rank = 0;              // 0 for the chief or index 0, then what its gang needs less and less
  WallTime since = {};                // waits since, or was started at
  std::optional<WallTime> ends = {};  // at the latest, when something says so
};

enum class OnPreempt : std::uint8_t { kFail, kRequeue, kShrink };

// What an earlier plan has given and is under way: room is held for it.
struct OpenTicket {
  struct Place {
    PodId pod = kNone;
    NodeId node = kNone;
  };
  // For a member that does not exist yet.
  struct Hold {
    std::shared_ptr<const PodShape> shape;
    Labels labels = {};
    NodeId node = kNone;
    std::string name = {};  // of the late members
  };
  std::vector<Place> places = {};  // of pods that are not bound yet
  std::vector<Hold> holds = {};
  std::vector<PodId> victims = {};  // whose room it counts on and who have not gone yet
};

// Members of a gang that will be made once it runs: a launcher, a submitter.
struct LateMembers {
  std::shared_ptr<const PodShape> shape;
  Labels labels = {};
  std::int64_t count = 0;
  std::string name = {};
};

struct Gang {
  std::string ns;
  std::string name;  // of the PodGroup, or of the pod; empty: a gap in the table
  std::string uid;
  bool is_plain = true;  // a single pod that belongs to no group
  std::int64_t min_members = 1;
  std::int64_t size = 1;            // how many members it would like: above the minimum it is elastic
  std::vector<PodId> members = {};  // that exist and have not ended
  std::vector<LateMembers> late = {};
  Request min_resources = {};  // no start before the cluster has so much left in all
  WallTime since = {};         // its place in line
  OnPreempt on_preempt = OnPreempt::kFail;
  Duration min_runtime = {};             // as capped by the administrator
  std::int64_t max_preemptions = 5;      // an hour, likewise
  std::vector<WallTime> preempted = {};  // when it was, in the last hour
  std::optional<WallTime> last_checkpoint = {};
  std::optional<OpenTicket> ticket = {};

  bool is_elastic() const { return min_members < size; }
};

// A PodDisruptionBudget.
struct DisruptionBudget {
  std::string ns;
  std::string name;
  Selector pods;
  std::int64_t allowed = 0;  // how many may still be disrupted
};

struct Policies {
  // Who has at least this priority may disturb protected jobs: the top class of the cluster.
  std::int64_t top_priority = std::int64_t{1} << 40;
  // Labels of nodes that tell how near they are to each other, nearest first. Gangs stay together in that order.
  std::vector<std::string> topology = {"topology.kubernetes.io/rack", "topology.kubernetes.io/zone",
                                       "topology.kubernetes.io/region"};
};

struct Snapshot {
  WallTime now = {};
  ResourceNames resources = {};
  std::vector<Node> nodes = {};
  std::vector<Pod> pods = {};
  std::vector<Gang> gangs = {};
  std::vector<DisruptionBudget> budgets = {};  // in the order of namespaces and names
};

// "ns/name"
std::string full_name(const Pod& pod);
std::string full_name(const Gang& gang);
// In the order of names, and different for a group and a pod that are called the same: what equal choices break on.
std::string order_name(const Gang& gang);

// The priority that a gang is ordered by: the highest of its members'.
std::int64_t priority_of(const Snapshot& snapshot, const Gang& gang);
// Number of members that are bound and not terminating.
std::int64_t running_of(const Snapshot& snapshot, const Gang& gang);

}  // namespace gangway::planning
