#include "agent/pod/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gangway::agent {
namespace {

std::string conditions(const PodReport& report) {
  return json::serialize(json::Value(conditions_of(report)));
}

TEST(PodReport, ACheckpointIsItsPathAndItsTime) {
  EXPECT_EQ(conditions({.checkpoint = R"({"path":"/ckpt/3.pt","at":"2026-01-02T03:04:05Z"})", .progress = ""}),
            R"([{"type":"gangway.dev/Checkpoint","status":"True","reason":"Saved","message":"/ckpt/3.pt",)"
            R"("lastTransitionTime":"2026-01-02T03:04:05Z"}])");
}

TEST(PodReport, ProgressIsTheNumbersThatWereGiven) {
  EXPECT_EQ(
      conditions({.checkpoint = "", .progress = R"({"epoch":3,"total":9,"at":"2026-01-02T03:04:05Z"})"}),
      R"([{"type":"gangway.dev/Progress","status":"True","reason":"Reported","message":"{\"epoch\":3,\"total\":9}",)"
      R"("lastTransitionTime":"2026-01-02T03:04:05Z"}])");
}

TEST(PodReport, ProgressSaysSinceWhen) {
  const auto message = [](const std::string& since) {
    const json::Array told = conditions_of(
        {.checkpoint = "", .progress = R"({"step":9,"at":"2026-01-02T03:04:05Z","since":)" + since + "}"});
    return told.empty() ? std::string() : std::string(json::string_at(told[0], {"message"}));
  };
  EXPECT_EQ(message(R"({"step":4,"epoch":1,"at":"2026-01-02T03:00:00Z","more":"x"})"),
            R"({"step":9,"since":{"epoch":1,"step":4,"at":"2026-01-02T03:00:00Z"}})");
  for (const char* wrong : {"7", R"({"step":4})", R"({"at":"2026-01-02T03:00:00Z"})", R"({"step":4,"at":"soon"})",
                            R"({"step":"4","at":"2026-01-02T03:00:00Z"})"})
    EXPECT_EQ(message(wrong), R"({"step":9})") << wrong;
}

TEST(PodReport, CheckpointsAreToldAtOnceAndProgressNowAndThen) {
  const PodReport told{.checkpoint = "a", .progress = "1"};
  EXPECT_TRUE(is_worth_telling(told, {.checkpoint = "b", .progress = "1"}, Duration::zero()));
  EXPECT_FALSE(is_worth_telling(told, {.checkpoint = "a", .progress = "2"}, kTellProgressEvery - Duration(1)));
  EXPECT_TRUE(is_worth_telling(told, {.checkpoint = "a", .progress = "2"}, kTellProgressEvery));
  EXPECT_FALSE(is_worth_telling(told, told, kTellProgressEvery));
}

TEST(PodReport, AFileThatIsNotThereTakesNothingBack) {
  const PodReport told{.checkpoint = "a", .progress = "1"};
  EXPECT_EQ(brought_up_to(told, {}), told);
  EXPECT_EQ(brought_up_to(told, {.checkpoint = "b", .progress = ""}), (PodReport{.checkpoint = "b", .progress = "1"}));
  EXPECT_EQ(brought_up_to(told, {.checkpoint = "", .progress = "2"}), (PodReport{.checkpoint = "a", .progress = "2"}));
  EXPECT_EQ(brought_up_to({}, {}), PodReport());
}

TEST(PodReport, WhatCannotBeReadSaysNothing) {
  const std::string at = R"("at":"2026-01-02T03:04:05Z")";
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("7"), R"({"path":"/a"})" + std::string(),
        R"({"path":"/a","at":"soon"})" + std::string(), "{\"path\":\"" + std::string(2000, 'a') + "\"," + at + "}"})
    EXPECT_EQ(conditions({.checkpoint = text, .progress = ""}), "[]") << text;
  for (const std::string& text :
       {std::string(), R"({"epoch":"three",)" + at + "}", "{" + at + "}", std::string(R"({"epoch":3})")})
    EXPECT_EQ(conditions({.checkpoint = "", .progress = text}), "[]") << text;
}

}  // namespace
}  // namespace gangway::agent
