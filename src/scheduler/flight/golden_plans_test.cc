// Situations and the plans they must give: tests/testdata/plans.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "planning/placement/verify.h"
#include "planning/schedule/schedule.h"
#include "scheduler/flight/plan_text.h"
#include "scheduler/flight/snapshot_text.h"
#include "sys/files.h"

namespace gangway::scheduler::flight {
namespace {

constexpr std::string_view kArrow = "=>\n";

std::vector<std::string> golden_files() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(GANGWAY_PLANS))
    if (entry.path().extension() == ".plan") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string without_comments(std::string_view text) {
  std::string rest;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n') + 1);
    if (!line.starts_with('#')) rest += line;
    text.remove_prefix(line.size());
  }
  return rest;
}

class GoldenPlanTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenPlanTest, IsPlanned) {
  const auto text = sys::read_file(GetParam());
  ASSERT_TRUE(text) << text.error().message;
  const std::size_t arrow = text->find(kArrow);
  ASSERT_NE(arrow, std::string::npos);
  const auto given = decode(without_comments(text->substr(0, arrow)));
  ASSERT_TRUE(given) << given.error().message;
  const planning::Plan plan = schedule(given->snapshot, given->policies, given->budget);
  EXPECT_EQ(planning::verify(given->snapshot, given->policies, plan), std::vector<std::string>{});
  const std::string planned = readable(lines_of(given->snapshot, plan));
  if (std::getenv("GANGWAY_WRITE_PLANS") != nullptr) {
    std::ofstream(GetParam()) << text->substr(0, arrow) << kArrow << planned;
  } else {
    EXPECT_EQ(planned, text->substr(arrow + kArrow.size()));
  }
}

INSTANTIATE_TEST_SUITE_P(Plans, GoldenPlanTest, ::testing::ValuesIn(golden_files()),
                         [](const auto& test) { return std::filesystem::path(test.param).stem().string(); });

TEST(GoldenPlans, AreThere) {
  EXPECT_GE(golden_files().size(), 8u);
}

}  // namespace
}  // namespace gangway::scheduler::flight
