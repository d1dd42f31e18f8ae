#include "apiserver/rest/watch_frames.h"

#include <gtest/gtest.h>

namespace gangway::apiserver {
namespace {

constexpr std::string_view kAdded = R"({"type":"ADDED","object":{"kind":"Pod",)";
constexpr std::string_view kDeleted = R"({"type":"DELETED","object":{"kind":"Pod",)";

std::shared_ptr<const std::string> object(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

TEST(WatchFrames, PutsTheObjectIntoTheEvent) {
  WatchFrames frames;
  EXPECT_EQ(*frames.frame(kAdded, object(R"({"a":1})")),
            "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"a\":1}}\n");
}

TEST(WatchFrames, EncodesOnceForAllWhoWatch) {
  WatchFrames frames;
  auto pod = object(R"({"a":1})");
  EXPECT_EQ(frames.frame(kAdded, pod), frames.frame(kAdded, pod));
}

// Equal bytes of another version, and another event about the same one, are not the same frame.
TEST(WatchFrames, KeepsObjectsAndEventsApart) {
  WatchFrames frames;
  auto pod = object(R"({"a":1})");
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(*frames.frame(kAdded, pod), "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"a\":1}}\n");
    EXPECT_EQ(*frames.frame(kDeleted, pod), "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Pod\",\"a\":1}}\n");
  }
  for (int i = 0; i < 2000; ++i) {
    auto text = std::to_string(i);
    EXPECT_EQ(*frames.frame(kAdded, object("{\"a\":" + text + "}")), std::string(kAdded) + "\"a\":" + text + "}}\n");
  }
}

TEST(WatchFrames, DoesNotKeepLargeObjects) {
  WatchFrames frames;
  auto large = object("{\"a\":\"" + std::string(100'000, 'x') + "\"}");
  EXPECT_EQ(frames.frame(kAdded, large).use_count(), 1);
}

}  // namespace
}  // namespace gangway::apiserver
