#include "api/conditions.h"

#include <gtest/gtest.h>

namespace gangway::api {
namespace {

using namespace std::chrono_literals;

const WallTime kEarly{WallTime::duration(1767323045s)};  // 2026-01-02T03:04:05Z
const WallTime kLate = kEarly + 60s;

std::string transition(const json::Value& object, std::string_view type) {
  const auto* condition = find_condition(object, type);
  return condition == nullptr ? "" : std::string(condition->at("lastTransitionTime").as_string());
}

TEST(ConditionsTest, TheTransitionTimeFollowsTheStatusOnly) {
  json::Value object(json::Object{});
  EXPECT_EQ(find_condition(object, "Ready"), nullptr);
  EXPECT_TRUE(set_condition(object, {"Ready", "False", "Starting", "wait"}, kEarly));
  EXPECT_EQ(transition(object, "Ready"), "2026-01-02T03:04:05Z");
  EXPECT_FALSE(set_condition(object, {"Ready", "False", "Starting", "wait"}, kLate));

  EXPECT_TRUE(set_condition(object, {"Ready", "False", "Starting", "wait longer"}, kLate));
  EXPECT_EQ(transition(object, "Ready"), "2026-01-02T03:04:05Z");

  EXPECT_TRUE(set_condition(object, {"Ready", "True", "", ""}, kLate));
  EXPECT_EQ(transition(object, "Ready"), "2026-01-02T03:05:05Z");
  EXPECT_TRUE(condition_is_true(object, "Ready"));
  EXPECT_FALSE(find_condition(object, "Ready")->contains("reason"));
}

TEST(ConditionsTest, LeavesOtherConditionsAndFieldsAlone) {
  auto object = json::parse(R"({"status":{"conditions":[{"type":"A","status":"True"},
      {"type":"B","status":"True","lastHeartbeatTime":"x"}]}})")
                    .value();
  EXPECT_TRUE(set_condition(object, {"B", "False", "R", "", 7}, kEarly));
  EXPECT_EQ(json::serialize(object),
            R"({"status":{"conditions":[{"type":"A","status":"True"},{"type":"B","status":"False",)"
            R"("lastHeartbeatTime":"x","lastTransitionTime":"2026-01-02T03:04:05Z","reason":"R",)"
            R"("observedGeneration":7}]}})");
  EXPECT_FALSE(set_condition(object, {"B", "False", "R", "", 7}, kLate));
  EXPECT_TRUE(remove_condition(object, "A"));
  EXPECT_FALSE(remove_condition(object, "A"));
  EXPECT_EQ(json::find(object, {"status", "conditions"})->as_array().size(), 1U);
}

TEST(ConditionsTest, MakesTheListWhereItIsMissingOrNull) {
  auto object = json::parse(R"({"status":{"conditions":null}})").value();
  EXPECT_TRUE(set_condition(object, {"A", "True", "", ""}, kEarly));
  EXPECT_TRUE(condition_is(object, "A", "True"));
  EXPECT_FALSE(condition_is(object, "A", "False"));
}

}  // namespace
}  // namespace gangway::api
