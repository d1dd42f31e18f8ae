#include "controllers/stateful_plan.h"

#include <gtest/gtest.h>

#include <string>

namespace gangway::controllers {
namespace {

// One letter a pod, from ordinal 0 on, a blank where there is none:
//   a available  r ready, not for long enough  p pending  t terminating  f finished;  capital: of the old revision
std::map<std::int64_t, StatefulPod> pods(const std::string& letters) {
  std::map<std::int64_t, StatefulPod> all;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const char kind = static_cast<char>(letters[i] | 0x20);
    if (letters[i] == ' ') continue;
    all[static_cast<std::int64_t>(i)] = {.terminating = kind == 't',
                                         .finished = kind == 'f',
                                         .ready = kind == 'a' || kind == 'r',
                                         .available = kind == 'a',
                                         .updated = letters[i] == kind};
  }
  return all;
}

// "+3 -1": ordinals that are made and deleted.
std::string text(const StatefulPlan& plan) {
  std::string all;
  for (const std::int64_t ordinal : plan.create) all += (all.empty() ? "+" : " +") + std::to_string(ordinal);
  for (const std::int64_t ordinal : plan.remove) all += (all.empty() ? "-" : " -") + std::to_string(ordinal);
  return all;
}

struct Case {
  const char* name;
  StatefulSpec spec;
  const char* pods;
  const char* want;
};

constexpr StatefulSpec kThree{.replicas = 3};
constexpr StatefulSpec kParallel{.replicas = 3, .ordered = false};

const Case kCases[] = {
    {"the_first", kThree, "", "+0"},
    {"not_before_it_is_ready", kThree, "p", ""},
    {"nor_before_it_is_available", kThree, "r", ""},
    {"the_next", kThree, "a", "+1"},
    {"all", kThree, "aaa", ""},
    {"a_gap_is_filled_first", kThree, " aa", "+0"},
    {"a_gap_waits_for_those_below", kThree, "p a", ""},
    {"a_terminating_one_is_waited_for", kThree, "ta", ""},
    {"a_finished_one_is_replaced", kThree, "af", "-1"},
    {"once", kThree, "fta", "-0"},
    {"from_the_top_down", kThree, "aaaaa", "-4"},
    {"one_at_a_time", kThree, "aaaat", ""},
    {"not_before_those_that_stay_are_available", kThree, "apaaa", ""},
    {"a_broken_one_goes_when_it_is_the_only_one", kThree, "aaaap", "-4"},
    {"an_available_one_above_goes_first", kThree, "aaapa", "-4"},
    {"the_lower_of_two_broken_ones_is_first", kThree, "aaapp", ""},
    {"to_nothing", {.replicas = 0}, "aa", "-1"},
    {"another_start", {.start = 2, .replicas = 2}, "aaaa", "-1"},
    {"another_start_makes", {.start = 2, .replicas = 2}, "", "+2"},
    {"updates_from_the_top", kThree, "AAA", "-2"},
    {"updates_one_at_a_time", kThree, "AAt", ""},
    {"updates_when_those_above_are_available", kThree, "AAr", ""},
    {"updates_the_next", kThree, "AAa", "-1"},
    {"updates_down_to_the_partition", {.replicas = 3, .partition = 2}, "AAa", ""},
    {"a_partition_counts_from_the_start", {.start = 2, .replicas = 2, .partition = 1}, "  AA", "-3"},
    {"a_partition_above_all", {.replicas = 3, .partition = 9}, "AAA", ""},
    {"scaling_comes_before_updating", kThree, "AA", "+2"},
    {"and_shrinking_too", kThree, "AAAA", "-3"},
    {"on_delete_waits_for_somebody", {.replicas = 3, .on_delete = true}, "AAA", ""},
    {"parallel_makes_all", kParallel, "", "+0 +1 +2"},
    {"parallel_makes_what_is_missing", kParallel, "p t", "+1"},
    {"parallel_removes_all", kParallel, "aaapta", "-5 -3"},
    {"parallel_does_both", kParallel, "a aa", "+1 -3"},
    {"parallel_replaces", kParallel, "fpf", "-0 -2"},
    {"parallel_updates_one_at_a_time", kParallel, "AAA", "-2"},
    {"parallel_updates_wait", kParallel, "AAp", ""},
    {"an_unready_old_one_is_updated", kParallel, "AAP", "-2"},
};

TEST(StatefulPlanTest, DoesOneThingAfterTheOther) {
  for (const Case& c : kCases) EXPECT_EQ(text(plan(c.spec, pods(c.pods))), c.want) << c.name;
}

TEST(StatefulPlanTest, WhatIsMadeBelowThePartitionIsOfTheCurrentRevision) {
  const StatefulSpec spec{.start = 5, .replicas = 4, .partition = 2};
  EXPECT_TRUE(spec.keeps_current(5));
  EXPECT_TRUE(spec.keeps_current(6));
  EXPECT_FALSE(spec.keeps_current(7));
  EXPECT_FALSE((StatefulSpec{.replicas = 4, .on_delete = true, .partition = 2}.keeps_current(0)));
}

}  // namespace
}  // namespace gangway::controllers
