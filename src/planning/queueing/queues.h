// Queues: a snapshot's workloads by queue: who waits, in order, and who holds quota. Kept by deltas, so that a cycle
// looks at heads and never at all workloads; made from the same rows in any order it is the same.
//
// Keeps copies of what it sorts by: put() a workload again when anything about it has changed, remove() it when it has
// gone. A change of a local queue's usage counts as a change of its pending workloads.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "planning/queueing/quota_forest.h"
#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing {

// The place of a pending workload in its queue.
struct Turn {
  std::int64_t local_usage = 0;  // zero where it does not count
  bool is_sticky = false;
  std::int64_t priority = 0;
  WallTime queued = {};
  std::string uid;
  WorkloadId workload = kNone;

  // Less comes first.
  std::strong_ordering operator<=>(const Turn& other) const;
  bool operator==(const Turn& other) const { return (*this <=> other) == 0; }
};

// A workload that holds quota, in the order in which victims are taken.
struct Holder {
  bool is_evicted = false;
  std::int64_t priority = 0;
  WallTime reserved = {};
  std::string uid;
  WorkloadId workload = kNone;
  WallTime queued = {};
  std::vector<std::pair<FlavorResource, std::int64_t>> charges = {};  // each pair once

  // Evicted ones first, then the lowest priority, then who came last.
  std::strong_ordering operator<=>(const Holder& other) const;
  bool operator==(const Holder& other) const { return (*this <=> other) == 0; }
};

class Queues {
 public:
  using Amounts = std::map<FlavorResource, std::int64_t>;

  Queues() = default;
  explicit Queues(const Snapshot& snapshot);

  void put(const Snapshot& snapshot, WorkloadId id);
  void remove(WorkloadId id);

  // In order; those that were found inadmissible are apart.
  const std::set<Turn>& pending(QueueId queue) const { return of(queue).pending; }
  const std::set<Turn>& inadmissible(QueueId queue) const { return of(queue).inadmissible; }
  const std::set<Holder>& holders(QueueId queue) const { return of(queue).holders; }
  const Amounts& usage(QueueId queue) const { return of(queue).usage; }
  // Pending workloads of the queue that are like this one, itself among them, unless it is like nobody.
  std::vector<WorkloadId> alike(QueueId queue, std::uint64_t likeness) const;

 private:
  struct Rows {
    std::set<Turn> pending;
    std::set<Turn> inadmissible;
    std::set<Holder> holders;
    Amounts usage;
    std::map<std::uint64_t, std::set<WorkloadId>> alike;
    bool operator==(const Rows&) const = default;
  };
  enum class Where : std::uint8_t { kNowhere, kPending, kInadmissible, kHolder };
  struct Place {
    Where where = Where::kNowhere;
    QueueId queue = kNone;
    Turn turn = {};      // of one that waits
    Holder holder = {};  // of one that holds quota
    std::uint64_t likeness = 0;
    bool operator==(const Place&) const = default;
  };

  const Rows& of(QueueId queue) const {
    static const Rows kEmpty;
    return queue < rows_.size() ? rows_[queue] : kEmpty;
  }
  void hold(Rows& rows, const Holder& holder, std::int64_t sign);

  std::vector<Rows> rows_;
  std::vector<Place> places_;  // by workload

 public:
  // Whether both say the same of every queue.
  bool operator==(const Queues& other) const;
};

}  // namespace gangway::planning::queueing
