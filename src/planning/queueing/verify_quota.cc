#include "planning/queueing/verify_quota.h"

#include <algorithm>

namespace gangway::planning::queueing::verifying {

Amounts sum_of(const Grant& grant) {
  Amounts sum;
  for (const PodSetGrant& podset : grant)
    for (const Charge& charge : podset.charges) sum[{charge.flavor, charge.resource}] += charge.amount;
  return sum;
}

Books::Books(const Snapshot& snapshot) : snapshot_(snapshot), used_(snapshot.queues.size()) {
  for (QueueId id = 0; id < snapshot.queues.size(); ++id)
    if (snapshot.queues[id].cohort != kNone) queues_in_[snapshot.queues[id].cohort].push_back(id);
  for (CohortId id = 0; id < snapshot.cohorts.size(); ++id)
    if (snapshot.cohorts[id].parent != kNone) cohorts_in_[snapshot.cohorts[id].parent].push_back(id);
  for (const Workload& workload : snapshot.workloads)
    if (!workload.name.empty() && workload.admission) add(workload.admission->queue, sum_of(workload.admission->grant));
}

void Books::add(QueueId queue, const Amounts& amounts, std::int64_t sign) {
  for (const auto& [what, amount] : amounts) used_[queue][what] += sign * amount;
}

std::int64_t Books::used(QueueId queue, What what) const {
  const auto at = used_[queue].find(what);
  return at == used_[queue].end() ? 0 : at->second;
}

Quota Books::quota_in(const std::vector<ResourceGroup>& groups, What what) {
  for (const ResourceGroup& group : groups)
    for (const FlavorQuotas& flavor : group.flavors)
      for (std::size_t i = 0; i < group.covered.size(); ++i)
        if (What{flavor.flavor, group.covered[i]} == what && i < flavor.quotas.size()) return flavor.quotas[i];
  return {};
}

std::int64_t Books::nominal(QueueId queue, What what) const {
  return quota_in(snapshot_.queues[queue].groups, what).nominal;
}

bool Books::borrows_any(QueueId queue, const Amounts& amounts) const {
  return std::any_of(amounts.begin(), amounts.end(), [&](const auto& one) { return borrows(queue, one.first); });
}

void Books::keep_back(State& state) {
  if (state.own.lending_limit) state.kept = std::max<std::int64_t>(0, state.quota - *state.own.lending_limit);
}

Books::State Books::of_queue(QueueId queue, What what) const {
  State state{.used = used(queue, what), .own = quota_in(snapshot_.queues[queue].groups, what)};
  state.quota = state.own.nominal;
  keep_back(state);
  return state;
}

Books::State Books::of_cohort(CohortId cohort, What what) const {
  State state{.own = quota_in(snapshot_.cohorts[cohort].groups, what)};
  state.quota = state.own.nominal;
  const auto count_in = [&](const State& below) {
    state.quota += below.lendable();
    state.used += below.shown();
  };
  if (const auto at = queues_in_.find(cohort); at != queues_in_.end())
    for (const QueueId queue : at->second) count_in(of_queue(queue, what));
  if (const auto at = cohorts_in_.find(cohort); at != cohorts_in_.end())
    for (const CohortId below : at->second) count_in(of_cohort(below, what));
  keep_back(state);
  return state;
}

bool Books::is_beyond(const State& state, bool is_root) {
  if (is_root) return state.used > state.quota;
  return state.own.borrowing_limit && state.shown() > state.lendable() + *state.own.borrowing_limit;
}

bool Books::is_in_circle(QueueId queue) const {
  CohortId cohort = snapshot_.queues[queue].cohort;
  for (std::size_t steps = 0; cohort != kNone; ++steps, cohort = snapshot_.cohorts[cohort].parent)
    if (steps > snapshot_.cohorts.size()) return true;
  return false;
}

std::vector<std::string> Books::exceeded_with(QueueId queue, What what, std::int64_t more) const {
  std::vector<std::string> names;
  // Only who gets more is asked: what an administrator has cut is not the plan's fault.
  const auto give = [&](State state, bool is_root, const std::string& name) {
    const std::int64_t shown = state.shown();
    state.used += more;
    if (more > 0 && is_beyond(state, is_root)) names.push_back(name);
    more = state.shown() - shown;
  };
  CohortId cohort = snapshot_.queues[queue].cohort;
  give(of_queue(queue, what), cohort == kNone, "ClusterQueue " + snapshot_.queues[queue].name);
  for (; cohort != kNone && more > 0; cohort = snapshot_.cohorts[cohort].parent)
    give(of_cohort(cohort, what), snapshot_.cohorts[cohort].parent == kNone,
         "Cohort " + snapshot_.cohorts[cohort].name);
  return names;
}

// What somebody below the root can still have when so much is left above.
std::int64_t Books::left_of(const State& state, std::int64_t above) {
  if (state.own.borrowing_limit) above = std::min(above, state.lendable() + *state.own.borrowing_limit - state.shown());
  return above + (state.kept > state.used ? state.kept - state.used : 0);
}

std::int64_t Books::left_in(CohortId cohort, What what) const {
  const State state = of_cohort(cohort, what);
  const CohortId parent = snapshot_.cohorts[cohort].parent;
  return parent == kNone ? state.quota - state.used : left_of(state, left_in(parent, what));
}

bool Books::fits(QueueId queue, const Amounts& amounts) const {
  const CohortId cohort = snapshot_.queues[queue].cohort;
  return std::all_of(amounts.begin(), amounts.end(), [&](const auto& one) {
    const State state = of_queue(queue, one.first);
    const std::int64_t left = cohort == kNone ? state.quota - state.used : left_of(state, left_in(cohort, one.first));
    return one.second <= left;
  });
}

CohortId Books::root_of(QueueId queue) const {
  CohortId cohort = snapshot_.queues[queue].cohort;
  while (cohort != kNone && snapshot_.cohorts[cohort].parent != kNone) cohort = snapshot_.cohorts[cohort].parent;
  return cohort;
}

bool Books::is_one_tree(QueueId a, QueueId b) const {
  return a == b || (root_of(a) != kNone && root_of(a) == root_of(b));
}

}  // namespace gangway::planning::queueing::verifying
