#include "planning/queueing/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "planning/queueing/messages.h"
#include "planning/queueing/verify_quota.h"

namespace gangway::planning::queueing {
namespace {

using verifying::Amounts;
using verifying::Books;
using verifying::sum_of;
using verifying::What;

class Verification {
 public:
  Verification(const Snapshot& snapshot, const Options& options, const Plan& plan)
      : snapshot_(snapshot), options_(options), plan_(plan), before_(snapshot), held_(before_), promised_(before_) {}

  std::vector<std::string> run() {
    check_references();
    // What names nothing cannot be looked at any further.
    if (!problems_.empty()) return std::move(problems_);
    check_heads();
    for (const Decision& decision : plan_.decisions) {
      if (decision.outcome != Decision::Outcome::kWait) check_whole(decision);
      if (decision.outcome == Decision::Outcome::kAdmit) check_quota(decision);
      if (decision.outcome == Decision::Outcome::kPreempt) check_preemption(decision);
      if (decision.outcome != Decision::Outcome::kAdmit) check_why(decision);
      follow(decision);
    }
    check_moved_along();
    return std::move(problems_);
  }

 private:
  template <class... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  const Workload& workload(WorkloadId id) const { return snapshot_.workloads[id]; }
  std::string name_of(WorkloadId id) const { return full_name(workload(id)); }
  const ClusterQueue& queue_of(const Decision& decision) const {
    return snapshot_.queues[workload(decision.workload).queue];
  }

  void check_references();
  void check_heads();
  bool comes_before(const Workload& a, const Workload& b) const;
  void check_whole(const Decision& decision);
  void check_podset(const Decision& decision, std::size_t index);
  void check_flavor(const Decision& decision, const PodSet& podset, FlavorId flavor);
  void check_preemption(const Decision& decision);
  void check_victim(const Decision& decision, const Victim& victim, const Amounts& wanted);
  bool may_reclaim(const Decision& decision, const Victim& victim, const Amounts& wanted);
  bool could_stay(Books& books, const Decision& decision, const Amounts& wanted, const Victim& victim) const;
  void set_victims(Books& books, const Decision& decision, std::int64_t sign) const;
  void check_quota(const Decision& decision);
  void check_why(const Decision& decision);
  void check_moved_along();
  void follow(const Decision& decision);
  // Requires: it holds quota.
  const Admission& admission_of(WorkloadId id) const {
    static const Admission kNothing;
    const std::optional<Admission>& admission = workload(id).admission;
    return admission ? *admission : kNothing;
  }
  Amounts held_by(WorkloadId id) const { return sum_of(admission_of(id).grant); }

