// Victims: what taking room from those who run would mean, and for whom. Knows what the plan in the making has already
// asked of whom, so that nobody is asked twice and a gang that goes anyway costs nothing more.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planning/plan.h"
#include "planning/snapshot.h"

namespace gangway::planning {

// What a set of victims costs; less is better. In this order: budgets, then whether anybody is stopped at all (taking
// members from elastic gangs stops nobody), then Kubernetes' highest priority first, then lost work, and the rest as in
// Kubernetes: the sum of priorities, the number of pods, and the latest start.
struct Cost {
  std::int64_t violations = 0;
  bool stops = false;
  std::int64_t top_priority = 0;
  std::int64_t lost_gpu_seconds = 0;
  std::int64_t priority_sum = 0;
  std::int64_t pods = 0;    // gangs count whole
  std::int64_t chiefs = 0;  // members that their gangs need most
  std::int64_t age = 0;     // seconds that the longest-running of the highest priority has run
  auto operator<=>(const Cost&) const = default;
};

class Victims {
 public:
  Victims(const Snapshot& snapshot, const Policies& policies);

  // Whether the pod may be evicted for somebody of this priority.
  bool may_evict(PodId pod, std::int64_t priority) const;
  // Number of the gang's members that run and will go on running.
  std::int64_t running(GangId gang) const { return facts_[gang].running; }
  // Whether it is worth looking for victims, or for pods that are ending, at all.
  bool has_anyone_below(std::int64_t priority) const { return lowest_ < priority; }
  // Its room is promised to a ticket.
  bool is_claimed(PodId pod) const { return claimed_[pod] > 0; }
  // A pod that is ending, and whose room nobody counts on yet.
  bool is_ending_unclaimed(PodId pod) const;
  // Why the gang keeps its room although its priority is lower; empty when nothing protects it.
  std::string protection(const Gang& gang, std::int64_t priority) const;

  Cost cost_of(const std::vector<PodId>& pods) const;
  // One pod alone: for deciding who is spared first.
  Cost cost_of(PodId pod) const { return cost_of(std::vector<PodId>{pod}); }
  // What is asked of each gang so that these pods go.
  std::vector<Eviction> evictions_for(const std::vector<PodId>& pods) const;
  std::int64_t lost_by(const std::vector<Eviction>& evictions) const;
  // Whether the gang can give up the pods and go on.
  bool can_shrink(const Gang& gang, const std::vector<PodId>& pods) const;

  // They are promised to a ticket.
  void claim(const std::vector<PodId>& pods);
  void claim(const std::vector<Eviction>& evictions);
  // The ticket that counted on them is no more.
  void disclaim(const OpenTicket& ticket);

  // Pods on each node, by node.
  const std::vector<std::vector<PodId>>& by_node() const { return by_node_; }
  const Snapshot& snapshot() const { return snapshot_; }

 private:
  struct GangFacts {
    std::int64_t priority = 0;
    std::int64_t running = 0;  // not terminating, and not promised to anybody
    WallTime started = {};
    std::int64_t gpus = 0;
    bool is_stopped = false;  // by this plan
  };

  std::int64_t lost_work(GangId gang) const;
  std::int64_t budget_violations(const std::vector<PodId>& pods) const;
  std::int64_t gpus_of(const Pod& pod) const;
  std::map<GangId, std::vector<PodId>> by_gang(const std::vector<PodId>& pods) const;

  const Snapshot& snapshot_;
  const Policies& policies_;
  std::vector<GangFacts> facts_;             // by gang
  std::vector<std::uint32_t> claimed_;       // by pod, how often: what was half written may claim one twice
  std::vector<std::vector<PodId>> by_node_;  // bound pods
  std::vector<std::int64_t> allowed_;        // by budget: what is left of it
  std::int64_t lowest_;                      // of all who run or are promised something
};

}  // namespace gangway::planning
