// How much one queue can be given: quota, borrowing and lending, with and without what others use.
#include <gtest/gtest.h>

#include "planning/queueing/share.h"
#include "planning/queueing/test_queues.h"
#include "planning/queueing/usage.h"

namespace gangway::planning::queueing {
namespace {

using testing::TestQueues;

struct QuotaCase {
  const char* name;
  const char* q;     // quota of the queue that asks
  const char* o;     // of the other one in its cohort
  const char* held;  // by both
  int want;          // the most that q is given now
  int capacity;      // the most it could ever have
};

class QuotaOfTwo : public ::testing::TestWithParam<QuotaCase> {};

TEST_P(QuotaOfTwo, Available) {
  TestQueues queues;
  queues.queue("q", "c", GetParam().q).queue("o", "c", GetParam().o).held(GetParam().held);
  const Queues sorted(queues.snapshot());
  const QuotaForest forest(queues.snapshot(), sorted);
  const Usage usage(forest, sorted);
  EXPECT_EQ(usage.available(0, 0), GetParam().want * 1000);
  EXPECT_EQ(forest.cell(0, 0).potential, GetParam().capacity * 1000);
  // What the planner gives is the same: so much, and not one more.
  const auto is_admitted = [&](int cpus) {
    TestQueues asked = queues;
    return asked.waiting(fmt::format("q: in(0,{})", cpus)).victims() == "admitted";
  };
  EXPECT_TRUE(GetParam().want <= 0 || is_admitted(GetParam().want));
  EXPECT_FALSE(is_admitted(std::max(0, GetParam().want) + 1));
}

const QuotaCase kCases[] = {
    // All of both.
    {"Together", "cpu 4", "cpu 4", "", 8, 8},
    // Own 4, and at most 1 of the other's.
    {"BorrowingLimit", "cpu 4 bl 1", "cpu 4", "", 5, 5},
    {"NoBorrowing", "cpu 4 bl 0", "cpu 4", "", 4, 4},
    // A limit above what there is changes nothing.
    {"GenerousLimit", "cpu 4 bl 99", "cpu 4", "", 8, 8},
    // The other lends 1 of its 4.
    {"LendingLimit", "cpu 4", "cpu 4 ll 1", "", 5, 5},
    {"NoLending", "cpu 4", "cpu 4 ll 0", "", 4, 4},
    // Own lending limit does not bind itself: 2 kept + (2 + 4) shown.
    {"OwnLendingLimit", "cpu 4 ll 2", "cpu 4", "", 8, 8},
    {"BothLimits", "cpu 4 bl 1", "cpu 4 ll 3", "", 5, 5},
    // The smaller of what is lent and what may be borrowed.
    {"LendingBelowBorrowing", "cpu 4 bl 3", "cpu 4 ll 2", "", 6, 6},
    // The other uses its own.
    {"OtherUsesItsOwn", "cpu 4", "cpu 4", "o: x(0,4)", 4, 8},
    // The other has borrowed 2 of q's 4.
    {"OtherBorrows", "cpu 4", "cpu 4", "o: x(0,6)", 2, 8},
    // But not of the 2 that q keeps; all 6 that are shown are used, and q still has its 2.
    {"KeptIsThere", "cpu 4 ll 2", "cpu 4", "o: x(0,6)", 2, 8},
    // The other uses 3 of the 3 that it keeps: the cohort sees 1 + 4 free.
    {"OtherUsesWhatItKeeps", "cpu 4", "cpu 4 ll 1", "o: x(0,3)", 5, 5},
    // One more than it keeps is one less to borrow.
    {"OtherUsesMoreThanItKeeps", "cpu 4", "cpu 4 ll 1", "o: x(0,4)", 4, 5},
    // 3 used of 4 + 1.
    {"OwnUseCounts", "cpu 4 bl 1", "cpu 4", "q: x(0,3)", 2, 5},
    {"OwnUseBeyondNominal", "cpu 4 bl 2", "cpu 4", "q: x(0,5)", 1, 6},
    // 1 of the 2 kept is used: 1 + 6 are left.
    {"OwnUseOfWhatIsKept", "cpu 4 ll 2", "cpu 4", "q: x(0,1)", 7, 8},
    // After a cut: 10 used of 8. Nothing until that is made good.
    {"AfterACut", "cpu 4", "cpu 4", "o: x(0,10)", -2, 8},
    // q uses 5 of its 4 + 0.
    {"AfterACutOfTheLimit", "cpu 4 bl 0", "cpu 4", "q: x(0,5)", -1, 4},
    // Without quota of its own everything is borrowed.
    {"OnlyBorrowing", "cpu 0", "cpu 4", "", 4, 4},
    {"OnlyBorrowingALittle", "cpu 0 bl 3", "cpu 4", "", 3, 3},
};

INSTANTIATE_TEST_SUITE_P(Table, QuotaOfTwo, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

//   r 10 ─ a 4 ll 3 ─ b 2: q 1
//        └ o 0
class QuotaOfATree : public ::testing::Test {
 protected:
  QuotaOfATree() {
    queues_.cohort("r", "", "cpu 10").cohort("a", "r", "cpu 4 ll 3").cohort("b", "a", "cpu 2");
    queues_.queue("q", "b", "cpu 1").queue("o", "r", "cpu 0");
  }
  template <class Check>
  void with_usage(Check check) {
    const Queues sorted(queues_.snapshot());
    const QuotaForest forest(queues_.snapshot(), sorted);
    const Usage usage(forest, sorted);
    check(forest, usage);
  }
  TestQueues queues_;
};

// b: 2 + 1; a: 4 + 3 = 7, of which 3 are lent and 4 kept; r: 10 + 3.
TEST_F(QuotaOfATree, SubtreesAddUp) {
  with_usage([](const QuotaForest& forest, const Usage&) {
    const TreeNode r = forest.node_of_cohort(0);
    const TreeNode a = forest.node_of_cohort(1);
    const TreeNode b = forest.node_of_cohort(2);
    EXPECT_EQ(forest.cell(b, 0).subtree, 3000);
    EXPECT_EQ(forest.cell(a, 0).subtree, 7000);
    EXPECT_EQ(forest.cell(a, 0).local, 4000);
    EXPECT_EQ(forest.cell(r, 0).subtree, 13000);
    EXPECT_EQ(forest.cell(0, 0).potential, 17000);  // 4 kept by a, and all of r
    EXPECT_EQ(forest.cell(1, 0).potential, 13000);
    EXPECT_EQ(forest.height(r), 3);
    EXPECT_EQ(forest.height(a), 2);
    EXPECT_EQ(forest.height(b), 1);
    EXPECT_EQ(forest.height(0), 0);
  });
}

// q uses 9: b shows all of it, a shows 5 of it (4 are kept), so r has 8 of 13 left, and so has everybody.
TEST_F(QuotaOfATree, UsageIsShownBeyondWhatIsKept) {
  queues_.held("q: x(0,9)");
  with_usage([](const QuotaForest& forest, const Usage& usage) {
    EXPECT_EQ(usage.used(forest.node_of_cohort(2), 0), 9000);
    EXPECT_EQ(usage.used(forest.node_of_cohort(1), 0), 9000);
    EXPECT_EQ(usage.used(forest.node_of_cohort(0), 0), 5000);
    EXPECT_EQ(usage.available(0, 0), 8000);
    EXPECT_EQ(usage.available(1, 0), 8000);
  });
}

// 1 is q's own; up to 3 are b's (height 1); up to 7 a's (height 2); beyond, 3 more than the 4 that a keeps come from r.
TEST_F(QuotaOfATree, LevelsOfBorrowing) {
  with_usage([](const QuotaForest&, const Usage& usage) {
    const auto level = [&](std::int64_t cpus) {
      const Usage::Level at = usage.level(0, 0, cpus * 1000);
      return std::pair(at.height, at.is_below_root);
    };
    EXPECT_EQ(level(1), std::pair(0, true));
    EXPECT_EQ(level(3), std::pair(1, true));
    EXPECT_EQ(level(7), std::pair(2, true));
    EXPECT_EQ(level(8), std::pair(3, false));
    EXPECT_EQ(level(17), std::pair(3, false));
    EXPECT_EQ(level(18), std::pair(3, false));
  });
}

TEST_F(QuotaOfATree, AddingAndRemovingIsNothing) {
  queues_.held("q: x(0,5); o: y(0,2)");
  with_usage([](const QuotaForest& forest, const Usage& usage) {
    Usage changed = usage;
    changed.add(0, 0, 6000);
    changed.add(1, 0, 3000);
    changed.remove(0, 0, 6000);
    changed.remove(1, 0, 3000);
    for (TreeNode node = 0; node < forest.size(); ++node) EXPECT_EQ(changed.used(node, 0), usage.used(node, 0));
  });
}

// 2 borrowed of 9 are 222.2, shown as 223; half of it with weight 2.
TEST(QueueShare, Numbers) {
  EXPECT_EQ(Share(2, 9, kWeightOne).rounded(), 223);
  EXPECT_EQ(Share(2, 9, 2 * kWeightOne).rounded(), 112);
  EXPECT_EQ(Share(1, 2, kWeightOne).rounded(), 500);
  EXPECT_EQ(Share(1, 8, kWeightOne / 2).rounded(), 250);
  EXPECT_EQ(Share(0, 9, kWeightOne).rounded(), 0);
  EXPECT_EQ(Share(1, 9, 0).rounded(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(Share(0, 9, 0).rounded(), 0);
}

TEST(QueueShare, Order) {
  EXPECT_LT(Share(1, 9, kWeightOne), Share(2, 9, kWeightOne));
  EXPECT_EQ(Share(1, 9, kWeightOne), Share(2, 9, 2 * kWeightOne));
  EXPECT_LT(Share(9, 9, kWeightOne), Share(1, 9, 0));
  // Of two that are infinite the ratio decides.
  EXPECT_LT(Share(1, 9, 0), Share(2, 9, 0));
  EXPECT_EQ(Share(0, 9, 0), Share(0, 9, kWeightOne));
  // Nothing that could be lent: nothing that can be shared.
  EXPECT_TRUE(Share(5, 0, kWeightOne).is_zero());
  // Amounts as large as they come do not wrap.
  EXPECT_LT(Share(kLargestAmount - 1, kLargestAmount, kWeightOne), Share(kLargestAmount, 1, kWeightOne));
}

// The dominant resource counts: 1 of 8 cpus, 3 of 4 bytes.
TEST(QueueShare, TheDominantResourceCounts) {
  TestQueues queues;
  queues.queue("q", "c", "cpu 0, memory 0").queue("o", "c", "cpu 8, memory 4").held("q: x(0,1cpu+3memory)");
  const Queues sorted(queues.snapshot());
  const QuotaForest forest(queues.snapshot(), sorted);
  EXPECT_EQ(Usage(forest, sorted).share(0).rounded(), 750);
  EXPECT_EQ(Usage(forest, sorted).share(1).rounded(), 0);
}

// Flavors of one resource add up: 2 + 1 borrowed of 4 + 6.
TEST(QueueShare, FlavorsAddUp) {
  TestQueues queues;
  queues.queue("q", "c", "one: cpu 0; two: cpu 0").queue("o", "c", "one: cpu 4; two: cpu 6");
  queues.held("q: x(0,2@one) y(0,1@two)");
  const Queues sorted(queues.snapshot());
  const QuotaForest forest(queues.snapshot(), sorted);
  EXPECT_EQ(Usage(forest, sorted).share(0).rounded(), 300);
}

}  // namespace
}  // namespace gangway::planning::queueing
