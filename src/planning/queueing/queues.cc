#include "planning/queueing/queues.h"

#include <algorithm>
#include <tuple>

namespace gangway::planning::queueing {
namespace {

Turn turn_of(const Snapshot& snapshot, WorkloadId id) {
  const Workload& workload = snapshot.workloads[id];
  Turn turn{.is_sticky = workload.is_sticky,
            .priority = workload.priority,
            .queued = workload.queued,
            .uid = workload.uid,
            .workload = id};
  if (snapshot.queues[workload.queue].orders_by_local_usage && workload.local_queue != kNone)
    turn.local_usage = snapshot.local_queues[workload.local_queue].usage;
  return turn;
}

Holder holder_of(const Workload& workload, const Admission& admission, WorkloadId id) {
  Holder holder{.is_evicted = admission.is_evicted,
                .priority = workload.priority,
                .reserved = admission.reserved,
                .uid = workload.uid,
                .workload = id,
                .queued = workload.queued};
  Queues::Amounts sums;
  for (const PodSetGrant& grant : admission.grant)
    for (const Charge& charge : grant.charges) sums[{charge.resource, charge.flavor}] += charge.amount;
  holder.charges.assign(sums.begin(), sums.end());
  return holder;
}

}  // namespace

std::strong_ordering Turn::operator<=>(const Turn& other) const {
  if (const auto by = local_usage <=> other.local_usage; by != 0) return by;
  if (const auto by = other.is_sticky <=> is_sticky; by != 0) return by;
  if (const auto by = other.priority <=> priority; by != 0) return by;
  if (const auto by = queued <=> other.queued; by != 0) return by;
  return uid <=> other.uid;
}

std::strong_ordering Holder::operator<=>(const Holder& other) const {
  if (const auto by = other.is_evicted <=> is_evicted; by != 0) return by;
  if (const auto by = priority <=> other.priority; by != 0) return by;
  if (const auto by = other.reserved <=> reserved; by != 0) return by;
  return uid <=> other.uid;
}

Queues::Queues(const Snapshot& snapshot) : rows_(snapshot.queues.size()) {
  for (WorkloadId id = 0; id < snapshot.workloads.size(); ++id) put(snapshot, id);
}

void Queues::put(const Snapshot& snapshot, WorkloadId id) {
  remove(id);
  const Workload& workload = snapshot.workloads[id];
  const QueueId queue = workload.admission ? workload.admission->queue : workload.queue;
  if (workload.name.empty() || queue == kNone) return;
  if (rows_.size() < snapshot.queues.size()) rows_.resize(snapshot.queues.size());
  if (places_.size() <= id) places_.resize(snapshot.workloads.size());
  Rows& rows = rows_[queue];
  Place& place = places_[id];
  place.queue = queue;
  if (workload.admission) {
    place.where = Where::kHolder;
    place.holder = holder_of(workload, *workload.admission, id);
    hold(rows, place.holder, 1);
    return;
  }
  place.where = workload.is_inadmissible ? Where::kInadmissible : Where::kPending;
  place.turn = turn_of(snapshot, id);
  (workload.is_inadmissible ? rows.inadmissible : rows.pending).insert(place.turn);
  place.likeness = workload.is_inadmissible ? 0 : workload.likeness;
  if (place.likeness != 0) rows.alike[place.likeness].insert(id);
}

void Queues::remove(WorkloadId id) {
  if (id >= places_.size() || places_[id].where == Where::kNowhere) return;
  const Place place = std::exchange(places_[id], {});
  Rows& rows = rows_[place.queue];
  if (place.where == Where::kHolder) return hold(rows, place.holder, -1);
  (place.where == Where::kPending ? rows.pending : rows.inadmissible).erase(place.turn);
  if (place.likeness == 0) return;
  const auto at = rows.alike.find(place.likeness);
  at->second.erase(id);
  if (at->second.empty()) rows.alike.erase(at);
}

void Queues::hold(Rows& rows, const Holder& holder, std::int64_t sign) {
  if (sign > 0) {
    rows.holders.insert(holder);
  } else {
    rows.holders.erase(holder);
  }
  for (const auto& [what, amount] : holder.charges) {
    const auto at = rows.usage.try_emplace(what).first;
    at->second += sign * amount;
    if (at->second == 0) rows.usage.erase(at);
  }
}

std::vector<WorkloadId> Queues::alike(QueueId queue, std::uint64_t likeness) const {
  const auto& alike = of(queue).alike;
  const auto at = alike.find(likeness);
  return at == alike.end() ? std::vector<WorkloadId>{} : std::vector(at->second.begin(), at->second.end());
}

bool Queues::operator==(const Queues& other) const {
  for (QueueId queue = 0; queue < std::max(rows_.size(), other.rows_.size()); ++queue)
    if (of(queue) != other.of(queue)) return false;
  return true;
}

}  // namespace gangway::planning::queueing
