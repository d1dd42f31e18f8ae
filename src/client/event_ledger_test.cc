#include "client/event_ledger.h"

#include <gtest/gtest.h>

#include <string>

namespace gangway::client {
namespace {

using namespace std::chrono_literals;

Emit about(const std::string& object, const std::string& message, const std::string& reason = "Created") {
  return {.about = {.api_version = "apps/v1",
                    .kind = "ReplicaSet",
                    .object = {"default", object},
                    .uid = "uid-" + object,
                    .revision = 7},
          .type = EventType::kNormal,
          .reason = reason,
          .message = message};
}

struct EventLedgerTest : ::testing::Test {
  EventLedger ledger{"tester"};
  WallTime now = *parse_rfc3339("2026-01-01T00:00:00Z");
};

TEST_F(EventLedgerTest, CountsEqualEventsUnderOneName) {
  const auto first = ledger.enter(about("web", "made a"), now);
  now += 5s;
  const auto second = ledger.enter(about("web", "made a"), now);
  const auto other = ledger.enter(about("web", "made b"), now);
  ASSERT_TRUE(first && second && other);
  EXPECT_EQ(first->name, second->name);
  EXPECT_NE(first->name, other->name);
  EXPECT_EQ(first->count, 1);
  EXPECT_EQ(second->count, 2);
  EXPECT_EQ(other->count, 1);
  EXPECT_EQ(to_rfc3339(second->first), "2026-01-01T00:00:00Z");
  EXPECT_EQ(to_rfc3339(second->last), "2026-01-01T00:00:05Z");
  EXPECT_EQ(first->name.ns, "default");
  EXPECT_EQ(first->name.name.substr(0, 4), "web.");
  EXPECT_EQ(first->name.name.size(), 4u + 16u + 8u);
}

TEST_F(EventLedgerTest, EventsOfOneSubjectAreNamedInTheOrderInWhichTheyHappened) {
  std::string last;
  for (const char* message : {"scheduled", "pulled", "created", "started", "preempted", "killed"}) {
    now += std::chrono::microseconds(700);
    const auto entry = ledger.enter(about("web", message), now);
    EXPECT_GT(entry->name.name, last) << message;
    last = entry->name.name;
  }
}

TEST_F(EventLedgerTest, AnEventOfALaterProcessIsAnotherObject) {
  const auto first = ledger.enter(about("web", "made a"), now);
  EventLedger later("tester");
  const auto second = later.enter(about("web", "made a"), now + 1s);
  EXPECT_NE(first->name, second->name);
}

TEST_F(EventLedgerTest, CombinesWhatIsSimilarFromTheTenthOn) {
  for (int i = 0; i < 9; ++i) {
    const std::string message = "made " + std::to_string(i);
    EXPECT_EQ(ledger.enter(about("web", message), now)->message, message);
  }
  const auto tenth = ledger.enter(about("web", "made 9"), now);
  EXPECT_EQ(tenth->message, "(combined from similar events): made 9");
  const auto eleventh = ledger.enter(about("web", "made 10"), now);
  EXPECT_EQ(eleventh->message, "(combined from similar events): made 10");
  EXPECT_EQ(eleventh->name, tenth->name);
  EXPECT_EQ(eleventh->count, 2);
  // One of the nine is still itself, and another reason is another group.
  EXPECT_EQ(ledger.enter(about("web", "made 3"), now)->count, 2);
  EXPECT_EQ(ledger.enter(about("web", "gone 0", "Deleted"), now)->message, "gone 0");
  // After ten quiet minutes it begins again.
  now += 10min + 1s;
  const auto again = ledger.enter(about("web", "made 12"), now);
  EXPECT_EQ(again->message, "made 12");
  EXPECT_EQ(again->count, 1);
}

TEST_F(EventLedgerTest, EverySubjectHasABudget) {
  for (int i = 0; i < 25; ++i) EXPECT_TRUE(ledger.enter(about("web", "again"), now)) << i;
  EXPECT_FALSE(ledger.enter(about("web", "again"), now));
  EXPECT_TRUE(ledger.enter(about("db", "again"), now)) << "another subject";
  EXPECT_FALSE(ledger.enter(about("web", "again"), now + 4min + 59s));
  const auto later = ledger.enter(about("web", "again"), now + 5min);
  ASSERT_TRUE(later);
  EXPECT_EQ(later->count, 28) << "those that were not written count";
  EXPECT_FALSE(ledger.enter(about("web", "again"), now + 5min));
}

TEST_F(EventLedgerTest, ForgetsTheSubjectOfLongestAgo) {
  EventLedger small("tester", 2);
  EXPECT_EQ(small.enter(about("a", "m"), now)->count, 1);
  EXPECT_EQ(small.enter(about("b", "m"), now)->count, 1);
  EXPECT_EQ(small.enter(about("a", "m"), now)->count, 2);
  EXPECT_EQ(small.enter(about("c", "m"), now)->count, 1);
  EXPECT_EQ(small.enter(about("a", "m"), now)->count, 3);
  EXPECT_EQ(small.enter(about("b", "m"), now)->count, 1);
}

TEST_F(EventLedgerTest, ClusterScopedSubjectsAreToldInTheDefaultNamespace) {
  Emit node = about("n0", "is ready");
  node.about.object.ns = "";
  EXPECT_EQ(ledger.enter(node, now)->name.ns, "default");
}

TEST_F(EventLedgerTest, NamesAreValidWhateverTheSubject) {
  const std::string longest = std::string(199, 'a') + "-" + std::string(53, 'b');
  EXPECT_EQ(ledger.enter(about(longest, "m"), now)->name.name.substr(0, 200), std::string(199, 'a') + ".");
}

TEST_F(EventLedgerTest, SaysWhoAndWhat) {
  Emit emit = about("web", "no room");
  emit.type = EventType::kWarning;
  emit.about.field_path = "spec.containers{c}";
  const json::Value event = to_json(*ledger.enter(emit, now), "tester");
  EXPECT_EQ(json::string_at(event, {"type"}), "Warning");
  EXPECT_EQ(json::string_at(event, {"source", "component"}), "tester");
  EXPECT_EQ(json::string_at(event, {"reportingComponent"}), "tester");
  EXPECT_EQ(json::serialize(*json::find(event, {"involvedObject"})),
            R"({"kind":"ReplicaSet","name":"web","uid":"uid-web","namespace":"default","apiVersion":"apps/v1",)"
            R"("resourceVersion":"7","fieldPath":"spec.containers{c}"})");
  EXPECT_EQ(json::serialize(*json::find(event, {"count"})), "1");
}

}  // namespace
}  // namespace gangway::client
