#include "planning/queueing/cycle.h"

#include <algorithm>
#include <utility>

#include "planning/queueing/board.h"
#include "planning/queueing/cycle_order.h"
#include "planning/queueing/entry.h"

namespace gangway::planning::queueing {
namespace {

class Cycle {
 public:
  Cycle(const Snapshot& snapshot, const Queues& queues, const Options& options)
      : board_(snapshot, queues, options),
        nominator_(board_),
        counted_(board_.forest, queues),
        promised_(counted_),
        held_(counted_) {}

  Plan run() {
    find_heads();  // 1. one of each queue
    nominate();    // 2. each as if alone
    serve();       // 3. in order, on what those before have left
    move_along();  // 4. who is like one that nothing can be done for
    return std::move(plan_);
  }

 private:
  using Outcome = Decision::Outcome;
  using Requeue = Decision::Requeue;

  void find_heads();
  void nominate();
  bool is_barred(Entry& entry) const;
  void serve();
  void serve(Entry& entry);
  void resolve_overlap(Entry& entry);
  void admit(Entry& entry);
  void preempt(Entry& entry);
  void reserve_for_blocked(Entry& entry);
  void reserve(Entry& entry, Slot slot, std::int64_t amount);
  void wait(Entry& entry, PendingReason reason, Remark remark, Requeue requeue) const;
  void move_along();
  bool shares_victims(const Entry& entry) const;
  bool fits_without(const Needs& needs, QueueId queue, const std::vector<Chosen>& victims);
  const ClusterQueue& queue_of(const Entry& entry) const { return board_.snapshot.queues[entry.queue]; }

