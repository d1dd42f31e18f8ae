#include "planning/placement/victims.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace gangway::planning {
namespace {

constexpr std::int64_t kPriorityOffset = std::int64_t{1} << 31;  // so that more pods always weigh more
constexpr Duration kHour = std::chrono::hours(1);

std::int64_t seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

Victims::Victims(const Snapshot& snapshot, const Policies& policies)
    : snapshot_(snapshot),
      policies_(policies),
      facts_(snapshot.gangs.size()),
      claimed_(snapshot.pods.size()),
      by_node_(snapshot.nodes.size()),
      lowest_(std::numeric_limits<std::int64_t>::max()) {
  for (GangFacts& facts : facts_) {
    facts.started = WallTime::max();
    facts.priority = std::numeric_limits<std::int64_t>::min();
  }
  for (const Gang& gang : snapshot.gangs)
    if (gang.ticket) {
      claim(gang.ticket->victims);
      lowest_ = std::min(lowest_, priority_of(snapshot, gang));
    }
  for (PodId id = 0; id < snapshot.pods.size(); ++id) {
    const Pod& pod = snapshot.pods[id];
    if (pod.name.empty()) continue;
    // A gang is worth as much to others as it is in line: by its highest member, whether that runs or waits.
    if (pod.gang != kNone) facts_[pod.gang].priority = std::max(facts_[pod.gang].priority, pod.priority);
    if (pod.node == kNone) continue;
    by_node_[pod.node].push_back(id);
    if (is_ending_unclaimed(id)) lowest_ = std::numeric_limits<std::int64_t>::min();  // anybody may wait for it
    if (pod.is_terminating || pod.gang == kNone) continue;
    lowest_ = std::min(lowest_, pod.priority);
    GangFacts& facts = facts_[pod.gang];
    if (claimed_[id] == 0) ++facts.running;
    facts.started = std::min(facts.started, pod.since);
    facts.gpus += gpus_of(pod);
  }
  for (const DisruptionBudget& budget : snapshot.budgets) allowed_.push_back(budget.allowed);
}

std::int64_t Victims::gpus_of(const Pod& pod) const {
  std::int64_t gpus = 0;
  for (const auto& [id, amount] : pod.shape->request)
    if (snapshot_.resources.is_gpu(id)) gpus += amount;
  return gpus;
}

bool Victims::is_ending_unclaimed(PodId pod) const {
  return snapshot_.pods[pod].is_terminating && claimed_[pod] == 0;
}

bool Victims::may_evict(PodId pod, std::int64_t priority) const {
  const Pod& victim = snapshot_.pods[pod];
  if (victim.is_terminating || claimed_[pod] > 0 || victim.gang == kNone) return false;
  const GangFacts& facts = facts_[victim.gang];
  if (facts.priority >= priority) return false;
  return facts.is_stopped || protection(snapshot_.gangs[victim.gang], priority).empty();
}

std::string Victims::protection(const Gang& gang, std::int64_t priority) const {
  if (priority >= policies_.top_priority || gang.members.empty()) return {};
  const GangFacts& facts = facts_[snapshot_.pods[gang.members.front()].gang];
  if (facts.running > 0 && snapshot_.now - facts.started < gang.min_runtime)
    return fmt::format("{} is protected for the first {} of its run", full_name(gang),
                       human_duration(gang.min_runtime));
  const auto recent = std::count_if(gang.preempted.begin(), gang.preempted.end(),
                                    [&](WallTime at) { return snapshot_.now - at < kHour; });
  if (recent >= gang.max_preemptions)
    return fmt::format("{} was preempted {} times in the last hour, and no more are allowed", full_name(gang), recent);
  return {};
}

// GPUs of the whole gang, for as long as nothing was saved.
std::int64_t Victims::lost_work(GangId gang) const {
  const GangFacts& facts = facts_[gang];
  const WallTime kept = std::max(facts.started, snapshot_.gangs[gang].last_checkpoint.value_or(WallTime::min()));
  return facts.gpus * std::max<std::int64_t>(0, seconds(snapshot_.now - kept));
}

std::map<GangId, std::vector<PodId>> Victims::by_gang(const std::vector<PodId>& pods) const {
  std::map<GangId, std::vector<PodId>> gangs;
  for (const PodId pod : pods) gangs[snapshot_.pods[pod].gang].push_back(pod);
  return gangs;
}

bool Victims::can_shrink(const Gang& gang, const std::vector<PodId>& pods) const {
  if (!gang.is_elastic() || gang.members.empty()) return false;
  const GangFacts& facts = facts_[snapshot_.pods[gang.members.front()].gang];
  if (facts.is_stopped || facts.running - static_cast<std::int64_t>(pods.size()) < gang.min_members) return false;
  return std::none_of(pods.begin(), pods.end(), [&](PodId pod) { return snapshot_.pods[pod].rank == 0; });
}

std::int64_t Victims::budget_violations(const std::vector<PodId>& pods) const {
  if (snapshot_.budgets.empty()) return 0;
  std::vector<std::int64_t> left = allowed_;
  std::int64_t violations = 0;
  for (const PodId id : pods) {
    const Pod& pod = snapshot_.pods[id];
    bool violates = false;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const DisruptionBudget& budget = snapshot_.budgets[i];
      if (budget.ns == pod.ns && budget.pods.matches(pod.labels)) violates |= --left[i] < 0;
    }
    if (violates) ++violations;
  }
  return violations;
}

