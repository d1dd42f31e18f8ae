#include "scheduler/look.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planning/placement/verify.h"
#include "planning/schedule/schedule.h"
#include "sys/log.h"

namespace gangway::scheduler {
namespace {

using client::Bind;
using client::Emit;
using client::EventType;
using client::Outcome;
using client::PatchStatus;
using client::resources::kNodes;
using client::resources::kPods;

// Whether an error says that nothing was done, rather than that nobody knows.
bool is_certain(Reason reason) {
  switch (reason) {
    case Reason::kInternalError:
    case Reason::kServiceUnavailable:
    case Reason::kTimeout:
    case Reason::kUnknown:
      return false;
    default:
      return true;
  }
}

}  // namespace

json::Value with_condition(const api::Version& pod, const api::Condition& condition, WallTime now) {
  auto tree = json::parse(*pod.json);
  json::Value body = json::Object();
  if (!tree) return body;
  api::set_condition(*tree, condition, now);
  json::object_at(body, {"status"})["conditions"] = json::array_at(*tree, {"status", "conditions"});
  return body;
}

Outcome Scheduler::Look::run() {
  read_setbacks();
  model_.update(view_);
  if (is_deposed() || !is_fenced()) return std::move(outcome_);
  std::erase_if(scheduler_.last_told_, [&](const auto& entry) { return entry.second + kRepeatAfter <= view_.now(); });
  ask_again();
  const planning::Plan plan = plan_lawfully();
  take_back(plan);
  for (const auto& [name, allotment] : view_.objects(kAllotments).all()) advance(allotment);
  read_old_promises();
  for (const planning::Ticket& ticket : plan.tickets) give(ticket);
  for (const planning::Verdict& verdict : plan.verdicts) tell(verdict);
  tell_refused();
  return std::move(outcome_);
}

// A plan that breaks a law is a bug of the planner: nothing of it is done, and what it was is there to be looked into.
planning::Plan Scheduler::Look::plan_lawfully() const {
  const planning::Budget budget;
  planning::Plan plan = planning::schedule(snapshot_, model_.policies(), budget);
  const auto broken = planning::verify(snapshot_, model_.policies(), plan);
  const Cycle cycle{snapshot_, model_.policies(), budget, plan, broken, scheduler_.basis_};
  if (!scheduler_.sink_) {
    model_.take_changes();
  } else if (scheduler_.sink_->wants(cycle)) {
    scheduler_.sink_->record(cycle, model_.take_changes());
  }
  if (broken.empty()) return plan;
  for (const std::string& law : broken) sys::log_error("a plan was refused: " + law);
  plan.tickets.clear();
  plan.taken_back.clear();
  return plan;
}

// A grant that was refused holds nothing. One whose answer was lost may still be there, or come to be.
void Scheduler::Look::read_setbacks() {
  for (const client::Setback& setback : view_.setbacks())
    if (setback.resource == kAllotments && (setback.verb == "create" || setback.verb == "update"))
      model_.allotment_failed(setback.object, is_certain(setback.error.reason));
}

// Somebody leads in a later term: whatever is decided here would be decided twice. Only at the first look nobody can:
// a later term is then what was written before the count of terms was lost.
bool Scheduler::Look::is_deposed() const {
  std::int64_t latest = 0;
  for (const auto& [name, allotment] : view_.objects(kAllotments).all())
    latest = std::max(latest, facts_of(allotment)->epoch);
  if (!std::exchange(scheduler_.has_looked_, true) && latest > scheduler_.epoch_) scheduler_.epoch_ = latest + 1;
  return latest > scheduler_.epoch_;
}

bool Scheduler::Look::is_fenced() {
  const auto open = scheduler_.fence_.still_open(view_, scheduler_.name_);
  for (const api::Version& pod : open)
    if (may_write(kPods, pod.header->name))
      outcome_.allowed_now.push_back(PatchStatus{client::target_of(kPods, pod), Fence::mark(pod, view_.now())});
  return open.empty();
}

void Scheduler::Look::ask_again() {
  const auto assumed = model_.assumed();
  for (const auto& [name, entry] : assumed) {
    if (view_.is_held(kPods, name)) continue;
    if (view_.get(kNodes, {"", entry.node})) {
      bind(view_.get(kPods, name), entry.node);
    } else {
      model_.forget_assumed(name);
    }
  }
  for (auto& [name, write] : model_.take_lost_grants(view_))
    if (may_write(kAllotments, name)) outcome_.allowed_now.push_back(std::move(write));
}

void Scheduler::Look::bind(const api::Version& pod, const std::string& node) {
  const api::ObjectName& name = pod.header->name;
  // Where something else is being written to it, its room is kept until that is over and it can be bound.
  model_.assume(pod, node);
  if (!are_claims_told(pod, node) || !may_write(kPods, name)) return;
  Bind bind{client::target_of(kPods, pod), node};
  bind.announce.done = Emit{client::subject_of(kPods, "Pod", pod), EventType::kNormal, "Scheduled",
                            fmt::format("Successfully assigned {}/{} to {}", name.ns, name.name, node)};
  outcome_.allowed_now.push_back(std::move(bind));
}

}  // namespace gangway::scheduler
