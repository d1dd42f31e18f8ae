#include "agent/oci/image_collection.h"

#include <gtest/gtest.h>

namespace gangway::agent::oci {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

const WallTime kNow = *parse_rfc3339("2026-01-02T03:04:05Z");

std::vector<std::string> digests(const std::vector<ImageUse>& images) {
  std::vector<std::string> result;
  for (const auto& image : images) result.push_back(image.digest);
  return result;
}

TEST(ImageCollection, ADiskIsAsFullAsItsOwnersCanSee) {
  EXPECT_EQ((DiskUse{.total = 1000, .available = 150}.percent()), 85);
  EXPECT_EQ((DiskUse{.total = 1000, .available = 151}.percent()), 84);
  EXPECT_EQ((DiskUse{.total = 1000, .available = 1000}.percent()), 0);
  EXPECT_EQ((DiskUse{}.percent()), 0);
}

TEST(ImageCollection, TheNamelessGoFirstThenTheLongestUnused) {
  const std::vector<ImageUse> images{
      {.digest = "yesterday", .last_used = kNow - hours(24)},
      {.digest = "today", .last_used = kNow - hours(1)},
      {.digest = "runs", .in_use = true, .last_used = kNow - hours(48)},
      {.digest = "runs nameless", .named = false, .in_use = true, .last_used = kNow - hours(48)},
      {.digest = "nameless", .named = false, .last_used = kNow - minutes(3)},
      {.digest = "just prepared", .last_used = kNow - minutes(1)},
  };
  EXPECT_EQ(digests(removable_images(images, kNow, minutes(2))),
            (std::vector<std::string>{"nameless", "yesterday", "today"}));
}

TEST(ImageCollection, NamedOnesGoOnlyFromADiskThatIsTooFull) {
  const std::vector<ImageUse> named{{.digest = "a"}, {.digest = "b"}};
  const DiskUse full{.total = 100, .available = 15};
  const DiskUse between{.total = 100, .available = 18};
  const DiskUse fine{.total = 100, .available = 21};
  const ImageLimits limits;
  ASSERT_NE(next_image_to_go(named, full, limits, false), nullptr);
  EXPECT_EQ(next_image_to_go(named, full, limits, false)->digest, "a");
  EXPECT_EQ(next_image_to_go(named, between, limits, false), nullptr);
  ASSERT_NE(next_image_to_go(named, between, limits, true), nullptr) << "once begun it goes on to the lower mark";
  EXPECT_EQ(next_image_to_go(named, fine, limits, true), nullptr);
  const std::vector<ImageUse> nameless{{.digest = "x", .named = false}};
  EXPECT_NE(next_image_to_go(nameless, fine, limits, false), nullptr);
  EXPECT_EQ(next_image_to_go({}, full, limits, true), nullptr);
}

}  // namespace
}  // namespace gangway::agent::oci
