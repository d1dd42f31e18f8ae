#include "jobs/job_conditions.h"

#include <gtest/gtest.h>

#include "testing/builders.h"

namespace gangway::jobs {
namespace {

constexpr const char* kBefore = "2026-01-02T03:00:00Z";
constexpr const char* kNow = "2026-01-02T03:04:05Z";

JobConditions conditions_of(const std::string& types) {
  json::Array list;
  for (std::size_t at = 0; at < types.size();) {
    const std::size_t end = std::min(types.find(' ', at), types.size());
    std::string type = types.substr(at, end - at);
    const bool is_false = type.starts_with('!');
    if (is_false) type.erase(0, 1);
    list.push_back(json::Object{{"type", type},
                                {"status", is_false ? "False" : "True"},
                                {"reason", "Job" + type},
                                {"message", "old"},
                                {"lastTransitionTime", kBefore}});
    at = end + 1;
  }
  return {std::move(list), "Job", parse_rfc3339(kNow).value()};
}

std::string shown(const JobConditions& conditions) {
  std::string text;
  for (const json::Value& item : conditions.list()) {
    if (!text.empty()) text += ' ';
    if (json::string_at(item, {"status"}) == "False") text += '!';
    text += json::string_at(item, {"type"});
  }
  return text;
}

TEST(JobConditions, FollowTheRulesOfTheList) {
  struct Case {
    const char* name;
    const char* before;
    std::string_view type;
    bool status;
    const char* word;
    bool changes;
    const char* after;
  };
  const Case cases[] = {
      {"first", "", kJobCreated, true, "Created", true, "Created"},
      {"appended last", "Created", kJobRunning, true, "Running", true, "Created Running"},
      {"the same again", "Created Running", kJobRunning, true, "Running", false, "Created Running"},
      {"another reason moves it to the end", "Created Suspended Running", kJobSuspended, true, "Other", true,
       "Created Running Suspended"},
      {"restarting puts running out", "Created Running", kJobRestarting, true, "Restarting", true,
       "Created Restarting"},
      {"running puts restarting out", "Created Restarting", kJobRunning, true, "Running", true, "Created Running"},
      {"success turns running to false", "Created Running", kJobSucceeded, true, "Succeeded", true,
       "Created !Running Succeeded"},
      {"failure turns running to false", "Created Running", kJobFailed, true, "Failed", true,
       "Created !Running Failed"},
      {"failure leaves restarting", "Created Restarting", kJobFailed, true, "Failed", true,
       "Created Restarting Failed"},
      {"nothing after failure", "Created Failed", kJobRunning, true, "Running", false, "Created Failed"},
      {"suspension in two steps", "Created Running", kJobRunning, false, "Suspended", true, "Created !Running"},
      {"resumed", "Created Suspended", kJobSuspended, false, "Resumed", true, "Created !Suspended"},
  };
  for (const Case& each : cases) {
    JobConditions conditions = conditions_of(each.before);
    EXPECT_EQ(conditions.set(each.type, each.status, each.word, "new"), each.changes) << each.name;
    EXPECT_EQ(shown(conditions), each.after) << each.name;
  }
}

TEST(JobConditions, KeepTheTimeOfAStatusThatStays) {
  JobConditions conditions = conditions_of("Created Suspended");
  conditions.set(kJobSuspended, true, "Other", "m");
  EXPECT_EQ(json::string_at(conditions.list().back(), {"lastTransitionTime"}), kBefore);
  EXPECT_EQ(json::string_at(conditions.list().back(), {"lastUpdateTime"}), kNow);
  EXPECT_EQ(json::string_at(conditions.list().back(), {"reason"}), "JobOther");
  conditions.set(kJobSuspended, false, "Resumed", "m");
  EXPECT_EQ(json::string_at(conditions.list().back(), {"lastTransitionTime"}), kNow);
}

TEST(JobConditions, KnowTheirEnd) {
  EXPECT_FALSE(conditions_of("Created Running").is_over());
  EXPECT_FALSE(conditions_of("Created !Succeeded").is_over());
  EXPECT_TRUE(conditions_of("Created Succeeded").is_over());
  EXPECT_TRUE(conditions_of("Failed").is_over());
}

}  // namespace
}  // namespace gangway::jobs
