// Random quota trees and workloads for property tests, and what happens to them when plans are carried out.
//
// A cluster is made from a recipe: lists of seeds for cohorts, queues and workloads. RapidCheck shrinks it by leaving
// some out; each draws its numbers from its own seed by what they are for, so the others stay as they are.
#pragma once

#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "planning/queueing/cycle.h"
#include "planning/queueing/messages.h"
#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing::testing {

struct Recipe {
  std::vector<std::uint32_t> cohorts;
  std::vector<std::uint32_t> queues;
  std::vector<std::uint32_t> workloads;
  std::uint32_t all = 0;
};

// Numbers from a seed, each by what it is for.
class Lot {
 public:
  explicit Lot(std::uint32_t seed) : seed_(seed) {}
  std::int64_t number(std::uint64_t what, std::int64_t bound) const {
    std::uint64_t state = std::uint64_t{seed_} << 16 ^ what * 0x9e3779b97f4a7c15ULL;
    return static_cast<std::int64_t>(split_mix(state) % static_cast<std::uint64_t>(bound));
  }
  bool chance(std::uint64_t what, std::int64_t percent) const { return number(what, 100) < percent; }

 private:
  std::uint32_t seed_;
};

// What the scheduler does with a plan, and the API shows afterwards. Who is told to go is still there.
inline void carry_out(Snapshot& snapshot, const Plan& plan) {
  snapshot.now += std::chrono::seconds(1);
  for (const Decision& decision : plan.decisions) {
    Workload& workload = snapshot.workloads[decision.workload];
    workload.is_sticky = decision.becomes_sticky;
    workload.progress = decision.progress;
    workload.is_inadmissible = decision.requeue == Decision::Requeue::kInadmissible;
    if (decision.outcome == Decision::Outcome::kAdmit)
      workload.admission = {.queue = workload.queue, .grant = decision.grant, .reserved = snapshot.now};
    for (const Victim& victim : decision.victims) snapshot.workloads[victim.workload].admission->is_evicted = true;
  }
  for (const WorkloadId id : plan.moved_along) snapshot.workloads[id].is_inadmissible = true;
}

// Those who were told to go have gone, and wait again; what was set aside is tried again.
inline bool let_go(Snapshot& snapshot) {
  bool has_gone = false;
  for (Workload& workload : snapshot.workloads) {
    if (!workload.admission || !workload.admission->is_evicted) continue;
    workload.admission.reset();
    has_gone = true;
  }
  if (has_gone)
    for (Workload& workload : snapshot.workloads) workload.is_inadmissible = false;
  return has_gone;
}

