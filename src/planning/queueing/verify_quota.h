// For verify(): what queues and cohorts use, counted from scratch every time, straight from the definitions.
//
// Slow and plain on purpose: nothing is kept up to date, so nothing can be kept up to date wrongly.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planning/queueing/snapshot.h"

namespace gangway::planning::queueing::verifying {

using What = std::pair<FlavorId, ResourceId>;
using Amounts = std::map<What, std::int64_t>;

Amounts sum_of(const Grant& grant);

class Books {
 public:
  explicit Books(const Snapshot& snapshot);

  void add(QueueId queue, const Amounts& amounts, std::int64_t sign = 1);
  std::int64_t used(QueueId queue, What what) const;
  std::int64_t nominal(QueueId queue, What what) const;
  bool borrows(QueueId queue, What what) const { return used(queue, what) > nominal(queue, what); }
  bool borrows_any(QueueId queue, const Amounts& amounts) const;
  bool is_one_tree(QueueId a, QueueId b) const;
  bool is_in_circle(QueueId queue) const;

  // The nodes on the way up from the queue that would have more of it than they may, given so much more.
  std::vector<std::string> exceeded_with(QueueId queue, What what, std::int64_t more) const;
  // Whether the queue could have so much more. What a cohort is over its quota after a cut, all below it have to make
  // good, also those who would only use what they keep to themselves.
  bool fits(QueueId queue, const Amounts& amounts) const;

 private:
  // What one queue or cohort has of one thing.
  struct State {
    std::int64_t quota = 0;  // with what those below bring along
    std::int64_t kept = 0;   // of it, shown to nobody
    std::int64_t used = 0;
    Quota own = {};
    std::int64_t shown() const { return used > kept ? used - kept : 0; }
    std::int64_t lendable() const { return quota - kept; }
  };
  static Quota quota_in(const std::vector<ResourceGroup>& groups, What what);
  State of_queue(QueueId queue, What what) const;
  State of_cohort(CohortId cohort, What what) const;
  static void keep_back(State& state);
  static bool is_beyond(const State& state, bool is_root);
  static std::int64_t left_of(const State& state, std::int64_t above);
  std::int64_t left_in(CohortId cohort, What what) const;
  CohortId root_of(QueueId queue) const;

  const Snapshot& snapshot_;
  std::map<CohortId, std::vector<QueueId>> queues_in_;
  std::map<CohortId, std::vector<CohortId>> cohorts_in_;
  std::vector<Amounts> used_;
};

}  // namespace gangway::planning::queueing::verifying