  const Snapshot& snapshot_;
  const Options& options_;
  const Plan& plan_;
  Books before_;
  Books held_;      // with this plan's admissions
  Books promised_;  // as it will be when victims have gone and preemptors have come, up to the decision looked at
  std::set<WorkloadId> victims_;
  std::vector<std::string> problems_;
};

void Verification::check_references() {
  const auto exists = [&](WorkloadId id) { return id < snapshot_.workloads.size() && !workload(id).name.empty(); };
  const auto waits = [&](WorkloadId id) {
    return exists(id) && !workload(id).admission && workload(id).queue < snapshot_.queues.size();
  };
  for (const Decision& decision : plan_.decisions) {
    if (!waits(decision.workload)) {
      report("heads: a decision is about a workload that does not wait");
      continue;
    }
    for (const Victim& victim : decision.victims)
      if (!exists(victim.workload)) report("policy: {} names a victim that does not exist", name_of(decision.workload));
    for (const PodSetGrant& grant : decision.grant)
      for (const Charge& charge : grant.charges)
        if (charge.flavor >= snapshot_.flavors.size())
          report("whole: {} gets a flavor that does not exist", name_of(decision.workload));
  }
  for (const WorkloadId id : plan_.moved_along)
    if (!waits(id)) report("why: a workload is moved along that does not wait");
}

bool Verification::comes_before(const Workload& a, const Workload& b) const {
  const auto usage = [&](const Workload& one) {
    const bool counts = snapshot_.queues[one.queue].orders_by_local_usage && one.local_queue != kNone;
    return counts ? snapshot_.local_queues[one.local_queue].usage : 0;
  };
  const auto key = [&](const Workload& one) {
    return std::tuple(usage(one), !one.is_sticky, -one.priority, one.queued);
  };
  return std::tuple_cat(key(a), std::tie(a.uid)) < std::tuple_cat(key(b), std::tie(b.uid));
}

void Verification::check_heads() {
  std::map<QueueId, WorkloadId> heads;
  for (WorkloadId id = 0; id < snapshot_.workloads.size(); ++id) {
    const Workload& one = workload(id);
    if (one.name.empty() || one.admission || one.is_inadmissible || one.queue == kNone) continue;
    if (!snapshot_.queues[one.queue].is_active || before_.is_in_circle(one.queue)) continue;
    const auto [at, is_first] = heads.try_emplace(one.queue, id);
    if (!is_first && comes_before(one, workload(at->second))) at->second = id;
  }
  std::set<WorkloadId> decided;
  for (const Decision& decision : plan_.decisions) {
    const auto head = heads.find(workload(decision.workload).queue);
    if (head == heads.end() || head->second != decision.workload)
      report("heads: {} is not the head of {}", name_of(decision.workload), queue_of(decision).name);
    if (!decided.insert(decision.workload).second) report("heads: {} is decided twice", name_of(decision.workload));
  }
  for (const auto& [queue, head] : heads)
    if (!decided.contains(head)) report("heads: nothing is decided about {}", name_of(head));
}

void Verification::check_whole(const Decision& decision) {
  if (decision.grant.size() != workload(decision.workload).podsets.size())
    return report("whole: {} gets {} of {} podsets", name_of(decision.workload), decision.grant.size(),
                  workload(decision.workload).podsets.size());
  for (std::size_t i = 0; i < decision.grant.size(); ++i) check_podset(decision, i);
}

void Verification::check_podset(const Decision& decision, std::size_t index) {
  const PodSet& podset = workload(decision.workload).podsets[index];
  const PodSetGrant& grant = decision.grant[index];
  const std::string who = name_of(decision.workload);
  if (grant.count > podset.count || grant.count < podset.min_count.value_or(podset.count))
    report("whole: {} gets {} pods of {}", who, grant.count, podset.name);
  std::map<ResourceId, Charge> charges;
  for (const Charge& charge : grant.charges)
    if (!charges.emplace(charge.resource, charge).second) report("whole: {} is charged twice for one resource", who);
  std::map<const ResourceGroup*, FlavorId> flavors;
  for (const auto& [resource, amount] : podset.shape->request) {
    const ResourceGroup* group = nullptr;
    for (const ResourceGroup& one : queue_of(decision).groups)
      if (std::count(one.covered.begin(), one.covered.end(), resource) > 0) group = &one;
    const auto charge = charges.find(resource);
    if (!group && resource == kPods) continue;
    if (!group || charge == charges.end()) {
      if (grant.count > 0)
        report("whole: {} gets no {} for {}", who, snapshot_.resources.name_of(resource), podset.name);
      continue;
    }
    if (charge->second.amount != amount * grant.count)
      report("whole: {} is charged {} of {} for {}", who, charge->second.amount, snapshot_.resources.name_of(resource),
             podset.name);
    const FlavorId flavor = charge->second.flavor;
    if (std::none_of(group->flavors.begin(), group->flavors.end(),
                     [&](const auto& one) { return one.flavor == flavor; }))
      report("whole: {} gets flavor {}, which {} does not have", who, snapshot_.flavors[flavor].name,
             queue_of(decision).name);
    if (flavors.try_emplace(group, flavor).first->second != flavor)
      report("whole: {} gets resources of one group in two flavors", who);
    check_flavor(decision, podset, flavor);
    charges.erase(charge);
  }
  if (!charges.empty()) report("whole: {} is charged for what it does not ask for", who);
}

// Whether the machines of the flavor take the pods.
void Verification::check_flavor(const Decision& decision, const PodSet& podset, FlavorId id) {
  const Flavor& flavor = snapshot_.flavors[id];
  bool is_good = flavor.exists;
  for (const Taint& taint : flavor.taints) {
    bool is_tolerated = taint.effect == Taint::Effect::kPreferNoSchedule;
    for (const auto* const list : {&podset.shape->tolerations, &flavor.tolerations})
      for (const Toleration& toleration : *list) is_tolerated = is_tolerated || toleration.tolerates(taint);
    is_good = is_good && is_tolerated;
  }
  for (const NodeSelector& selector : podset.shape->required) {
    bool is_selected = false;
    for (const NodeTerm& term : selector.terms) {
      bool holds = true;
      for (const Requirement& requirement : term.labels)
        if (const std::string* const value = find_label(flavor.node_labels, requirement.key))
          holds = holds && requirement.matches(value);
      is_selected = is_selected || holds;
    }
    is_good = is_good && is_selected;
  }
  if (!is_good) report("whole: {} gets flavor {}, which does not take it", name_of(decision.workload), flavor.name);
}

void Verification::check_preemption(const Decision& decision) {
  const Amounts wanted = sum_of(decision.grant);
  if (decision.victims.empty()) report("need: {} preempts nobody", name_of(decision.workload));
  for (const Victim& victim : decision.victims) check_victim(decision, victim, wanted);
  // A victim that does not hold anything has been reported already.
  const bool all_hold = std::all_of(decision.victims.begin(), decision.victims.end(), [&](const Victim& victim) {
    return workload(victim.workload).admission.has_value();
  });
  if (!all_hold) return;
  for (Books* const books : {&before_, &promised_}) set_victims(*books, decision, -1);
  if (!promised_.fits(workload(decision.workload).queue, wanted))
    report("need: {} has no room when its victims have gone", name_of(decision.workload));
  for (const Victim& victim : decision.victims)
    if (could_stay(before_, decision, wanted, victim) && could_stay(promised_, decision, wanted, victim))
      report("need: {} could stay although {} preempts it", name_of(victim.workload), name_of(decision.workload));
  for (Books* const books : {&before_, &promised_}) set_victims(*books, decision, 1);
}

// All victims of the decision leave, or come back.
void Verification::set_victims(Books& books, const Decision& decision, std::int64_t sign) const {
  for (const Victim& victim : decision.victims)
    books.add(admission_of(victim.workload).queue, held_by(victim.workload), sign);
}

// All others have gone. Whether all would be as it is if this one stayed: room, and no borrowing that is not there
// otherwise.
bool Verification::could_stay(Books& books, const Decision& decision, const Amounts& wanted,
                              const Victim& victim) const {
  const QueueId queue = workload(decision.workload).queue;
  const QueueId its_queue = admission_of(victim.workload).queue;
  const Amounts has = held_by(victim.workload);
  const auto would_borrow = [&] {
    return std::any_of(wanted.begin(), wanted.end(), [&](const auto& one) {
      return books.used(queue, one.first) + one.second > books.nominal(queue, one.first);
    });
  };
  const bool borrows = would_borrow();
  books.add(its_queue, has);
  const bool is_same = would_borrow() == borrows && books.fits(queue, wanted);
  books.add(its_queue, has, -1);
  return is_same;
}

void Verification::check_victim(const Decision& decision, const Victim& victim, const Amounts& wanted) {
  const Workload& preemptor = workload(decision.workload);
  const Workload& other = workload(victim.workload);
  const std::string who = name_of(decision.workload);
  if (!other.admission) return report("policy: {} preempts {}, which holds nothing", who, full_name(other));
  if (!victims_.insert(victim.workload).second)
    report("policy: {} preempts {}, which goes already", who, full_name(other));
  const Amounts has = held_by(victim.workload);
  if (std::none_of(has.begin(), has.end(),
                   [&](const auto& one) { return one.second > 0 && wanted.contains(one.first); }))
    report("policy: {} preempts {}, which has nothing that it wants", who, full_name(other));

  const bool is_own = other.admission->queue == preemptor.queue;
  const Preemption& policies = queue_of(decision).preemption;
  const bool is_lower = other.priority < preemptor.priority;
  const bool is_newer = other.priority == preemptor.priority && preemptor.queued < other.queued;
  bool is_allowed = false;
  switch (is_own ? policies.within_queue : policies.reclaim) {
    case PreemptionPolicy::kNever:
      break;
    case PreemptionPolicy::kLowerPriority:
      is_allowed = is_lower;
      break;
    case PreemptionPolicy::kLowerOrNewerEqualPriority:
      is_allowed = is_lower || is_newer;
      break;
    case PreemptionPolicy::kAny:
      is_allowed = true;
      break;
  }
  if (is_own != (victim.reason == Victim::Reason::kInClusterQueue)) is_allowed = false;
  if (!is_own) is_allowed = is_allowed && may_reclaim(decision, victim, wanted);
  if (!is_allowed) report("policy: {} preempts {} as {}", who, full_name(other), reason_text(victim.reason));
}

bool Verification::may_reclaim(const Decision& decision, const Victim& victim, const Amounts& wanted) {
  const Workload& preemptor = workload(decision.workload);
  const Workload& other = workload(victim.workload);
  const QueueId lender = preemptor.queue;
  const QueueId borrower = admission_of(victim.workload).queue;
  if (!before_.is_one_tree(lender, borrower)) return false;
  if (!before_.borrows_any(borrower, wanted) && !promised_.borrows_any(borrower, wanted)) return false;
  const BorrowWithinCohort& rule = queue_of(decision).preemption.while_borrowing;
  switch (victim.reason) {
    case Victim::Reason::kInClusterQueue:
      return false;
    case Victim::Reason::kInCohortReclamation:
      return true;
    case Victim::Reason::kInCohortReclaimWhileBorrowing:
      return !options_.fair_sharing && rule.is_allowed && other.priority < preemptor.priority &&
             other.priority <= rule.max_priority_threshold.value_or(other.priority);
    case Victim::Reason::kInCohortFairSharing:
      return options_.fair_sharing;
  }
  return false;
}

void Verification::follow(const Decision& decision) {
  const QueueId queue = workload(decision.workload).queue;
  Amounts taken = sum_of(decision.grant);
  if (decision.outcome == Decision::Outcome::kAdmit) held_.add(queue, taken);
  for (const Charge& charge : decision.reserved) taken[{charge.flavor, charge.resource}] += charge.amount;
  promised_.add(queue, taken);
  for (const Victim& victim : decision.victims)
    if (const auto& admission = workload(victim.workload).admission)
      promised_.add(admission->queue, sum_of(admission->grant), -1);
}

// Given after those before it, while all victims are still there.
void Verification::check_quota(const Decision& decision) {
  for (const auto& [what, amount] : sum_of(decision.grant))
    for (const std::string& node : held_.exceeded_with(workload(decision.workload).queue, what, amount))
      report("quota: {} has more {} in flavor {} than it may, with {}", node, snapshot_.resources.name_of(what.second),
             snapshot_.flavors[what.first].name, name_of(decision.workload));
}

void Verification::check_why(const Decision& decision) {
  const std::string who = name_of(decision.workload);
  if (decision.reason == PendingReason::kNone || message_of(snapshot_, decision).empty())
    report("why: {} waits and does not know why", who);
  if (decision.requeue == Decision::Requeue::kNone) report("why: {} waits nowhere", who);
  const bool is_taken = workload(decision.workload).is_namespace_selected;
  if (decision.requeue == Decision::Requeue::kInadmissible && is_taken &&
      queue_of(decision).strategy == QueueingStrategy::kStrictFifo)
    report("why: {} is set aside in the strict queue {}", who, queue_of(decision).name);
}

void Verification::check_moved_along() {
  std::set<std::pair<QueueId, std::uint64_t>> aside;
  for (const Decision& decision : plan_.decisions) {
    const Workload& one = workload(decision.workload);
    if (decision.requeue == Decision::Requeue::kInadmissible && one.likeness != 0)
      aside.insert({one.queue, one.likeness});
  }
  for (const WorkloadId id : plan_.moved_along)
    if (!aside.contains({workload(id).queue, workload(id).likeness}))
      report("why: {} is moved along with nobody like it", name_of(id));
}

}  // namespace

std::vector<std::string> verify(const Snapshot& snapshot, const Options& options, const Plan& plan) {
  return Verification(snapshot, options, plan).run();
}

}  // namespace gangway::planning::queueing
