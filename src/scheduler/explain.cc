#include "scheduler/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>

#include "planning/placement/victims.h"
#include "planning/schedule/schedule.h"
#include "scheduler/describe.h"

namespace gangway::scheduler {
namespace {

using planning::Gang;
using planning::GangId;
using planning::kNone;
using planning::Pod;
using planning::PodId;
using planning::Snapshot;
using planning::Verdict;

constexpr std::size_t kAheadNamed = 3;
constexpr Duration kHour = std::chrono::hours(1);
constexpr std::int64_t kHighestUserPriority = 1'000'000'000;

WaitReport::Code code_of(Verdict::Code code) {
  if (code == Verdict::Code::kGangIncomplete) return WaitReport::Code::kGangIncomplete;
  if (code == Verdict::Code::kWaitsForVictims) return WaitReport::Code::kWaitsForVictims;
  return WaitReport::Code::kUnschedulable;
}

}  // namespace

GangName name_of(const Gang& gang) {
  return {gang.is_plain ? "Pod" : "PodGroup", gang.ns, gang.name};
}

GangExplainer::GangExplainer(const Snapshot& snapshot, const planning::Policies& policies,
                             std::vector<PriorityClass> classes)
    : snapshot_(snapshot),
      policies_(policies),
      classes_(std::move(classes)),
      plan_(planning::schedule(snapshot, policies)) {
  std::sort(classes_.begin(), classes_.end(), [](const PriorityClass& a, const PriorityClass& b) {
    return std::tie(a.value, a.name) < std::tie(b.value, b.name);
  });
}

WaitReport GangExplainer::why_waits(const Asker& asker) const {
  const Gang& gang = snapshot_.gangs[asker.gang];
  WaitReport report{.gang = name_of(gang)};
  for (const PodId pod : waiting_members(snapshot_, asker.gang)) {
    report.pods.push_back(snapshot_.pods[pod].name);
    report.never_preempts |= snapshot_.pods[pod].never_preempts;
  }
  std::sort(report.pods.begin(), report.pods.end());
  report.running = planning::running_of(snapshot_, gang);
  report.min_members = gang.min_members;
  report.priority = planning::priority_of(snapshot_, gang);
  report.since = asker.pod == kNone ? gang.since : snapshot_.pods[asker.pod].since;
  tell_line(asker, report);
  tell_verdict(asker, report);
  if (report.code == WaitReport::Code::kUnschedulable || report.code == WaitReport::Code::kGangIncomplete) {
    for (Change& change : find_changes(snapshot_, policies_, classes_, asker)) {
      ChangeReport told{.granted = std::move(change.granted)};
      for (const Step& step : change.steps) {
        told.text += (told.text.empty() ? "" : ", and ") + text_of(snapshot_, asker, step);
        told.steps.push_back(to_json(snapshot_, asker, step));
      }
      report.changes.push_back(std::move(told));
    }
  }
  return report;
}

void GangExplainer::tell_line(const Asker& asker, WaitReport& report) const {
  const std::vector<GangId> line = line_of(snapshot_);
  const auto at = std::find(line.begin(), line.end(), asker.gang);
  report.in_line = line.size();
  report.position = static_cast<std::size_t>(at - line.begin()) + 1;
  for (auto before = line.begin(); before != at && report.ahead.size() < kAheadNamed; ++before)
    report.ahead.push_back(full_name(snapshot_.gangs[*before]));
}

void GangExplainer::tell_verdict(const Asker& asker, WaitReport& report) const {
  const Gang& gang = snapshot_.gangs[asker.gang];
  if (plan_.reservation) {
    const planning::Reservation& reservation = *plan_.reservation;
    if (reservation.gang == asker.gang) {
      report.starts = reservation.starts;
    } else {
      report.room_kept_for = full_name(snapshot_.gangs[reservation.gang]);
    }
  }
  if (gang.ticket) {
    for (const auto& place : gang.ticket->places)
      report.places.emplace_back(snapshot_.pods[place.pod].name, snapshot_.nodes[place.node].name);
    for (const PodId victim : gang.ticket->victims) report.leaving.push_back(full_name(snapshot_.pods[victim]));
  }
  for (const Verdict& verdict : plan_.verdicts) {
    if (verdict.gang != asker.gang) continue;
    report.code = code_of(verdict.code);
    report.message = verdict.message;
    const PodId stuck = verdict.pod == kNone ? waiting_members(snapshot_, asker.gang).front() : verdict.pod;
    report.needs = request_text(snapshot_.resources, snapshot_.pods[stuck].shape->request);
    if (verdict.nearest != kNone) {
      report.nearest = snapshot_.nodes[verdict.nearest].name;
      if (!verdict.short_by.empty()) report.lacks = request_text(snapshot_.resources, verdict.short_by);
    }
    tell_holders(verdict, report);
    return;
  }
  report.code = WaitReport::Code::kHasRoom;
  if (const planning::Ticket* ticket = ticket_for(plan_, {asker.gang, kNone}))
    for (const planning::Placement& place : ticket->places)
      report.places.emplace_back(snapshot_.pods[place.pod].name, snapshot_.nodes[place.node].name);
}

void GangExplainer::tell_holders(const Verdict& verdict, WaitReport& report) const {
  if (verdict.code != Verdict::Code::kUnschedulable || verdict.short_by.empty()) return;
  for (const GangId id : verdict.blockers) {
    const Gang& gang = snapshot_.gangs[id];
    Holder holder{.gang = name_of(gang), .priority = planning::priority_of(snapshot_, gang), .since = WallTime::max()};
    bool is_in_the_way = false;
    for (const PodId member : gang.members) {
      const Pod& pod = snapshot_.pods[member];
      if (pod.node == kNone) continue;
      ++holder.pods;
      holder.gpus += gpus_of(snapshot_, pod);
      holder.since = std::min(holder.since, pod.since);
      if (pod.ends) holder.ends = std::max(holder.ends.value_or(*pod.ends), *pod.ends);
      for (const auto& [resource, lack] : verdict.short_by)
        is_in_the_way |= pod.node == verdict.nearest && planning::amount_of(pod.shape->request, resource) > 0;
    }
    if (!is_in_the_way) continue;
    holder.why_not = why_kept(id, verdict.gang, report);
    report.holders.push_back(std::move(holder));
  }
}

std::string GangExplainer::why_kept(GangId holder, GangId asker, const WaitReport& report) const {
  if (const std::string to = promised_to(holder); !to.empty()) return fmt::format("its room is promised to {}", to);
  if (report.never_preempts) return fmt::format("{} has preemptionPolicy: Never", report.gang.full());
  std::int64_t with = std::numeric_limits<std::int64_t>::max();
  for (const PodId pod : waiting_members(snapshot_, asker)) with = std::min(with, snapshot_.pods[pod].priority);
  const Gang& gang = snapshot_.gangs[holder];
  if (const std::int64_t priority = planning::priority_of(snapshot_, gang); priority >= with)
    return fmt::format("its priority {} is not below {}", priority, with);
  return planning::Victims(snapshot_, policies_).protection(gang, with);
}

std::string GangExplainer::promised_to(GangId id) const {
  for (const Gang& other : snapshot_.gangs) {
    if (!other.ticket) continue;
    for (const PodId victim : other.ticket->victims)
      if (snapshot_.pods[victim].gang == id) return full_name(other);
  }
  return {};
}

RunReport GangExplainer::how_it_runs(GangId id) const {
  const Gang& gang = snapshot_.gangs[id];
  RunReport report{.gang = name_of(gang), .priority = planning::priority_of(snapshot_, gang)};
  WallTime started = WallTime::max();
  std::vector<PodId> running;
  for (const PodId member : gang.members) {
    const Pod& pod = snapshot_.pods[member];
    if (pod.node == kNone) continue;
    report.places.push_back({pod.name, snapshot_.nodes[pod.node].name, pod.since, pod.ends, pod.is_terminating});
    if (pod.is_terminating) continue;
    started = std::min(started, pod.since);
    running.push_back(member);
  }
  std::sort(report.places.begin(), report.places.end(), [](const auto& a, const auto& b) { return a.pod < b.pod; });
  for (const PriorityClass& one : classes_)
    if (one.value > report.priority && one.value <= kHighestUserPriority && !one.never_preempts)
      report.above.push_back(one);
  report.promised_to = promised_to(id);
  const planning::Victims victims(snapshot_, policies_);
  report.protection = victims.protection(gang, report.priority + 1);
  report.top_priority = policies_.top_priority;
  if (!running.empty() && snapshot_.now - started < gang.min_runtime)
    report.protected_until = started + gang.min_runtime;
  report.preempted = std::count_if(gang.preempted.begin(), gang.preempted.end(),
                                   [&](WallTime at) { return snapshot_.now - at < kHour; });
  report.max_preemptions = gang.max_preemptions;
  report.on_preempt = gang.on_preempt;
  report.is_elastic = gang.is_elastic();
  report.lost_gpu_seconds = victims.cost_of(running).lost_gpu_seconds;
  std::set<std::string> budgets;
  for (const planning::DisruptionBudget& budget : snapshot_.budgets)
    for (const PodId pod : running)
      if (budget.ns == snapshot_.pods[pod].ns && budget.pods.matches(snapshot_.pods[pod].labels))
        budgets.insert(fmt::format("{}/{} allows {} more disruption{}", budget.ns, budget.name, budget.allowed,
                                   budget.allowed == 1 ? "" : "s"));
  report.budgets.assign(budgets.begin(), budgets.end());
  return report;
}

}  // namespace gangway::scheduler
