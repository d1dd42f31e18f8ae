#include "scheduler/flight/snapshot_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "planning/schedule/schedule.h"
#include "planning/test_generated.h"
#include "planning/test_snapshot.h"
#include "scheduler/flight/plan_text.h"

namespace gangway::scheduler::flight {
namespace {

using planning::testing::Kitchen;
using planning::testing::Recipe;
using planning::testing::shuffled;
using ::testing::HasSubstr;

std::string encoded(const Given& given) {
  return encode(given.snapshot, given.policies, given.budget);
}

RC_GTEST_PROP(SnapshotText, ReadingItBackGivesTheSameBytes, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  const std::string text = encode(kitchen.snapshot(), kitchen.policies(), {.gangs = 7, .preemptions = 3});
  const auto given = decode(text);
  if (!given) RC_FAIL(given.error().message);
  RC_ASSERT(encoded(*given) == text);
}

RC_GTEST_PROP(SnapshotText, TheOrderOfTheTablesLeavesNoTrace, (const Recipe& recipe, std::uint32_t seed)) {
  const Kitchen kitchen(recipe);
  const planning::Snapshot other = shuffled(kitchen.snapshot(), seed);
  RC_ASSERT(encode(other, kitchen.policies(), {}) == encode(kitchen.snapshot(), kitchen.policies(), {}));
}

RC_GTEST_PROP(SnapshotText, WhatIsReadBackIsPlannedTheSame, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  const auto given = decode(encode(kitchen.snapshot(), kitchen.policies(), {}));
  if (!given) RC_FAIL(given.error().message);
  const planning::Plan before = schedule(kitchen.snapshot(), kitchen.policies());
  const planning::Plan after = schedule(given->snapshot, given->policies, given->budget);
  RC_ASSERT(readable(lines_of(given->snapshot, after)) == readable(lines_of(kitchen.snapshot(), before)));
  RC_ASSERT(lines_of(given->snapshot, after) == lines_of(kitchen.snapshot(), before));
}

TEST(SnapshotText, ReadsAsWritten) {
  planning::testing::TestCluster cluster;
  cluster.node("n0", 4, {{"disk", "ssd"}}, {{"dedicated", "x", planning::Taint::Effect::kNoExecute}});
  cluster.running("a", "n0", {.gpus = 1}, 10);
  cluster.waiting_gang("g", 2, {.gpus = 1, .milli_cpu = 1500}, 0, 1);
  cluster.gang("g").ticket.emplace();
  cluster.gang("g").ticket->places = {{cluster.pod_id("g-0"), cluster.node_id("n0")}};
  cluster.gang("g").ticket->victims = {cluster.pod_id("a")};
  cluster.pod("g-1").ends = planning::testing::kNow + std::chrono::minutes(5);
  EXPECT_EQ(encode(cluster.snapshot(), cluster.policies(), {}),
            R"({"now":"2023-11-14T22:13:20Z"}
{"group":"default/g","uid":"uid-g","since":"2023-11-14T22:12:20Z","size":2,"ticket":{"places":[{"pod":"default/g-0","node":"n0"}],"victims":["default/a"]}}
{"node":"n0","labels":{"disk":"ssd"},"taints":[{"key":"dedicated","value":"x","effect":"NoExecute"}],"allocatable":{"cpu":"64","ephemeral-storage":"1024Gi","memory":"256Gi","nvidia.com/gpu":"4","pods":"110"}}
{"pod":"default/a","uid":"uid-a","node":"n0","priority":10,"since":"2023-11-14T21:13:20Z","needs":{"cpu":"1","memory":"1Gi","nvidia.com/gpu":"1"}}
{"pod":"default/g-0","uid":"uid-g-0","group":"g","since":"2023-11-14T22:12:20Z","needs":{"cpu":"1500m","memory":"1Gi","nvidia.com/gpu":"1"}}
{"pod":"default/g-1","uid":"uid-g-1","group":"g","rank":1,"since":"2023-11-14T22:12:20Z","runsFor":"300s","needs":{"cpu":"1500m","memory":"1Gi","nvidia.com/gpu":"1"}}
)");
}

TEST(SnapshotText, TakesWhatPeopleLeaveOut) {
  const auto given = decode(
      "{\"now\": \"2026-01-02T03:04:05Z\"}\n"
      "{\"pod\": \"default/a\", \"node\": \"n0\"}\n"
      "{\"node\": \"n0\", \"allocatable\": {\"cpu\": \"0.5\"}}\n");
  ASSERT_TRUE(given) << given.error().message;
  const planning::Pod& pod = given->snapshot.pods.at(0);
  EXPECT_EQ(pod.node, 0u);
  EXPECT_EQ(pod.since, given->snapshot.now);
  EXPECT_EQ(pod.shape->request, (planning::Request{{planning::kPods, 1}}));
  EXPECT_EQ(given->snapshot.nodes.at(0).hostname, "n0");
  EXPECT_EQ(planning::amount_of(given->snapshot.nodes.at(0).allocatable, planning::kCpu), 500);
  const planning::Gang& gang = given->snapshot.gangs.at(pod.gang);
  EXPECT_TRUE(gang.is_plain);
  EXPECT_EQ(gang.members, std::vector<planning::PodId>{0});
}

// Users may write any time; what lies outside of what can be counted is moved to its ends.
TEST(SnapshotText, TimesBeforeAndAfterAllOthersAreRead) {
  const auto written = [](const std::string& since) {
    const auto given =
        decode("{\"now\":\"2026-01-02T03:04:05Z\"}\n{\"pod\":\"default/a\",\"since\":\"" + since + "\"}\n");
    return given ? encoded(*given) : given.error().message;
  };
  EXPECT_THAT(written("0001-01-01T00:00:00Z"), HasSubstr("\"since\":\"1677-09-22T00:00:00Z\""));
  EXPECT_THAT(written("1677-09-22T00:00:00Z"), HasSubstr("\"since\":\"1677-09-22T00:00:00Z\""));
  EXPECT_THAT(written("9999-12-31T23:59:59Z"), HasSubstr("\"since\":\"2262-04-11T23:47:16.854775807Z\""));
  EXPECT_THAT(written("2262-04-11T23:47:16.854775807Z"), HasSubstr("\"since\":\"2262-04-11T23:47:16.854775807Z\""));
}

struct BadText {
  const char* name;
  const char* lines;  // after the first
  const char* want;
};

const BadText kBadTexts[] = {
    {"unknown_field", R"({"node":"n0","colour":"red"})", R"(node "n0": colour: is no field that is known here)"},
    {"unknown_kind", R"({"volume":"v0"})", "a line that is not known here"},
    {"not_json", R"({"node":"n0",})", R"(node "n0": )"},
    {"not_a_line", R"(hello)", "line 2: must be an object that begins with what it is about"},
    {"twice", "{\"node\":\"n0\"}\n{\"node\":\"n0\"}", "line 3: a second \"node\":\"n0\""},
    {"twice_in_disguise", "{\"node\":\"n0\"}\n{\"node\":\"n\\u0030\"}", "node: is there twice"},
    {"no_namespace", R"({"pod":"a"})", "pod: must be a namespace and a name"},
    {"no_such_node", R"({"pod":"default/a","node":"n1"})", R"(pod "default/a": node: there is no node "n1")"},
    {"no_such_group", R"({"pod":"default/a","group":"g"})", R"(group: there is no group "default/g")"},
    {"no_such_victim", R"({"pod":"default/a","ticket":{"victims":["default/b"]}})",
     R"(default/a: ticket.victims: there is no pod "default/b")"},
    {"bad_amount", R"({"pod":"default/a","needs":{"cpu":"many"}})", R"(pod "default/a": needs.cpu: )"},
    {"negative_amount", R"({"pod":"default/a","needs":{"memory":"-1"}})", "needs.memory: is out of range"},
    {"number_for_amount", R"({"pod":"default/a","needs":{"cpu":4}})", "needs.cpu: must be a quantity"},
    {"bad_word", R"({"pod":"default/a","tolerations":[{"effect":"Never"}]})",
     R"(tolerations[0].effect: must be one of NoSchedule, PreferNoSchedule, NoExecute (got "Never"))"},
    {"bad_time", R"({"pod":"default/a","since":"yesterday"})", "since: parsing time"},
    {"bad_duration", R"({"pod":"default/a","minRuntime":"long"})", "minRuntime: "},
    {"bad_number", R"({"pod":"default/a","priority":"high"})", "priority: must be a whole number"},
    {"too_small", R"({"group":"default/g","minMembers":-1})", "minMembers: must be at least 0 (got -1)"},
    {"too_large", R"({"group":"default/g","size":99999999})", "size: must be at most 1000000"},
    {"no_list", R"({"pod":"default/a","ports":{}})", "ports: must be a list"},
    {"no_flag", R"({"pod":"default/a","gated":1})", "gated: must be true or false"},
};

class BadTextTest : public ::testing::TestWithParam<BadText> {};

TEST_P(BadTextTest, SaysWhereAndWhat) {
  const auto given = decode(std::string("{\"now\":\"2026-01-02T03:04:05Z\"}\n") + GetParam().lines + "\n");
  ASSERT_FALSE(given);
  EXPECT_THAT(given.error().message, HasSubstr(GetParam().want));
}

INSTANTIATE_TEST_SUITE_P(SnapshotText, BadTextTest, ::testing::ValuesIn(kBadTexts),
                         [](const auto& test) { return test.param.name; });

TEST(SnapshotText, NeedsAFirstLine) {
  EXPECT_THAT(decode("").error().message, HasSubstr("there is no first line"));
  EXPECT_THAT(decode("{}\n").error().message, HasSubstr("the first line: now: is required"));
  EXPECT_THAT(decode("{\"now\":\"2026-01-02T03:04:05Z\",\"speed\":1}\n").error().message,
              HasSubstr("the first line: speed: is no field"));
}

}  // namespace
}  // namespace gangway::scheduler::flight