Cost Victims::cost_of(const std::vector<PodId>& pods) const {
  Cost cost;
  cost.violations = budget_violations(pods);
  cost.top_priority = std::numeric_limits<std::int64_t>::min();
  WallTime oldest = WallTime::max();
  for (const auto& [id, members] : by_gang(pods)) {
    const Gang& gang = snapshot_.gangs[id];
    const GangFacts& facts = facts_[id];
    if (facts.is_stopped) continue;  // it goes anyway
    const bool shrinks = can_shrink(gang, members);
    const std::int64_t touched = shrinks ? static_cast<std::int64_t>(members.size()) : facts.running;
    cost.stops |= !shrinks;
    if (!shrinks) cost.lost_gpu_seconds += lost_work(id);
    cost.priority_sum += touched * (facts.priority + kPriorityOffset);
    cost.pods += touched;
    cost.chiefs += std::count_if(members.begin(), members.end(),
                                 [&](PodId pod) { return !gang.is_plain && snapshot_.pods[pod].rank == 0; });
    if (facts.priority > cost.top_priority) oldest = WallTime::max();
    cost.top_priority = std::max(cost.top_priority, facts.priority);
    if (facts.priority == cost.top_priority) oldest = std::min(oldest, facts.started);
  }
  if (oldest != WallTime::max()) cost.age = seconds(snapshot_.now - oldest);
  return cost;
}

std::vector<Eviction> Victims::evictions_for(const std::vector<PodId>& pods) const {
  std::vector<Eviction> evictions;
  for (auto& [id, members] : by_gang(pods)) {
    const Gang& gang = snapshot_.gangs[id];
    Eviction eviction{.gang = id, .how = Eviction::How::kFail, .pods = members};
    if (can_shrink(gang, members)) {
      eviction.how = Eviction::How::kShrink;
    } else if (gang.on_preempt == OnPreempt::kRequeue) {
      eviction.how = Eviction::How::kRequeue;
      eviction.pods.clear();
      for (const PodId member : gang.members)
        if (snapshot_.pods[member].node != kNone && !snapshot_.pods[member].is_terminating && claimed_[member] == 0)
          eviction.pods.push_back(member);
    }
    evictions.push_back(std::move(eviction));
  }
  const auto name = [&](PodId pod) { return full_name(snapshot_.pods[pod]); };
  for (Eviction& eviction : evictions)
    std::sort(eviction.pods.begin(), eviction.pods.end(), [&](PodId a, PodId b) { return name(a) < name(b); });
  std::sort(evictions.begin(), evictions.end(), [&](const Eviction& a, const Eviction& b) {
    return order_name(snapshot_.gangs[a.gang]) < order_name(snapshot_.gangs[b.gang]);
  });
  return evictions;
}

std::int64_t Victims::lost_by(const std::vector<Eviction>& evictions) const {
  std::int64_t lost = 0;
  for (const Eviction& eviction : evictions)
    if (eviction.how != Eviction::How::kShrink && !facts_[eviction.gang].is_stopped) lost += lost_work(eviction.gang);
  return lost;
}

void Victims::claim(const std::vector<PodId>& pods) {
  for (const PodId pod : pods) ++claimed_[pod];
}

void Victims::claim(const std::vector<Eviction>& evictions) {
  for (const Eviction& eviction : evictions) {
    claim(eviction.pods);
    GangFacts& facts = facts_[eviction.gang];
    facts.running -= static_cast<std::int64_t>(eviction.pods.size());
    if (eviction.how != Eviction::How::kShrink) facts.is_stopped = true;
    for (const PodId id : eviction.pods) {
      const Pod& pod = snapshot_.pods[id];
      for (std::size_t i = 0; i < allowed_.size(); ++i)
        if (snapshot_.budgets[i].ns == pod.ns && snapshot_.budgets[i].pods.matches(pod.labels)) --allowed_[i];
    }
  }
}

void Victims::disclaim(const OpenTicket& ticket) {
  for (const PodId id : ticket.victims) {
    if (--claimed_[id] > 0) continue;
    const Pod& pod = snapshot_.pods[id];
    if (pod.is_terminating) {
      lowest_ = std::numeric_limits<std::int64_t>::min();
    } else if (pod.gang != kNone) {
      ++facts_[pod.gang].running;
    }
  }
}

}  // namespace gangway::planning