class Kitchen {
 public:
  explicit Kitchen(const Recipe& recipe) : lot_(recipe.all) {
    snapshot_.now = WallTime(std::chrono::seconds(1'700'000'000));
    for (const char* name : {"one", "two", "three"}) snapshot_.flavors.push_back({.name = name});
    if (lot_.chance(1, 20)) snapshot_.flavors[0].taints = {{"spot", "true"}};
    options_.fair_sharing = lot_.chance(2, 40);
    if (lot_.chance(3, 20)) options_.strategies = {FairStrategy::kLessThanInitialShare};
    for (const std::uint32_t seed : recipe.cohorts) add_cohort(Lot(seed));
    for (const std::uint32_t seed : recipe.queues) add_queue(Lot(seed));
    if (snapshot_.queues.empty()) return;
    // Some come first and are served; the others find them there.
    for (const std::uint32_t seed : recipe.workloads)
      if (Lot(seed).chance(1, 60)) add_workload(Lot(seed));
    for (int round = 0; round < 6; ++round) {
      carry_out(snapshot_, plan(snapshot_, options_));
      // Some of those who were told to go are still there.
      if (round < 5) let_go(snapshot_);
    }
    for (const std::uint32_t seed : recipe.workloads)
      if (!Lot(seed).chance(1, 60)) add_workload(Lot(seed));
    if (lot_.chance(4, 15)) cut();
  }

  Snapshot& snapshot() { return snapshot_; }
  const Snapshot& snapshot() const { return snapshot_; }
  const Options& options() const { return options_; }
  bool is_cut() const { return lot_.chance(4, 15); }

 private:
  void add_cohort(const Lot& lot) {
    const std::size_t count = snapshot_.cohorts.size();
    Cohort cohort{.name = fmt::format("cohort-{}", lot.number(0, 1 << 30))};
    if (count > 0 && lot.chance(1, 70))
      cohort.parent = static_cast<CohortId>(lot.number(2, static_cast<std::int64_t>(count)));
    if (lot.chance(3, 2)) cohort.parent = static_cast<CohortId>(count);  // a circle
    if (lot.chance(4, 50)) cohort.groups = groups(lot, cohort.parent != kNone, 3);
    cohort.weight = kWeightOne * lot.number(5, 4) / 2;
    snapshot_.cohorts.push_back(std::move(cohort));
  }
  std::vector<ResourceGroup> groups(const Lot& lot, bool has_limits, std::int64_t most) const {
    ResourceGroup group{.covered = {kCpu}};
    if (has_memory()) group.covered.push_back(kMemory);
    const std::int64_t flavors = 1 + lot.number(10, 2 + lot_.number(5, 2));
    for (std::int64_t i = 0; i < flavors; ++i) {
      FlavorQuotas quotas{.flavor = static_cast<FlavorId>((lot.number(11, 3) + i) % 3)};
      for (std::size_t j = 0; j < group.covered.size(); ++j) {
        const std::uint64_t base = 20 + static_cast<std::uint64_t>(i) * 10 + j * 100;
        const std::int64_t unit = group.covered[j] == kCpu ? 1000 : 1;
        Quota quota{.nominal = unit * lot.number(base, most + 5)};
        if (has_limits && lot.chance(base + 1, 30)) quota.borrowing_limit = unit * lot.number(base + 2, 6);
        if (has_limits && lot.chance(base + 3, 30))
          quota.lending_limit = lot.number(base + 4, quota.nominal / unit + 1) * unit;
        quotas.quotas.push_back(quota);
      }
      group.flavors.push_back(std::move(quotas));
    }
    return {group};
  }
  void add_queue(const Lot& lot) {
    ClusterQueue queue{.name = fmt::format("queue-{}", lot.number(0, 1 << 30))};
    const auto cohorts = static_cast<std::int64_t>(snapshot_.cohorts.size());
    if (cohorts > 0 && lot.chance(1, 90)) queue.cohort = static_cast<CohortId>(lot.number(2, cohorts));
    queue.groups = groups(lot, queue.cohort != kNone, 6);
    queue.strategy = lot.chance(3, 30) ? QueueingStrategy::kStrictFifo : QueueingStrategy::kBestEffortFifo;
    queue.is_active = !lot.chance(4, 3);
    queue.preemption.within_queue = static_cast<PreemptionPolicy>(lot.number(5, 3));
    static constexpr PreemptionPolicy kReclaims[] = {PreemptionPolicy::kNever, PreemptionPolicy::kLowerPriority,
                                                     PreemptionPolicy::kAny, PreemptionPolicy::kAny};
    queue.preemption.reclaim = kReclaims[lot.number(6, 4)];
    queue.preemption.while_borrowing.is_allowed =
        queue.preemption.reclaim != PreemptionPolicy::kNever && lot.chance(7, 40);
    if (lot.chance(8, 50)) queue.preemption.while_borrowing.max_priority_threshold = lot.number(9, 3) - 1;
    queue.fungibility.stops_when_borrowing = lot.chance(12, 60);
    queue.fungibility.stops_when_preempting = lot.chance(13, 40);
    if (lot.chance(14, 30)) queue.fungibility.preference = Fungibility::Preference::kPreemptionOverBorrowing;
    queue.weight = kWeightOne * lot.number(15, 5) / 2;
    snapshot_.queues.push_back(std::move(queue));
  }
  void add_workload(const Lot& lot) {
    const std::string name = fmt::format("w-{}", lot.number(0, 1 << 30));
    Workload workload{.ns = "default", .name = name, .uid = name};
    workload.queue = static_cast<QueueId>(lot.number(2, static_cast<std::int64_t>(snapshot_.queues.size())));
    workload.priority = lot.number(3, 5) - 2;
    workload.queued = snapshot_.now - std::chrono::seconds(lot.number(4, 20));
    workload.is_namespace_selected = !lot.chance(5, 3);
    workload.has_failed_checks = lot.chance(6, 2);
    const std::int64_t podsets = 1 + (lot.chance(7, 25) ? 1 : 0);
    for (std::int64_t i = 0; i < podsets; ++i) {
      const std::uint64_t base = 20 + static_cast<std::uint64_t>(i) * 10;
      PodShape shape;
      shape.ns = "default";
      shape.request = {{kCpu, 1000 * (1 + lot.number(base, 3))}};
      if (has_memory() && lot.chance(base + 1, 60)) shape.request.emplace_back(kMemory, 1 + lot.number(base + 2, 3));
      shape.request.emplace_back(kPods, 1);
      if (lot.chance(base + 3, 50)) shape.tolerations = {{.key = "spot", .exists = true}};
      PodSet podset{.name = fmt::format("set-{}", i), .shape = std::make_shared<const PodShape>(std::move(shape))};
      podset.count = 1 + lot.number(base + 4, 4);
      if (lot.chance(base + 5, 20)) podset.min_count = 1 + lot.number(base + 6, podset.count);
      workload.podsets.push_back(std::move(podset));
    }
    snapshot_.workloads.push_back(std::move(workload));
  }
  // An administrator takes half of all quota away.
  void cut() {
    for (ClusterQueue& queue : snapshot_.queues)
      for (ResourceGroup& group : queue.groups)
        for (FlavorQuotas& flavor : group.flavors)
          for (Quota& quota : flavor.quotas) {
            quota.nominal /= 2;
            if (quota.lending_limit) quota.lending_limit = std::min(*quota.lending_limit, quota.nominal);
          }
  }
  bool has_memory() const { return lot_.chance(6, 40); }

  Lot lot_;
  Snapshot snapshot_;
  Options options_;
};

// The same cluster with its tables in another order.
inline Snapshot shuffled(const Snapshot& from, std::uint32_t seed) {
  const auto order = [&](std::size_t size, std::uint64_t what) {
    std::vector<std::uint32_t> places(size);  // where each goes
    std::iota(places.begin(), places.end(), 0);
    std::uint64_t state = seed + what;
    for (std::size_t i = size; i > 1; --i) std::swap(places[i - 1], places[split_mix(state) % i]);
    return places;
  };
  const auto flavors = order(from.flavors.size(), 1);
  const auto cohorts = order(from.cohorts.size(), 2);
  const auto queues = order(from.queues.size(), 3);
  const auto workloads = order(from.workloads.size(), 4);
  const auto moved = [](const std::vector<std::uint32_t>& places, std::uint32_t id) {
    return id == kNone ? kNone : places[id];
  };
  const auto move_groups = [&](std::vector<ResourceGroup>& groups) {
    for (ResourceGroup& group : groups)
      for (FlavorQuotas& flavor : group.flavors) flavor.flavor = flavors[flavor.flavor];
  };
  Snapshot to = from;
  for (std::size_t i = 0; i < flavors.size(); ++i) to.flavors[flavors[i]] = from.flavors[i];
  for (std::size_t i = 0; i < cohorts.size(); ++i) {
    Cohort& cohort = to.cohorts[cohorts[i]] = from.cohorts[i];
    cohort.parent = moved(cohorts, cohort.parent);
    move_groups(cohort.groups);
  }
  for (std::size_t i = 0; i < queues.size(); ++i) {
    ClusterQueue& queue = to.queues[queues[i]] = from.queues[i];
    queue.cohort = moved(cohorts, queue.cohort);
    move_groups(queue.groups);
  }
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    Workload& workload = to.workloads[workloads[i]] = from.workloads[i];
    workload.queue = moved(queues, workload.queue);
    if (!workload.admission) continue;
    workload.admission->queue = moved(queues, workload.admission->queue);
    for (PodSetGrant& grant : workload.admission->grant)
      for (Charge& charge : grant.charges) charge.flavor = flavors[charge.flavor];
  }
  return to;
}

inline std::string text_of(const Snapshot& snapshot, const Grant& grant) {
  std::string text;
  for (const PodSetGrant& podset : grant) {
    text += fmt::format(" x{}", podset.count);
    for (const Charge& charge : podset.charges)
      text += fmt::format(" {}{}@{}", charge.amount, snapshot.resources.name_of(charge.resource),
                          snapshot.flavors[charge.flavor].name);
  }
  return text;
}

// With names only, in the order of decision.
inline std::string text_of(const Snapshot& snapshot, const Plan& plan) {
  std::string text;
  for (const Decision& decision : plan.decisions) {
    text += fmt::format("{} outcome {} level {} {}: {};", snapshot.workloads[decision.workload].name,
                        static_cast<int>(decision.outcome), decision.borrow_level, static_cast<int>(decision.requeue),
                        message_of(snapshot, decision));
    text += text_of(snapshot, decision.grant);
    for (const Victim& victim : decision.victims)
      text += fmt::format(" -{}[{}]", snapshot.workloads[victim.workload].name, reason_text(victim.reason));
    text += "\n";
  }
  return text;
}

inline std::string text_of(const Snapshot& snapshot) {
  std::string text;
  const auto add_groups = [&](const std::vector<ResourceGroup>& groups) {
    for (const ResourceGroup& group : groups)
      for (const FlavorQuotas& flavor : group.flavors)
        for (std::size_t i = 0; i < group.covered.size(); ++i) {
          const Quota& quota = flavor.quotas[i];
          text += fmt::format(" {}:{} {}", snapshot.flavors[flavor.flavor].name,
                              snapshot.resources.name_of(group.covered[i]), quota.nominal);
          if (quota.borrowing_limit) text += fmt::format(" bl {}", *quota.borrowing_limit);
          if (quota.lending_limit) text += fmt::format(" ll {}", *quota.lending_limit);
        }
    text += "\n";
  };
  for (const Cohort& cohort : snapshot.cohorts) {
    text += fmt::format("{} in {} weight {}", cohort.name,
                        cohort.parent == kNone ? "-" : snapshot.cohorts[cohort.parent].name, cohort.weight);
    add_groups(cohort.groups);
  }
  for (const ClusterQueue& queue : snapshot.queues) {
    text += fmt::format("{} in {} weight {} within {} reclaim {} borrowing {}{}", queue.name,
                        queue.cohort == kNone ? "-" : snapshot.cohorts[queue.cohort].name, queue.weight,
                        static_cast<int>(queue.preemption.within_queue), static_cast<int>(queue.preemption.reclaim),
                        queue.preemption.while_borrowing.is_allowed,
                        queue.strategy == QueueingStrategy::kStrictFifo ? " strict" : "");
    add_groups(queue.groups);
  }
  for (const Workload& workload : snapshot.workloads) {
    text += fmt::format("{} in {} priority {} since {}", workload.name, snapshot.queues[workload.queue].name,
                        workload.priority, (snapshot.now - workload.queued).count() / 1'000'000'000);
    for (const PodSet& podset : workload.podsets) {
      text += fmt::format(" {}..{}x", podset.min_count.value_or(podset.count), podset.count);
      for (const auto& [resource, amount] : podset.shape->request)
        text += fmt::format(" {}{}", amount, snapshot.resources.name_of(resource));
    }
    if (workload.is_inadmissible) text += " aside";
    if (workload.is_sticky) text += " sticky";
    if (workload.admission) {
      text += workload.admission->is_evicted ? " leaves" : " holds";
      text += text_of(snapshot, workload.admission->grant);
    }
    text += "\n";
  }
  return text;
}

inline void showValue(const Recipe& recipe, std::ostream& out) {
  const Kitchen kitchen(recipe);
  out << (kitchen.options().fair_sharing ? "fair\n" : "classical\n") << text_of(kitchen.snapshot());
}

}  // namespace gangway::planning::queueing::testing

namespace rc {

template <>
struct Arbitrary<gangway::planning::queueing::testing::Recipe> {
  static Gen<gangway::planning::queueing::testing::Recipe> arbitrary() {
    using gangway::planning::queueing::testing::Recipe;
    const auto seed = gen::noShrink(gen::resize(kNominalSize, gen::inRange<std::uint32_t>(0, 0xffffffff)));
    const auto list = [&](int most) { return gen::resize(most, gen::container<std::vector<std::uint32_t>>(seed)); };
    return gen::build<Recipe>(gen::set(&Recipe::cohorts, list(5)), gen::set(&Recipe::queues, list(8)),
                              gen::set(&Recipe::workloads, list(40)), gen::set(&Recipe::all, seed));
  }
};

}  // namespace rc