  Board board_;
  Nominator nominator_;
  // Three views of what is used. Nobody is given what a victim still has, although it is promised already:
  Usage counted_;   // with all that was given or reserved in this cycle, victims included
  Usage promised_;  // the same without the victims
  Usage held_;      // what will be held when this cycle's admissions are done: the law
  std::vector<Entry> entries_;
  Plan plan_;
};

void Cycle::find_heads() {
  const std::vector<ClusterQueue>& queues = board_.snapshot.queues;
  for (QueueId id = 0; id < queues.size(); ++id) {
    if (queues[id].name.empty() || !queues[id].is_active || board_.forest.is_cyclic(QuotaForest::node_of(id))) continue;
    const std::set<Turn>& pending = board_.queues.pending(id);
    if (pending.empty()) continue;
    const WorkloadId head = pending.begin()->workload;
    entries_.push_back({.workload = head, .queue = id, .decision = {.workload = head}});
  }
}

bool Cycle::is_barred(Entry& entry) const {
  const Workload& workload = board_.snapshot.workloads[entry.workload];
  if (workload.has_failed_checks) {
    wait(entry, PendingReason::kMisconfigured, Remark::kFailedChecks, Requeue::kInadmissible);
  } else if (!workload.is_namespace_selected) {
    wait(entry, PendingReason::kMisconfigured, Remark::kNamespaceNotSelected, Requeue::kInadmissible);
    // Not even a strict queue is held up by one that it does not take.
    entry.decision.requeue = Requeue::kInadmissible;
  } else {
    return false;
  }
  return true;
}

void Cycle::nominate() {
  std::vector<Entry> contenders;
  for (Entry& entry : entries_) {
    bool is_out = is_barred(entry);
    if (!is_out) {
      entry.nomination = nominator_.nominate(counted_, entry.workload);
      Assignment& assignment = entry.nomination.assignment;
      entry.decision.borrow_level = assignment.level;
      entry.decision.shortfalls = std::move(assignment.shortfalls);
      entry.decision.progress = assignment.progress;
      is_out = assignment.mode == Mode::kNoFit;
      if (is_out) wait(entry, assignment.reason, Remark::kNone, Requeue::kInadmissible);
    }
    if (is_out) {
      plan_.decisions.push_back(std::move(entry.decision));
    } else {
      contenders.push_back(std::move(entry));
    }
  }
  entries_ = std::move(contenders);
  // They do not stand on each other: any order will do that does not depend on the tables.
  std::sort(plan_.decisions.begin(), plan_.decisions.end(), [&](const Decision& a, const Decision& b) {
    return board_.snapshot.workloads[a.workload].uid < board_.snapshot.workloads[b.workload].uid;
  });
}

void Cycle::serve() {
  CycleOrder order(board_, entries_);
  while (Entry* const entry = order.next(counted_)) {
    serve(*entry);
    plan_.decisions.push_back(std::move(entry->decision));
  }
}

void Cycle::serve(Entry& entry) {
  if (entry.nomination.needs_victims() && entry.nomination.victims.empty()) {
    reserve_for_blocked(entry);
    return wait(entry, entry.nomination.assignment.reason, Remark::kNone, Requeue::kInadmissible);
  }
  if (shares_victims(entry)) return resolve_overlap(entry);
  const Assignment& assignment = entry.nomination.assignment;
  const TreeNode node = QuotaForest::node_of(entry.queue);
  const bool fits = assignment.is_fit() ? promised_.fits(node, assignment.needs) && held_.fits(node, assignment.needs)
                                        : fits_without(assignment.needs, entry.queue, entry.nomination.victims);
  if (!fits) return wait(entry, PendingReason::kWaitingForQuota, Remark::kNoLongerFits, Requeue::kAtOnce);
  if (assignment.is_fit()) {
    admit(entry);
  } else {
    preempt(entry);
  }
}

bool Cycle::shares_victims(const Entry& entry) const {
  const std::vector<Chosen>& victims = entry.nomination.victims;
  return std::any_of(victims.begin(), victims.end(),
                     [&](const Chosen& victim) { return board_.candidates.is_taken(victim.candidate->workload()); });
}

// Somebody before it takes the same victims: with those gone it may find the rest, or need nobody else.
void Cycle::resolve_overlap(Entry& entry) {
  Nomination again = nominator_.nominate_again(promised_, entry.workload, entry.nomination.assignment.grant);
  if (again.assignment.is_fit()) {
    for (const Need& need : again.assignment.needs) reserve(entry, need.slot, need.amount);
    return wait(entry, PendingReason::kWaitingForPreemptedWorkloads, Remark::kFitsAfterOthers, Requeue::kAtOnce);
  }
  if (again.victims.empty())
    return wait(entry, PendingReason::kWaitingForQuota, Remark::kOverlappingVictims, Requeue::kAtOnce);
  entry.decision.shortfalls = std::move(again.assignment.shortfalls);
  entry.nomination = std::move(again);
  preempt(entry);
}

bool Cycle::fits_without(const Needs& needs, QueueId queue, const std::vector<Chosen>& victims) {
  for (const Chosen& victim : victims)
    promised_.remove(QuotaForest::node_of(victim.candidate->queue), victim.candidate->uses);
  const bool fits = promised_.fits(QuotaForest::node_of(queue), needs);
  put_back(promised_, victims);
  return fits;
}

void Cycle::admit(Entry& entry) {
  Assignment& assignment = entry.nomination.assignment;
  for (Usage* const usage : {&counted_, &promised_, &held_})
    usage->add(QuotaForest::node_of(entry.queue), assignment.needs);
  entry.decision.outcome = Outcome::kAdmit;
  entry.decision.grant = std::move(assignment.grant);
  entry.decision.shortfalls.clear();
  entry.decision.progress.clear();
}

void Cycle::preempt(Entry& entry) {
  Assignment& assignment = entry.nomination.assignment;
  for (const Chosen& victim : entry.nomination.victims) {
    promised_.remove(QuotaForest::node_of(victim.candidate->queue), victim.candidate->uses);
    board_.candidates.take(victim.candidate->workload());
    entry.decision.victims.push_back({victim.candidate->workload(), victim.reason});
  }
  for (Usage* const usage : {&counted_, &promised_}) usage->add(QuotaForest::node_of(entry.queue), assignment.needs);
  entry.decision.outcome = Outcome::kPreempt;
  entry.decision.borrow_level = assignment.level;
  entry.decision.grant = std::move(assignment.grant);
  entry.decision.reason = PendingReason::kWaitingForPreemptedWorkloads;
  entry.decision.requeue = Requeue::kAtOnce;
  entry.decision.becomes_sticky = queue_of(entry).strategy == QueueingStrategy::kBestEffortFifo;
  // When the victims have gone all flavors are worth a look again.
  entry.decision.progress.clear();
}

// One that could run if only somebody could be preempted keeps what it may have from those who come after it in this
// cycle. Who may reclaim whatever it lent need not.
void Cycle::reserve_for_blocked(Entry& entry) {
  if (queue_of(entry).preemption.reclaim == PreemptionPolicy::kAny) return;
  const Assignment& assignment = entry.nomination.assignment;
  const TreeNode node = QuotaForest::node_of(entry.queue);
  for (const Need& need : assignment.needs) {
    const QuotaForest::Cell& cell = board_.forest.cell(node, need.slot);
    std::int64_t most = minus(cell.nominal, counted_.used(node, need.slot));
    if (assignment.level > 0)
      most = cell.borrowing_limit == kUnlimited ? need.amount : plus(most, cell.borrowing_limit);
    const std::int64_t amount = std::min(need.amount, most);
    if (amount > 0) reserve(entry, need.slot, amount);
  }
}

void Cycle::reserve(Entry& entry, Slot slot, std::int64_t amount) {
  const TreeNode node = QuotaForest::node_of(entry.queue);
  counted_.add(node, slot, amount);
  promised_.add(node, slot, amount);
  const FlavorResource what = board_.forest.slots(node)[slot];
  entry.decision.reserved.push_back({what.flavor, what.resource, amount});
}

void Cycle::wait(Entry& entry, PendingReason reason, Remark remark, Requeue requeue) const {
  const bool is_strict = queue_of(entry).strategy == QueueingStrategy::kStrictFifo;
  // The search through flavors only goes forward. Where several podsets take turns in going back to their first flavors
  // it would never end, and keep everybody behind it waiting.
  const ScanProgress& before = board_.snapshot.workloads[entry.workload].progress;
  const bool has_flavors_left = entry.nomination.assignment.has_flavors_left() && entry.decision.progress > before;
  if (!has_flavors_left) entry.decision.progress.clear();
  entry.decision.outcome = Outcome::kWait;
  entry.decision.reason = reason;
  entry.decision.remark = remark;
  entry.decision.requeue = is_strict || has_flavors_left ? Requeue::kAtOnce : requeue;
}

void Cycle::move_along() {
  for (const Decision& decision : plan_.decisions) {
    const Workload& workload = board_.snapshot.workloads[decision.workload];
    if (decision.requeue != Requeue::kInadmissible || decision.shortfalls.empty() || workload.likeness == 0) continue;
    for (const WorkloadId other : board_.queues.alike(workload.queue, workload.likeness))
      if (other != decision.workload) plan_.moved_along.push_back(other);
  }
  std::sort(plan_.moved_along.begin(), plan_.moved_along.end(), [&](WorkloadId a, WorkloadId b) {
    return board_.snapshot.workloads[a].uid < board_.snapshot.workloads[b].uid;
  });
}

}  // namespace

Plan plan(const Snapshot& snapshot, const Queues& queues, const Options& options) {
  return Cycle(snapshot, queues, options).run();
}

Plan plan(const Snapshot& snapshot, const Options& options) {
  return plan(snapshot, Queues(snapshot), options);
}

}  // namespace gangway::planning::queueing
