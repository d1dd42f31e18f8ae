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
