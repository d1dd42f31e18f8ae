#include "scheduler/flight/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "planning/placement/verify.h"
#include "planning/test_generated.h"
#include "planning/test_snapshot.h"
#include "scheduler/flight/test_following.h"

namespace gangway::scheduler::flight {
namespace {

using planning::kNone;
using planning::testing::Kitchen;
using planning::testing::Recipe;
using ::testing::HasSubstr;

constexpr const char* kFrame = "{\"now\":\"2026-01-02T03:04:05Z\"}";

TEST(Record, WritesOnlyWhatHasChanged) {
  CycleRecord record;
  advance(record, {.frame = kFrame, .changed = {R"({"node":"n0"})", R"({"pod":"a/a"})", R"({"pod":"a/b"})"}});
  Entry next{.frame = kFrame,
             .changed = {R"({"node":"n0"})", R"({"pod":"a/a","rank":1})"},
             .gone = {R"(pod":"a/b)", R"(pod":"a/never-known)"},
             .plan = {.steps = {R"({"ticket":"pod a/a"})"}, .waits = {}}};
  EXPECT_EQ(advance(record, next), std::string(kFrame) +
                                       "\n{\"gone\":{\"pod\":\"a/b\"}}\n"
                                       "{\"pod\":\"a/a\",\"rank\":1}\n"
                                       "{\"ticket\":\"pod a/a\"}\n");
  // Tickets are of one cycle; who waits is told once.
  const std::string waits = R"({"waits":"pod a/a","because":[{"code":"Gated","message":""}]})";
  Entry waiting{.frame = kFrame, .plan = {.steps = {}, .waits = {{R"(waits":"pod a/a)", waits}}}};
  EXPECT_EQ(advance(record, waiting), std::string(kFrame) + "\n" + waits + "\n");
  EXPECT_EQ(advance(record, waiting), std::string(kFrame) + "\n");
  EXPECT_EQ(advance(record, {.frame = kFrame}), std::string(kFrame) + "\n{\"gone\":{\"waits\":\"pod a/a\"}}\n");
  EXPECT_EQ(whole(record), std::string(kFrame) + "\n{\"node\":\"n0\"}\n{\"pod\":\"a/a\",\"rank\":1}\n");
}

// All that differs between two snapshots, as somebody says it who has seen every event.
Changes changes_between(const planning::Snapshot& before, const planning::Snapshot& after) {
  Changes changes{.budgets = true};
  for (const auto& node : before.nodes)
    if (!node.name.empty()) changes.nodes[node.name] = kNone;
  for (const auto& pod : before.pods)
    if (!pod.name.empty()) changes.pods[{pod.ns, pod.name}] = kNone;
  for (const auto& gang : before.gangs)
    if (!gang.name.empty() && !gang.is_plain) changes.groups[{gang.ns, gang.name}] = kNone;
  for (planning::NodeId id = 0; id < after.nodes.size(); ++id)
    if (!after.nodes[id].name.empty()) changes.nodes[after.nodes[id].name] = id;
  for (planning::PodId id = 0; id < after.pods.size(); ++id)
    if (!after.pods[id].name.empty()) changes.pods[{after.pods[id].ns, after.pods[id].name}] = id;
  for (planning::GangId id = 0; id < after.gangs.size(); ++id)
    if (!after.gangs[id].name.empty() && !after.gangs[id].is_plain)
      changes.groups[{after.gangs[id].ns, after.gangs[id].name}] = id;
  return changes;
}

// A cluster that lives: its plans are carried out, and what is recorded of it is read back and planned again.
RC_GTEST_PROP(Record, EveryCycleOfALifeIsReplayedFromItsChanges, (const Recipe& recipe)) {
  const Kitchen kitchen(recipe);
  planning::Snapshot snapshot = kitchen.snapshot();
  planning::Snapshot before;
  testing::FollowingSink sink;
  for (int round = 0; round < 4; ++round) {
    const planning::Plan plan = schedule(snapshot, kitchen.policies());
    const auto broken = planning::verify(snapshot, kitchen.policies(), plan);
    const planning::Budget budget;
    const Basis basis{{"pods", 17}};
    sink.wants({snapshot, kitchen.policies(), budget, plan, broken, basis});
    sink.record({snapshot, kitchen.policies(), budget, plan, broken, basis}, changes_between(before, snapshot));
    RC_ASSERT(!::testing::Test::HasFailure());
    before = snapshot;
    snapshot.now += std::chrono::minutes(1);
    if (round % 2 == 0) {
      planning::testing::carry_out(snapshot, plan);
    } else {
      planning::testing::come_to_rest(snapshot);
    }
  }
}

std::string a_file(int cycles) {
  std::string bytes = file_header();
  CycleRecord record;
  for (int i = 1; i <= cycles; ++i) {
    const std::string body =
        advance(record, {.frame = kFrame, .changed = {"{\"node\":\"n" + std::to_string(i) + "\"}"}});
    bytes += block_text({static_cast<std::uint64_t>(i), i == 1, body});
  }
  return bytes;
}

std::vector<std::uint64_t> cycles_in(std::string_view bytes, std::string& note) {
  std::vector<std::uint64_t> cycles;
  auto reader = BlockReader::open(bytes);
  if (!reader) {
    note = reader.error().message;
    return cycles;
  }
  while (const auto block = reader->next()) cycles.push_back(block->cycle);
  note = reader->note();
  return cycles;
}

TEST(Record, ATornFileIsReadUpToItsLastWholeRecord) {
  const std::string bytes = a_file(3);
  std::string note;
  EXPECT_EQ(cycles_in(bytes, note), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(note, "");
  const std::size_t third = bytes.find("{\"cycle\":3");
  for (std::size_t size = third + 1; size < bytes.size(); ++size) {
    EXPECT_EQ(cycles_in(bytes.substr(0, size), note), (std::vector<std::uint64_t>{1, 2})) << size;
    EXPECT_THAT(note, HasSubstr("ends in the middle of a record"));
  }
}

TEST(Record, OtherBytesThanThoseThatWereWrittenAreNotTaken) {
  std::string bytes = a_file(2);
  bytes[bytes.find("\"n2\"") + 2] = '3';
  std::string note;
  EXPECT_EQ(cycles_in(bytes, note), std::vector<std::uint64_t>{1});
  EXPECT_EQ(note, "the bytes of cycle 2 are not those that were written");
  EXPECT_EQ(cycles_in(file_header() + "hello\n", note), std::vector<std::uint64_t>{});
  EXPECT_EQ(note, "there is something in it that is no record");
}

TEST(Record, FilesOfNewerVersionsAndOfOthersAreRefused) {
  std::string note;
  cycles_in("{\"flight\":2}\n", note);
  EXPECT_EQ(note, "it is of version 2, and this gangway reads up to version 1: a newer gangway is needed");
  for (const char* bytes : {"", "\n", "PK\x03\x04", "{}", "{\"flight\":\"1\"}\n"}) {
    cycles_in(bytes, note);
    EXPECT_THAT(note, HasSubstr("does not begin as a flight record does")) << bytes;
  }
}

TEST(Record, ChangesNeedTheCycleBeforeThem) {
  CycleRecord record;
  const auto applied = apply(record, {7, false, std::string(kFrame) + "\n"});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().message, "cycle 7 says only what has changed, and there is no cycle before it");
  EXPECT_THAT(apply(record, {7, true, "{\"gone\":{\"pod\":\"a/b\"}}\n"}).error().message,
              HasSubstr("cycle 7: nothing is known of what is said to be gone"));
  EXPECT_THAT(apply(record, {7, true, "{\"tomorrow\":\"x\"}\n"}).error().message,
              HasSubstr("cycle 7: a line that is not known here"));
  EXPECT_THAT(apply(record, {7, true, ""}).error().message, HasSubstr("cycle 7 does not say when it was"));
}

}  // namespace
}  // namespace gangway::scheduler::flight
