#include "scheduler/ending.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

namespace gangway::scheduler {
namespace {

using planning::GangId;
using planning::kNone;
using planning::PodId;
using planning::Snapshot;

// Above everybody, so that nobody is protected from it and nobody stands before it.
constexpr std::int64_t kAboveAll = std::int64_t{1} << 41;
// How often those before the asker may take the room that was made for it.
constexpr int kRounds = 6;
constexpr std::size_t kSinglesTried = 24;
// Of more gangs than these nobody asks which could stay.
constexpr std::size_t kThinned = 12;

using Pods = std::vector<PodId>;

class Ending {
 public:
  Ending(WhatIf& what_if, const Steps& base) : what_if_(what_if), base_(base), snapshot_(what_if.snapshot()) {}

  std::optional<Pods> run() {
    auto cheapest = cheapest_for_planner();
    if (!cheapest) return std::nullopt;
    std::optional<Pods> best;
    if (suffices(*cheapest)) best = thin(*cheapest);
    if (auto one = smallest_alone(best)) best = std::move(one);
    if (!best)
      if (auto ahead = those_ahead(first_)) best = thin(*ahead);
    return best;
  }

 private:
  Steps with(const Pods& pods) const {
    Steps steps = base_;
    if (!pods.empty()) steps.emplace_back(EndPods{pods});
    return steps;
  }
  bool suffices(const Pods& pods) { return !pods.empty() && what_if_.try_with(with(pods)).has_value(); }

  // Whom the planner would take the room from, were the asker above all. Those before it in line may take it instead:
  // then there must be room for them too.
  std::optional<Pods> cheapest_for_planner() {
    Pods ended;
    for (int round = 0; round < kRounds && !what_if_.is_exhausted(); ++round) {
      Snapshot trial = what_if_.with(with(ended));
      if (round > 0 && !seat_those_ahead(trial)) break;
      apply(trial, what_if_.asker(), RaisePriority{"", kAboveAll});
      const planning::Plan plan = what_if_.plan_for(trial);
      const planning::Ticket* ticket = ticket_for(plan, what_if_.asker());
      if (ticket == nullptr) return round == 0 ? std::nullopt : std::optional(ended);
      for (const planning::Eviction& eviction : ticket->evictions) add(ended, trial, eviction);
      if (round == 0) first_ = ended;
      if (suffices(ended)) break;
    }
    return ended;
  }

  // Elastic gangs give up a few of theirs; of others nobody goes on alone.
  static void add(Pods& ended, const Snapshot& trial, const planning::Eviction& eviction) {
    const bool shrinks = eviction.how == planning::Eviction::How::kShrink;
    for (const PodId pod : shrinks ? eviction.pods : trial.gangs[eviction.gang].members)
      if (trial.pods[pod].node != kNone && std::find(ended.begin(), ended.end(), pod) == ended.end())
        ended.push_back(pod);
  }

  // What the plan gives to others before the asker has happened. False when it gives nothing to anybody.
  bool seat_those_ahead(Snapshot& trial) {
    const planning::Plan plan = what_if_.plan_for(trial);
    bool was_any = false;
    for (const planning::Ticket& ticket : plan.tickets) {
      if (ticket.gang == what_if_.asker().gang || !ticket.evictions.empty()) continue;
      for (const planning::Placement& place : ticket.places) {
        trial.pods[place.pod].node = place.node;
        trial.pods[place.pod].priority = kAboveAll;  // they are not to give way again
      }
      was_any = true;
    }
    return was_any;
  }

  // Those in line before the asker, besides whom the planner names: for rooms that are kept for them. The first few of
  // them, or the last of those alone.
  std::optional<Pods> those_ahead(const Pods& cheapest) {
    std::vector<GangId> ahead;
    for (const GangId id : line_of(snapshot_)) {
      if (id == what_if_.asker().gang) break;
      ahead.push_back(id);
    }
    const auto with_gangs = [&](std::size_t from, std::size_t to) {
      Pods pods = cheapest;
      for (std::size_t i = from; i < to; ++i) {
        const Pods waiting = waiting_members(snapshot_, ahead[i]);
        pods.insert(pods.end(), waiting.begin(), waiting.end());
      }
      return pods;
    };
    if (ahead.empty() || !suffices(with_gangs(0, ahead.size()))) return std::nullopt;
    std::size_t low = 0;
    std::size_t high = ahead.size();
    while (high - low > 1) {
      const std::size_t middle = low + (high - low) / 2;
      (suffices(with_gangs(0, middle)) ? high : low) = middle;
    }
    if (high > 1)
      if (Pods alone = with_gangs(high - 1, high); suffices(alone)) return alone;
    return with_gangs(0, high);
  }

  std::tuple<std::int64_t, std::size_t> size_of(const Pods& pods) const {
    std::int64_t gpus = 0;
    for (const PodId pod : pods)
      for (const auto& [id, amount] : snapshot_.pods[pod].shape->request)
        if (snapshot_.resources.is_gpu(id)) gpus += amount;
    return {gpus, pods.size()};
  }

  // One gang that runs and whose end alone suffices, smaller than what is known.
  std::optional<Pods> smallest_alone(const std::optional<Pods>& known) {
    std::vector<std::tuple<std::tuple<std::int64_t, std::size_t>, std::string, Pods>> candidates;
    for (GangId id = 0; id < snapshot_.gangs.size(); ++id) {
      const planning::Gang& gang = snapshot_.gangs[id];
      Pods running;
      for (const PodId pod : gang.members)
        if (snapshot_.pods[pod].node != kNone) running.push_back(pod);
      if (id == what_if_.asker().gang || running.empty()) continue;
      if (known && size_of(running) >= size_of(*known)) continue;
      candidates.emplace_back(size_of(running), full_name(gang), std::move(running));
    }
    std::sort(candidates.begin(), candidates.end());
    if (candidates.size() > kSinglesTried) candidates.resize(kSinglesTried);
    for (const auto& [size, name, pods] : candidates)
      if (suffices(pods)) return pods;
    return std::nullopt;
  }

  // Leaves out every gang that can stay.
  Pods thin(Pods pods) {
    std::map<std::string, GangId> gangs;
    for (const PodId pod : pods)
      gangs.emplace(full_name(snapshot_.gangs[snapshot_.pods[pod].gang]), snapshot_.pods[pod].gang);
    if (gangs.size() < 2 || gangs.size() > kThinned) return pods;
    for (const auto& [name, gang] : gangs) {
      Pods fewer = pods;
      std::erase_if(fewer, [&](PodId pod) { return snapshot_.pods[pod].gang == gang; });
      if (suffices(fewer)) pods = std::move(fewer);
    }
    return pods;
  }

  WhatIf& what_if_;
  const Steps& base_;
  const Snapshot& snapshot_;
  Pods first_;  // whom the planner would take the room from, were nobody before the asker
};

}  // namespace

std::optional<Pods> find_ending(WhatIf& what_if, const Steps& base) {
  return Ending(what_if, base).run();
}

}  // namespace gangway::scheduler
