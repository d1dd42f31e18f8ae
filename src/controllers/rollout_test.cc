#include "controllers/rollout.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace gangway::controllers {
namespace {

// Sets in the order of their making; the last is the new one unless it says otherwise.
struct SetRow {
  std::int64_t size;
  std::int64_t available;
  std::int64_t actual = -1;  // the size
  bool is_new = false;
  std::int64_t desired = -1;  // the Deployment's
  std::int64_t most = -1;     // likewise
  bool observed = true;
};

std::vector<RolloutSet> sets_of(const RolloutSpec& spec, const std::vector<SetRow>& rows) {
  std::vector<RolloutSet> sets;
  for (const SetRow& row : rows) {
    const std::string name = "set-" + std::to_string(sets.size());
    sets.push_back({.name = name,
                    .created = WallTime(std::chrono::hours(sets.size() + 1)),
                    .is_new = row.is_new,
                    .size = row.size,
                    .actual = row.actual < 0 ? row.size : row.actual,
                    .available = row.available,
                    .observed = row.observed,
                    .desired = row.desired < 0 ? spec.replicas : row.desired,
                    .most = row.most < 0 ? spec.most() : row.most});
  }
  return sets;
}

struct ResolveCase {
  std::int64_t replicas, surge, unavailable, want_surge, want_unavailable;
};

TEST(RolloutTest, SomethingMayAlwaysMove) {
  const ResolveCase cases[] = {
      {10, 3, 2, 3, 2}, {10, 0, 0, 0, 1}, {1, 1, 0, 1, 0}, {3, 0, 5, 0, 3}, {0, 0, 0, 0, 0}, {0, 1, 0, 1, 0},
  };
  for (const ResolveCase& c : cases) {
    const RolloutSpec spec = resolve(c.replicas, c.surge, c.unavailable);
    EXPECT_EQ(spec.max_surge, c.want_surge) << c.replicas << " " << c.surge << " " << c.unavailable;
    EXPECT_EQ(spec.max_unavailable, c.want_unavailable) << c.replicas << " " << c.surge << " " << c.unavailable;
  }
}

struct RollCase {
  const char* name;
  std::int64_t replicas, surge, unavailable;
  std::vector<SetRow> sets;
  Sizes want;
};

constexpr bool kNew = true;

const RollCase kRollCases[] = {
    // 10 + 2 pods at most: two of the new at first.
    {"grows_into_the_surge", 10, 2, 2, {{10, 10}, {0, 0, 0, kNew}}, {10, 2}},
    // 12 exist; 8 must stay available; the 2 new are not yet: 12 − 8 − 2 = 2 go.
    {"shrinks_what_may_be_missed", 10, 2, 2, {{10, 10}, {2, 0, 2, kNew}}, {8, 2}},
    {"nothing_to_do_before_new_ones_are_available", 10, 2, 2, {{8, 8}, {4, 0, 4, kNew}}, {8, 4}},
    // The new 4 are available: 12 − 8 = 4 more may go.
    {"goes_on_when_they_are", 10, 2, 2, {{8, 8}, {4, 4, 4, kNew}}, {4, 4}},
    {"the_last_step", 10, 2, 2, {{2, 2}, {10, 10, 10, kNew}}, {0, 10}},
    {"done", 10, 2, 2, {{0, 0}, {10, 10, 10, kNew}}, {0, 10}},
    {"a_new_set_that_is_too_large", 3, 1, 1, {{1, 1}, {5, 5, 5, kNew}}, {1, 3}},
    // Unavailable old pods go first, from the oldest set on: 10 + 2 − 8 − 2 = 2.
    {"broken_ones_first", 10, 2, 2, {{6, 5}, {4, 2}, {2, 0, 2, kNew}}, {5, 3, 2}},
    // 6 broken of 10; only 4 available, which is less than 8: of the spare 12 − 8 − 2 = 2 nothing but broken ones.
    {"never_below_the_minimum", 10, 2, 2, {{10, 4}, {2, 0, 2, kNew}}, {8, 2}},
    {"no_surge", 3, 0, 1, {{3, 3}, {0, 0, 0, kNew}}, {2, 0}},
    {"no_surge_then_grows", 3, 0, 1, {{2, 2}, {0, 0, 0, kNew}}, {2, 1}},
    // What the old set still has above its size takes the room.
    {"room_is_free_when_the_pods_are_gone", 3, 0, 1, {{2, 2, 3}, {0, 0, 0, kNew}}, {2, 0}},
    {"room_is_unknown_before_the_set_was_seen", 3, 0, 1, {{2, 2, 2, false, 3, 3, false}, {0, 0, 0, kNew}}, {2, 0}},
    // The old set's status still counts 10 available, of which 2 are on their way out.
    {"what_goes_no_longer_counts", 10, 2, 2, {{8, 10, 10}, {2, 2, 2, kNew}}, {6, 2}},
    {"one_replica_with_surge", 1, 1, 0, {{1, 1}, {0, 0, 0, kNew}}, {1, 1}},
    {"one_replica_waits", 1, 1, 0, {{1, 1}, {1, 0, 1, kNew}}, {1, 1}},
    {"one_replica_ends", 1, 1, 0, {{1, 1}, {1, 1, 1, kNew}}, {0, 1}},
};

TEST(RolloutTest, RollsInSteps) {
  for (const RollCase& c : kRollCases) {
    const RolloutSpec spec = resolve(c.replicas, c.surge, c.unavailable);
    EXPECT_EQ(roll(spec, sets_of(spec, c.sets)), c.want) << c.name;
  }
}

TEST(RolloutTest, ANewSetBeginsWithTheRoomThereIs) {
  const RolloutSpec spec = resolve(10, 3, 2);
  EXPECT_EQ(first_size(spec, {}), 10);
  EXPECT_EQ(first_size(spec, sets_of(spec, {{10, 10}})), 3);
  EXPECT_EQ(first_size(spec, sets_of(spec, {{10, 10, 13}})), 0);
  EXPECT_EQ(first_size({.replicas = 10, .rolling = false}, sets_of(spec, {{10, 10}})), 10);
}

struct ScaleCase {
  const char* name;
  RolloutSpec spec;
  std::vector<SetRow> sets;
  Sizes want;
  std::int64_t status_replicas = 0;
};

const ScaleCase kScaleCases[] = {
    {"the_only_active_set_takes_it_all", resolve(7, 2, 2), {{0, 0}, {5, 5, 5, kNew, 5, 7}}, {0, 7}},
    {"an_old_one_too", resolve(7, 2, 2), {{5, 5, 5, false, 5, 7}, {0, 0, 0, kNew, 5, 7}}, {7, 0}},
    {"from_nothing_the_newest", resolve(4, 1, 1), {{0, 0}, {0, 0, 0, kNew}}, {0, 4}},
    {"from_nothing_without_a_new_one", resolve(4, 1, 1), {{0, 0}, {0, 0}}, {0, 4}},
    {"a_saturated_new_set_ends_the_old", resolve(5, 1, 1), {{1, 1}, {5, 5, 5, kNew}}, {0, 5}},
    // From 10 + 2 to 20 + 4 in the middle of a roll-out: 8 of 12 become 16 of 24, 4 become 8.
    {"shares_double", resolve(20, 4, 2), {{8, 8, 8, false, 10, 12}, {4, 4, 4, kNew, 10, 12}}, {16, 8}},
    // From 10 + 3 to 5 + 2: 13 pods become 7. 8·7/13 = 4.3 → 4 (−4), 5·7/13 = 2.7 → 3 (−2); −6 in all.
    {"shares_shrink", resolve(5, 2, 1), {{8, 8, 8, false, 10, 13}, {5, 5, 5, kNew, 10, 13}}, {4, 3}},
    // 5 + 1 to 8 + 1: 9 − 6 = 3 to add. The larger 4·9/6 = 6 (+2), then 2·9/6 = 3 (+1).
    {"the_largest_first", resolve(8, 1, 1), {{4, 4, 4, false, 5, 6}, {2, 2, 2, kNew, 5, 6}}, {6, 3}},
    // Equal ones: the newer is asked first and takes 3·7/6 = 3.5 → 4; the older gets what is left, nothing.
    {"of_equal_ones_the_newer_grows", resolve(6, 1, 1), {{3, 3, 3, false, 5, 6}, {3, 3, 3, kNew, 5, 6}}, {3, 4}},
    {"to_nothing", resolve(0, 1, 1), {{3, 3, 3, false, 5, 6}, {3, 3, 3, kNew, 5, 6}}, {0, 0}},
    // A set that does not say for which size it was: the Deployment's own count stands in. 3·11/6 = 5.5 → 6, then the
    // rest: 11 − 6 = 5 to add, +3, +2.
    {"sets_without_memory", resolve(10, 1, 1), {{3, 3, 3, false, 5, 0}, {3, 3, 3, kNew, 5, 0}}, {5, 6}, 6},
};

TEST(RolloutTest, ScalesInProportion) {
  for (const ScaleCase& c : kScaleCases)
    EXPECT_EQ(scale(c.spec, sets_of(c.spec, c.sets), c.status_replicas), c.want) << c.name;
}

TEST(RolloutTest, ADeploymentOfAnotherSizeIsScaled) {
  const RolloutSpec spec = resolve(5, 1, 1);
  EXPECT_FALSE(is_scaling(spec, sets_of(spec, {{0, 0, 0, false, 3}, {5, 5, 5, kNew, 5}})));
  EXPECT_TRUE(is_scaling(spec, sets_of(spec, {{1, 1, 1, false, 3}, {5, 5, 5, kNew, 5}})));
  EXPECT_FALSE(is_scaling({.replicas = 5, .rolling = false}, sets_of(spec, {{1, 1, 1, false, 3}, {5, 5, 5, kNew, 3}})));
  EXPECT_TRUE(is_scaling({.replicas = 5, .rolling = false}, sets_of(spec, {{3, 3, 3, kNew, 3}})));
}

}  // namespace
}  // namespace gangway::controllers
