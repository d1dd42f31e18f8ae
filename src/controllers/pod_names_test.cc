#include "controllers/pod_names.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/names.h"

namespace gangway::controllers {
namespace {

TEST(PodNamesTest, ANameIsItsNumberAndBack) {
  const PodNames names("web-7d9f", "1b9e3a52-0000-4000-8000-000000000001");
  std::set<std::string> seen;
  for (std::uint64_t number = 0; number < 5000; ++number) {
    const std::string name = names.name(number);
    EXPECT_EQ(name.substr(0, 9), "web-7d9f-");
    EXPECT_EQ(name.size(), 14u);
    EXPECT_TRUE(seen.insert(name).second) << number;
    EXPECT_EQ(names.number(name), number);
  }
  for (const std::uint64_t number : {PodNames::kCount - 1, PodNames::kCount / 2})
    EXPECT_EQ(names.number(names.name(number)), number);
  EXPECT_EQ(names.name(PodNames::kCount + 3), names.name(3));
}

TEST(PodNamesTest, SetsHaveNamesOfTheirOwn) {
  const PodNames one("web", "uid-1");
  const PodNames other("web", "uid-2");
  EXPECT_NE(one.name(0), other.name(0));
  for (int i = 0; i < 200; ++i) {
    const PodNames names("web", "uid-" + std::to_string(i));
    EXPECT_EQ(names.number(names.name(12345)), 12345u) << i;
  }
}

TEST(PodNamesTest, KnowsWhatIsNotAName) {
  const PodNames names("web", "uid-1");
  for (const char* name : {"web", "web-", "web-0", "web-aeiou", "web-bbbbbb", "db-bbbbb", "web-bbbb"})
    EXPECT_FALSE(names.number(name)) << name;
  EXPECT_TRUE(names.number("web-bbbbb"));
}

TEST(PodNamesTest, LongSetsHaveShortPods) {
  const std::string set = std::string(57, 'a') + ".example.com";
  const PodNames names(set, "uid-1");
  EXPECT_EQ(names.name(7).size(), 63u);
  EXPECT_TRUE(names::check_dns1123_subdomain(names.name(7)).empty());
  EXPECT_EQ(names.number(names.name(7)), 7u);
}

}  // namespace
}  // namespace gangway::controllers
