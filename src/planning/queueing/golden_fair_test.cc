// Preemption by fair sharing. Shares are thousandths of what the cohort could lend in all.
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"

namespace gangway::planning::queueing {
namespace {

using testing::Case;
using testing::TestQueues;

constexpr const char* kPolicies = "wCQ=LP rWC=Any";

// a, b, c with 3 each and p with none: 9 in all.
TestQueues fixture(const std::string& a = "", const std::string& b = "") {
  TestQueues queues;
  queues.queue("a", "all", "cpu 3", std::string(kPolicies) + " " + a)
      .queue("b", "all", "cpu 3", std::string(kPolicies) + " " + b)
      .queue("c", "all", "cpu 3", kPolicies)
      .queue("p", "all", "cpu 0", kPolicies)
      .fair();
  return queues;
}

constexpr const char* kA3 = "a: a1(0,1) a2(0,1) a3(0,1); ";
constexpr const char* kB5 = "b: b1(0,1) b2(0,1) b3(0,1) b4(0,1) b5(0,1); ";
std::string units(std::initializer_list<const char*> parts) {
  std::string all;
  for (const char* part : parts) all += part;
  return all;
}

struct FairCase {
  const char* name;
  std::string held;
  const char* waiting;
  const char* want;
};

class GoldenFair : public ::testing::TestWithParam<FairCase> {};

TEST_P(GoldenFair, Victims) {
  TestQueues queues = fixture();
  queues.held(GetParam().held).waiting(GetParam().waiting);
  EXPECT_EQ(queues.victims(), GetParam().want);
}

const FairCase kCases[] = {
    // c would use 2 of its 3: it gets its own back from whoever has borrowed.
    {"C1", units({kA3, kB5, "c: c1(0,1)"}), "c: in(0,1)", "b1[REC]"},
    // a borrows 1 (111); b borrows 2 (222) and 1 without b1 (111): not more than that.
    {"C3", units({kA3, kB5, "c: c1(0,1)"}), "a: in(0,1)", "b1[FS]"},
    // Nobody borrows.
    {"C5", units({kA3, "b: b1(0,1) b2(0,1) b3(0,1); c: c1(0,1) c2(0,1) c3(0,1)"}), "c: in(0,1)", "none"},
    // a: 4 + 2 - 3 = 333, the highest: a1. Then 222 as b, whose workloads would leave it 111: passed over. Then a2.
    {"C7", units({"a: a1(-1,1) a2(-1,1) a3(0,1) a4(0,1); ", kB5}), "a: in(0,2)", "a1[ICQ] a2[ICQ]"},
    // 2 of 3 is within nominal, whatever goes for it.
    {"C9", "b: b1(0,9)", "a: in(0,2)", "b1[REC]"},
    // a 333; b 444. Without any of them b has 222 or less; by initial share one may go, and 4 free are not 6.
    {"C11", "b: b1(0,2) b2(0,2) b3(0,3)", "a: in(0,6)", "none"},
    // a 55; b and c 166 each, and 0 without any one: by initial share one of each goes, 4 free for 3.5.
    {"C13", "b: b1(0,2) b2(0,2.5); c: c1(0,2) c2(0,2.5)", "a: in(0,3.5)", "b1[FS] c1[FS]"},
    // a 111; b 333 and 0 without one; one goes by initial share: 3 free are not 4.
    {"C15", "b: b1(0,3) b2(0,3); c: c1(0,3)", "a: in(0,4)", "none"},

    // p has nothing: all it gets is borrowed. b 222 without b1 111; p's 1 is 111.
    {"BorrowerAgainstBorrower", units({kA3, kB5, "c: c1(0,1)"}), "p: in(0,1)", "b1[FS]"},
    // p's 2 are 222, as b's are: without b1 111 is less than 222, and 222 is not less than 222.
    {"NotBeyondTheOther", units({kA3, kB5, "c: c1(0,1)"}), "p: in(0,2)", "none"},
    // The lowest priority of the highest borrower goes first.
    {"PriorityWithinTheTarget", "a: a1(0,3); b: b1(5,2) b2(1,2) b3(3,2)", "c: in(0,2)", "b2[REC]"},
    // b borrows 2 (222), c 1 (111): b's goes.
    {"TheHighestShareGives", "b: b1(0,1) b2(0,4); c: c1(0,1) c2(0,3)", "a: in(0,1)", "b1[REC]"},
    // b, c and p borrow 1 each; of their first candidates the lowest priority goes, then the first name.
    {"EqualSharesByCandidate", "b: b1(1,4); c: c1(0,4); p: p1(0,1)", "a: in(0,2)", "c1[REC]"},
};

INSTANTIATE_TEST_SUITE_P(Table, GoldenFair, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

// Only by initial share: a's 111 is less than b's 333, so low goes, whatever it leaves.
TEST(GoldenFairMore, C17) {
  TestQueues queues = fixture();
  queues.options().strategies = {FairStrategy::kLessThanInitialShare};
  EXPECT_EQ(queues.held("a: a1(0,3); b: low(0,5) high(1,1)").waiting("a: in(0,1)").victims(), "low[FS]");
}

// Only by final share: without low b is within its 3, so its share is 0, and a's 111 is more. Without high it has 222.
TEST(GoldenFairMore, FinalShareOnly) {
  TestQueues queues = fixture();
  queues.options().strategies = {FairStrategy::kLessThanOrEqualToFinalShare};
  EXPECT_EQ(queues.held("a: a1(0,3); b: low(0,5) high(1,1)").waiting("a: in(0,1)").victims(), "high[FS]");
}

// a's 2 borrowed count half: 111. b 333, without b1 222; then without b2 111.
TEST(GoldenFairMore, C19) {
  TestQueues queues = fixture("weight=2");
  queues.held(units({kA3, kB5, "b: b6(0,1)"})).waiting("a: in(0,2)");
  EXPECT_EQ(queues.victims(), "b1[FS] b2[FS]");
}

// A queue of no weight is safe within its nominal quota.
TEST(GoldenFairMore, C21) {
  TestQueues queues;
  queues.queue("a", "all", "cpu 3", kPolicies).queue("b", "all", "cpu 3", "wCQ=LP rWC=Any weight=0").fair();
  queues.held(units({kA3, "b: b1(0,1) b2(0,1) b3(0,1)"})).waiting("a: in(0,1)");
  EXPECT_EQ(queues.victims(), "none");
}

// And gets its nominal quota back.
TEST(GoldenFairMore, C23) {
  TestQueues queues;
  queues.queue("a", "all", "cpu 1", "rWC=Any weight=0").queue("b", "all", "cpu 0").fair();
  EXPECT_EQ(queues.held("b: b1(0,1)").waiting("a: in(0,1)").victims(), "b1[REC]");
}

// What it borrows beyond is infinitely much.
TEST(GoldenFairMore, C25) {
  TestQueues queues;
  queues.cohort("all", "", "cpu 1");
  queues.queue("a", "all", "cpu 1", "rWC=Any weight=0").queue("b", "all", "cpu 1").fair();
  EXPECT_EQ(queues.held("a: a1(0,1); b: b1(0,1) b2(0,1)").waiting("a: in(0,1)").victims(), "none");
}

//   root ─ left: a, b (3 each)     12 in all
//        └ right: c, d (3 each)
TestQueues tree() {
  TestQueues queues;
  queues.cohort("left", "root").cohort("right", "root");
  queues.queue("a", "left", "cpu 3", kPolicies)
      .queue("b", "left", "cpu 3", kPolicies)
      .queue("c", "right", "cpu 3", kPolicies)
      .queue("d", "right", "cpu 3", kPolicies)
      .fair();
  return queues;
}

// right has borrowed 3 of left (9 of 6: 250); a wants its own: the highest below the root is right, in it d (6 of 3).
TEST(GoldenFairMore, TreeReclaimsFromTheBorrowingBranch) {
  TestQueues queues = tree();
  queues.held("a: a1(0,3); c: c1(0,3); d: d1(0,3) d2(0,3)").waiting("b: in(0,3)");
  EXPECT_EQ(queues.victims(), "d1[REC]");
}

// a borrows 1 from b's side: compared where both sides meet: left (3+1 of 6) borrows nothing, so its share is 0.
// right borrows 3 of 12 (250); after one of d's 3 it is at 6 of 6: 0. 0 <= 0.
TEST(GoldenFairMore, TreeComparesBelowTheCommonCohort) {
  TestQueues queues = tree();
  queues.held("a: a1(0,3); c: c1(0,3); d: d1(0,3) d2(0,3)").waiting("a: in(0,1)");
  EXPECT_EQ(queues.victims(), "d1[FS]");
}

// Two siblings compare with each other: b has borrowed 2 of a's cohort, right uses its own.
TEST(GoldenFairMore, TreeSiblingsCompareThemselves) {
  TestQueues queues = tree();
  queues.held("a: a1(0,1); b: b1(0,1) b2(0,1) b3(0,3); c: c1(0,3); d: d1(0,3)").waiting("a: in(0,2)");
  // a: 1 + 2 = 3, its own.
  EXPECT_EQ(queues.victims(), "b1[REC] b2[REC]");
}

// A cohort's weight divides its share: right's 250 count 125 with weight 2, and left would have 166 with 2 borrowed.
TEST(GoldenFairMore, TreeWeightOfACohort) {
  TestQueues queues = tree();
  queues.cohort("right", "root", "", 2);
  queues.held("a: a1(0,3); b: b1(0,1) b2(0,1); c: c1(0,3); d: d1(0,2) d2(0,2)").waiting("a: in(0,3)");
  // left: 5 + 3 = 8 of 6: 166. right: 7 of 6: 83 / 2 = 41. a itself: 6 of 3. Nobody's share is above.
  EXPECT_EQ(queues.victims(), "none");
}

}  // namespace
}  // namespace gangway::planning::queueing
