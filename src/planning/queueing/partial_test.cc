// Partial admission: as many pods as there is room for, where podsets say how few will do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"

namespace gangway::planning::queueing {
namespace {

using ::testing::ElementsAre;
using testing::TestQueues;

struct PartialCase {
  const char* name;
  const char* quotas;
  const char* policies;
  const char* held;
  const char* size;
  const char* want;
};

class Partial : public ::testing::TestWithParam<PartialCase> {};

TEST_P(Partial, Decision) {
  TestQueues queues;
  queues.queue("q", "", GetParam().quotas, GetParam().policies).held(GetParam().held);
  queues.waiting(fmt::format("q: in(1,{})", GetParam().size));
  EXPECT_THAT(queues.decisions(), ElementsAre(std::string("in: ") + GetParam().want));
}

const PartialCase kCases[] = {
    // All of them fit.
    {"All", "cpu 8", "", "", "2-4x2", "admitted main x4 cpu@default"},
    // 7 / 2 = 3.
    {"Some", "cpu 7", "", "", "2-4x2", "admitted main x3 cpu@default"},
    {"TheLeast", "cpu 4", "", "", "2-4x2", "admitted main x2 cpu@default"},
    {"LessThanTheLeast", "cpu 3", "", "", "2-4x2", "waits ExceedsMaxQuota, aside"},
    // Without a minimum it is all or nothing.
    {"AllOrNothing", "cpu 7", "", "", "4x2", "waits ExceedsMaxQuota, aside"},
    // 3 are free for 1 to 4 pods.
    {"WhatIsLeft", "cpu 5", "", "q: x(0,2)", "1-4x1", "admitted main x3 cpu@default"},
    // The full size is tried first, with victims: x goes, and all 4 come.
    {"FullSizeWithVictimsFirst", "cpu 5", "wCQ=LP", "q: x(0,2)", "1-4x1", "preempts x[ICQ]"},
    // All 6 never fit, and 5 only without x: the largest that is possible at all is taken, victims included.
    {"LargestEvenWithVictims", "cpu 5", "wCQ=LP", "q: x(0,2)", "1-6x1", "preempts x[ICQ]"},
    // One flavor would take 3 and the other 2: the search is for the number, and the first flavor that takes it wins.
    {"AcrossFlavors", "one: cpu 2; two: cpu 3", "", "", "1-4x1", "admitted main x3 cpu@two"},
    {"ManyPods", "cpu 1000", "", "", "1-5000x1", "admitted main x1000 cpu@default"},
};

INSTANTIATE_TEST_SUITE_P(Table, Partial, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

// Two podsets that may shrink by 4 and by 2, of 14 to 12 cpus: of k given up in all they give up 4k/6 and 2k/6.
TEST(PartialMore, PodsetsGiveUpInProportion) {
  TestQueues queues;
  queues.queue("q", "", "cpu 12").waiting("q: in(0,4-8x1)").podset("in", "more", "4-6x1");
  // k = 2: 8 - 8/6 = 7, 6 - 4/6 = 6: 13. k = 3: 8 - 12/6 = 6, 6 - 6/6 = 5: 11.
  EXPECT_THAT(queues.decisions(), ElementsAre("in: admitted main x6 cpu@default more x5 cpu@default"));
}

// A podset without a minimum keeps its count.
TEST(PartialMore, TheOthersStayWhole) {
  TestQueues queues;
  queues.queue("q", "", "cpu 5").waiting("q: in(0,2)").podset("in", "workers", "1-6x1");
  EXPECT_THAT(queues.decisions(), ElementsAre("in: admitted main x1 cpu@default workers x3 cpu@default"));
}

}  // namespace
}  // namespace gangway::planning::queueing
