#include "planning/queueing/flavor_assigner.h"

#include <algorithm>

#include "planning/queueing/flavor_match.h"

namespace gangway::planning::queueing {
namespace {

// Of alternatives the least severe counts, of what is needed together the most severe.
int severity(PendingReason reason) {
  switch (reason) {
    case PendingReason::kNoMatchingFlavor:
      return 3;
    case PendingReason::kExceedsMaxQuota:
      return 2;
    case PendingReason::kWaitingForQuota:
      return 1;
    default:
      return 0;
  }
}

PendingReason worse(PendingReason a, PendingReason b) {
  return severity(a) >= severity(b) ? a : b;
}

PendingReason reason_of(Shortfall::Kind kind) {
  switch (kind) {
    case Shortfall::Kind::kUnused:
      return PendingReason::kWaitingForQuota;
    case Shortfall::Kind::kCapacity:
      return PendingReason::kExceedsMaxQuota;
    default:
      return PendingReason::kNoMatchingFlavor;
  }
}

// Whether a queue's rules ask to look further than at this flavor.
template <class Trial>
bool looks_further(const Fungibility& rules, const Trial& trial) {
  if (trial.mode == Mode::kNoFit || trial.mode == Mode::kNoCandidates) return true;
  if (trial.mode != Mode::kFit && !rules.stops_when_preempting) return true;
  return trial.level > 0 && !rules.stops_when_borrowing;
}

template <class Trial>
bool is_preferred(const Fungibility& rules, const Trial& one, const Trial& other) {
  for (const Mode hopeless : {Mode::kNoFit, Mode::kNoCandidates}) {
    if (one.mode == hopeless) return false;
    if (other.mode == hopeless) return true;
  }
  if (rules.preference == Fungibility::Preference::kBorrowingOverPreemption)
    return one.mode != other.mode ? one.mode > other.mode : one.level < other.level;
  return one.level != other.level ? one.level < other.level : one.mode > other.mode;
}

}  // namespace

bool Assignment::has_flavors_left() const {
  return std::any_of(progress.begin(), progress.end(), [](const auto& groups) {
    return std::any_of(groups.begin(), groups.end(), [](std::uint32_t next) { return next > 0; });
  });
}

Assignment FlavorAssigner::assign(Usage& usage, WorkloadId workload, const std::vector<std::int64_t>& counts,
                                  const Grant* pinned) {
  Assignment result;
  const Workload& row = board_.snapshot.workloads[workload];
  Job job{usage, workload, row, board_.snapshot.queues[row.queue], pinned, result};
  result.progress.assign(row.podsets.size(), std::vector<std::uint32_t>(job.queue.groups.size()));
  result.grant.resize(row.podsets.size());
  for (std::uint32_t podset = 0; podset < row.podsets.size(); ++podset)
    if (!add_podset(job, podset, counts[podset])) break;
  return result;
}

// False when it gets no flavor: then those after it are not looked at.
bool FlavorAssigner::add_podset(Job& job, std::uint32_t podset, std::int64_t count) {
  job.result.grant[podset].count = count;
  std::vector<Part> parts(job.queue.groups.size());
  for (const auto& [resource, amount] : job.workload.podsets[podset].shape->request) {
    bool is_covered = resource == kPods;  // counts only where the queue says so
    for (std::size_t group = 0; group < parts.size(); ++group) {
      const std::vector<ResourceId>& covered = job.queue.groups[group].covered;
      const auto at = std::find(covered.begin(), covered.end(), resource);
      if (at == covered.end()) continue;
      is_covered = true;
      parts[group].podset = podset;
      parts[group].group = group;
      parts[group].requests.emplace_back(at - covered.begin(), times(amount, count));
    }
    if (is_covered || amount == 0 || count == 0) continue;
    job.result.shortfalls.push_back({.podset = podset, .kind = Shortfall::Kind::kNotCovered, .resource = resource});
    job.result.mode = Mode::kNoFit;
    job.result.reason = worse(job.result.reason, reason_of(Shortfall::Kind::kNotCovered));
  }
  if (job.result.mode == Mode::kNoFit) return false;
  for (Part& part : parts) {
    if (part.requests.empty()) continue;
    std::sort(part.requests.begin(), part.requests.end());
    if (!add_part(job, part)) return false;
  }
  return true;
}

bool FlavorAssigner::add_part(Job& job, const Part& part) {
  const std::vector<FlavorQuotas>& flavors = job.queue.groups[part.group].flavors;
  std::size_t first = 0;
  if (part.podset < job.workload.progress.size() && part.group < job.workload.progress[part.podset].size())
    first = job.workload.progress[part.podset][part.group];
  if (first >= flavors.size()) first = 0;

  const std::size_t known_shortfalls = job.result.shortfalls.size();
  PendingReason mildest = PendingReason::kNone;
  Trial best;
  std::size_t index = first;
  for (; index < flavors.size(); ++index) {
    const Trial trial = try_flavor(job, part, index);
    const bool is_milder = mildest == PendingReason::kNone || severity(trial.reason) < severity(mildest);
    if (trial.reason != PendingReason::kNone && is_milder) mildest = trial.reason;
    if (is_preferred(job.queue.fungibility, trial, best)) best = trial;
    if (looks_further(job.queue.fungibility, trial)) continue;
    best = trial;
    break;
  }
  const bool has_stopped_early = index + 1 < flavors.size();
  job.result.progress[part.podset][part.group] = has_stopped_early ? static_cast<std::uint32_t>(index + 1) : 0;
  job.result.mode = std::min(job.result.mode, best.mode);
  if (best.mode == Mode::kFit) {
    job.result.shortfalls.resize(known_shortfalls);
  } else {
    job.result.reason = worse(job.result.reason, mildest);
  }
  if (best.mode == Mode::kNoFit) return false;
  grant(job, part, best);
  return true;
}

bool FlavorAssigner::is_pinned_elsewhere(const Job& job, const Part& part, FlavorId flavor) const {
  if (!job.pinned) return false;
  const std::vector<Charge>& charges = (*job.pinned)[part.podset].charges;
  const ResourceId resource = job.queue.groups[part.group].covered[part.requests.front().first];
  return std::any_of(charges.begin(), charges.end(),
                     [&](const Charge& charge) { return charge.resource == resource && charge.flavor != flavor; });
}

bool FlavorAssigner::is_excluded(Job& job, const Part& part, FlavorId id, Trial& trial) {
  const Flavor& flavor = board_.snapshot.flavors[id];
  const PodShape& shape = *job.workload.podsets[part.podset].shape;
  Shortfall why{.podset = part.podset, .flavor = id};
  if (!flavor.exists) {
    why.kind = Shortfall::Kind::kNoFlavor;
  } else if (const auto taint = untolerated_taint(flavor, shape)) {
    why.kind = Shortfall::Kind::kTaint;
    why.amount = static_cast<std::int64_t>(*taint);
  } else if (!selects(shape, flavor)) {
    why.kind = Shortfall::Kind::kAffinity;
  } else {
    return false;
  }
  job.result.shortfalls.push_back(why);
  trial.reason = reason_of(why.kind);
  return true;
}

FlavorAssigner::Trial FlavorAssigner::try_flavor(Job& job, const Part& part, std::size_t index) {
  const ResourceGroup& group = job.queue.groups[part.group];
  const FlavorId flavor = group.flavors[index].flavor;
  Trial trial{.flavor = index};
  if (is_pinned_elsewhere(job, part, flavor) || is_excluded(job, part, flavor, trial)) return trial;
  trial.mode = Mode::kFit;
  for (const auto& [place, amount] : part.requests) {
    int level = 0;
    const Mode mode = fit_one(job, part, {group.covered[place], flavor}, amount, level, trial);
    trial.modes.push_back(mode);
    trial.mode = std::min(trial.mode, mode);
    trial.level = std::max(trial.level, level);
    if (mode == Mode::kNoFit) break;
  }
  return trial;
}

Mode FlavorAssigner::fit_one(Job& job, const Part& part, FlavorResource what, std::int64_t amount, int& level,
                             Trial& trial) {
  const TreeNode node = QuotaForest::node_of(job.workload.queue);
  const Slot slot = board_.forest.slot_of(node, what);
  const QuotaForest::Cell& cell = board_.forest.cell(node, slot);
  std::int64_t before = 0;
  for (const Need& need : job.result.needs)
    if (need.slot == slot) before = need.amount;
  const std::int64_t value = plus(before, amount);
  const auto falls_short = [&](Shortfall why) {
    why.podset = part.podset;
    why.flavor = what.flavor;
    why.resource = what.resource;
    job.result.shortfalls.push_back(why);
    trial.reason = worse(trial.reason, reason_of(why.kind));
  };
  if (value > cell.potential) {
    falls_short({.kind = Shortfall::Kind::kCapacity, .amount = amount, .before = before, .capacity = cell.potential});
    return Mode::kNoFit;
  }
  const Usage::Level from = job.usage.level(node, slot, value);
  level = from.height;
  const std::int64_t available = job.usage.available(node, slot);
  if (value <= available) return Mode::kFit;
  falls_short({.kind = Shortfall::Kind::kUnused, .amount = minus(value, available)});
  const Preemption& policies = job.queue.preemption;
  const bool preempts_while_borrowing = policies.while_borrowing.is_allowed ||
                                        (board_.options.fair_sharing && policies.reclaim != PreemptionPolicy::kNever);
  if (value > cell.nominal && !from.is_below_root && !preempts_while_borrowing) return Mode::kNoFit;
  return simulate(job, slot, value, level);
}

// What preempting for this resource alone would come to.
Mode FlavorAssigner::simulate(Job& job, Slot slot, std::int64_t amount, int& level) {
  const QueueId queue = job.workload.queue;
  const std::vector<Chosen> victims =
      victims_.find(job.usage, {.workload = job.id, .queue = queue, .needs = {{slot, amount}}, .scarce = {slot}});
  if (victims.empty()) return Mode::kNoCandidates;
  for (const Chosen& victim : victims)
    job.usage.remove(QuotaForest::node_of(victim.candidate->queue), victim.candidate->uses);
  level = job.usage.level(QuotaForest::node_of(queue), slot, amount).height;
  put_back(job.usage, victims);
  const bool takes_own = std::any_of(victims.begin(), victims.end(),
                                     [&](const Chosen& victim) { return victim.candidate->queue == queue; });
  return takes_own ? Mode::kPreempt : Mode::kReclaim;
}

void FlavorAssigner::grant(Job& job, const Part& part, const Trial& best) {
  const ResourceGroup& group = job.queue.groups[part.group];
  const FlavorId flavor = group.flavors[best.flavor].flavor;
  const TreeNode node = QuotaForest::node_of(job.workload.queue);
  job.result.level = std::max(job.result.level, best.level);
  for (std::size_t i = 0; i < part.requests.size(); ++i) {
    const auto& [place, amount] = part.requests[i];
    const ResourceId resource = group.covered[place];
    const Slot slot = board_.forest.slot_of(node, {resource, flavor});
    job.result.grant[part.podset].charges.push_back({flavor, resource, amount});
    add_to(job.result.needs, slot, amount);
    if (best.modes[i] == Mode::kFit) continue;
    std::vector<Slot>& scarce = job.result.scarce;
    if (std::find(scarce.begin(), scarce.end(), slot) == scarce.end()) scarce.push_back(slot);
  }
}

}  // namespace gangway::planning::queueing
