// Classical preemption in flat cohorts: whom one head takes. Each case says which rule decides it.
#include <gtest/gtest.h>

#include "planning/queueing/test_queues.h"

namespace gangway::planning::queueing {
namespace {

using testing::Case;
using testing::TestQueues;

// The queues that all cases share; memory counts in Gi.
TestQueues fixture() {
  TestQueues queues;
  queues.queue("S", "", "cpu 6 | alpha: memory 3; beta: memory 3", "wCQ=LP")
      .queue("c1", "C", "cpu 6 bl 6, memory 3 bl 3", "wCQ=LP rWC=LP")
      .queue("c2", "C", "cpu 6 bl 6, memory 3 bl 3", "rWC=Any")
      .queue("d1", "D", "cpu 6, memory 3", "wCQ=LP rWC=LP")
      .queue("d2", "D", "cpu 6, memory 3", "rWC=Any")
      .queue("l1", "L", "cpu 6 bl 12", "wCQ=LP rWC=LP")
      .queue("P", "", "cpu 6", "wCQ=LNEP")
      .queue("as", "W", "cpu 1 bl 12", "rWC=LP bWC=LP:0")
      .queue("bs", "W", "cpu 1 bl 12", "wCQ=LP rWC=Any bWC=LP:0")
      .queue("ae", "W", "cpu 1 bl 12", "rWC=LP bWC=LP:0")
      .queue("be", "W", "cpu 0 bl 13", "rWC=LP bWC=LP:0")
      .queue("sh", "W", "cpu 10")
      .queue("n1", "N", "cpu 6 ll 4", "wCQ=LP rWC=LP")
      .queue("n2", "N", "cpu 6 ll 2", "wCQ=LP rWC=LP")
      .queue("a", "T", "cpu 2, memory 2", "wCQ=LP rWC=Any")
      .queue("b", "T", "cpu 2, memory 2")
      .queue("c", "T", "cpu 2, memory 2");
  return queues;
}

class GoldenClassical : public ::testing::TestWithParam<Case> {};

TEST_P(GoldenClassical, Victims) {
  TestQueues queues = fixture();
  queues.held(GetParam().held).waiting(GetParam().waiting);
  EXPECT_EQ(queues.victims(), GetParam().want);
}

const Case kCases[] = {
    // Full; the lowest priority goes first, and that is enough.
    {"A1", "S: low(-1,2) mid(0,2) high(1,2)", "S: in(1,2)", "low[ICQ]"},
    // Nobody is below -1.
    {"A3", "S: low(-1,3) mid(0,3)", "S: in(-1,1)", "none"},
    // low (1) and then mid (2) are taken; with mid gone low can stay.
    {"A5", "S: low(-1,1) mid(0,2) high(1,3)", "S: in(1,2)", "mid[ICQ]"},
    // c2 uses 9 of 6; c1 has 3 left of its own: reclaimed by priority, others before the own low.
    {"A7", "c1: low(-1,3); c2: mid(0,3) high(1,6)", "c1: in(1,3)", "mid[REC]"},
    // c2 uses 4 of 6, so nobody is taken from it; nor need be: 4 of 12 are free, and c1 may borrow.
    {"A9", "c1: high(1,4); c2: low(-1,4)", "c1: in(1,4)", "admitted"},
    // The same when all is in use: c2 has what is its own, and own high is not below 1.
    {"A9Full", "c1: high(1,6); c2: low(-1,6)", "c1: in(1,4)", "none"},
    // c1 uses 8 of 6 and wants 4: nobody else borrows; with low gone 4 + 4 of 12 fits, borrowing 2.
    {"A11", "c1: med(0,4) low(-1,4); c2: low2(-1,4)", "c1: in(1,4)", "low[ICQ]"},
    // A cohort of one has 6: low first, then med; low fits back in.
    {"A13", "l1: med(0,4) low(-1,2)", "l1: in(1,4)", "med[ICQ]"},
    // c2 wants 4 of its 6 with 2 used: x, the lower of c1's, goes whatever its priority.
    {"A15", "c1: x(0,4) y(1,4); c2: z(0,2)", "c2: in(0,4)", "x[REC]"},
    // x is above the threshold of 0, so only without borrowing, and 10 of 1 is borrowing.
    {"A19", "bs: x(1,10)", "as: in(2,10)", "none"},
    // Own workloads are never taken.
    {"A21", "as: x(1,13)", "as: in(2,1)", "none"},
    // lower goes while borrowing; then ae is within its 1, so low stays and the own mid goes.
    {"A23", "bs: high(2,10) mid(1,1); ae: low(-1,1) lower(-2,1)", "bs: in(2,2)", "lower[RWB] mid[ICQ]"},
    // n1 could have 2 of its own plus 4 + 2 that both lend: 8.
    {"A25", "n2: low(-1,10)", "n1: in(0,9)", "none"},
    // Without borrowing: b5, b1, b2 (then b is within 2), then a1 brings a to 2 of 2; b2 and b1 fit back in.
    {"A27", "a: a1(-1,1); b: b1(0,1) b2(0,1) b3(0,1) b4(0,1) b5(-1,1)", "a: in(0,2)", "a1[ICQ] b5[REC]"},

    // Of two equals the name decides.
    {"EqualsByName", "S: y(0,3) x(0,3)", "S: in(1,2)", "x[ICQ]"},
    // 6 needs both, however low the first is.
    {"NeedsBoth", "S: low(-1,3) mid(0,3)", "S: in(1,6)", "low[ICQ] mid[ICQ]"},
    // More than the queue will ever have.
    {"NeverFits", "S: low(-1,3)", "S: in(1,7)", "none"},
    // mid is above -1 but below 1; high is not below 1, and without it 4 do not fit.
    {"NotEnoughBelow", "S: mid(0,1) high(1,5)", "S: in(1,4)", "none"},
    // c1 within its quota, but c2 only lends: c2's mid is of equal priority under LowerPriority.
    {"ReclaimNeedsLower", "c2: mid(1,9)", "c1: in(1,6)", "none"},
    // The lowest of the borrower's goes; when c2 is back at 6 the rest is its own.
    {"ReclaimStopsAtNominal", "c2: x(-1,3) y(-1,3) z(-1,3) v(-1,3)", "c1: in(0,6)", "v[REC] x[REC]"},
    // c1 would need 3 more of its own, but c2 has only borrowed 2 of them: after y, c2 is at 5 of 6.
    {"BorrowedIsAllThatIsReclaimed", "c1: own(5,3); c2: x(0,5) y(-1,3)", "c1: in(1,3)", "y[REC]"},
    // Borrowing limit 6: c1 could have 12 and not 13.
    {"BorrowingLimitIsCapacity", "", "c1: in(0,13)", "none"},
    // d1 wants 7, more than its nominal 6, and may not preempt while borrowing.
    {"NoPreemptionBeyondNominal", "d2: x(-1,6)", "d1: in(1,7)", "none"},
    // Own quota is all used, so victims elsewhere would only help it borrow: only own ones are left.
    {"AtNominalOnlyOwnGo", "a: a1(-1,2); b: b1(-1,2) b2(-1,2)", "a: in(0,1)", "a1[ICQ]"},
    // Borrowing within the cohort takes lower ones up to the threshold.
    {"WhileBorrowing", "bs: x(0,10) y(-1,3)", "as: in(1,4)", "x[RWB]"},
    // Threshold 0 is still allowed, and priority must be lower: 0 is not below 0.
    {"WhileBorrowingNeedsLower", "bs: x(0,10) y(0,3)", "as: in(0,4)", "none"},
    // n1's local 2 are free; n2 has borrowed 4 of n1's lendable 4 and uses 10.
    {"LentIsReclaimed", "n2: low(-1,10)", "n1: in(0,6)", "low[REC]"},
    // n1 has 2 that nobody sees: they need no victim.
    {"KeptIsFree", "n2: low(-1,10)", "n1: in(0,2)", "admitted"},
};

INSTANTIATE_TEST_SUITE_P(Table, GoldenClassical, ::testing::ValuesIn(kCases),
                         [](const auto& row) { return std::string(row.param.name); });

// A17: equal priority and newer may go, the one that was admitted last first.
TEST(GoldenClassicalTimes, NewerEqualsGoLatestFirst) {
  TestQueues queues = fixture();
  queues.held("P: wl1(2,2) wl2(1,2) wl3(1,2)").waiting("P: in(1,2)");
  const WallTime t0 = testing::kNow - std::chrono::minutes(10);
  for (const char* name : {"wl1", "wl2", "wl3"}) {
    queues.workload(name).queued = t0;
    queues.workload(name).admission->reserved = t0;
  }
  queues.workload("wl2").admission->reserved = t0 + std::chrono::seconds(1);
  queues.workload("in").queued = t0 - std::chrono::seconds(15);
  EXPECT_EQ(queues.victims(), "wl2[ICQ]");
  // Older ones of equal priority stay.
  queues.workload("in").queued = t0 + std::chrono::seconds(15);
  EXPECT_EQ(queues.victims(), "none");
}

// Who has been told to go already goes first, also before lower priorities and other queues' workloads.
TEST(GoldenClassicalTimes, EvictedOnesGoFirst) {
  TestQueues queues = fixture();
  queues.held("S: low(-1,2) mid(0,2) high(1,2)").waiting("S: in(2,2)");
  queues.workload("high").admission->is_evicted = true;
  EXPECT_EQ(queues.victims(), "high[ICQ]");
}

// Victims must use what is scarce: memory of beta is full, cpu is not.
TEST(GoldenClassicalTimes, OnlyThoseWhoUseWhatIsScarce) {
  TestQueues queues = fixture();
  queues.held("S: cpus(-2,4) memory(-1,3memory@alpha) more(-1,3memory@beta)").waiting("S: in(0,1cpu+2memory)");
  // alpha is tried first; both would need a victim, and the earlier flavor is kept.
  EXPECT_EQ(queues.victims(), "memory[ICQ]");
}

// A nominal quota of d1 and borrowed memory at once: both resources must fit.
TEST(GoldenClassicalTimes, AllResourcesMustFit) {
  TestQueues queues = fixture();
  queues.held("d2: x(0,8cpu+1memory) y(-1,1cpu+4memory)").waiting("d1: in(1,5cpu+2memory)");
  // cpu: 3 of 12 free, 5 wanted; memory: 1 of 6 free, 2 wanted. d2 borrows both. y: cpu 4, memory 5 free; x too.
  // x then gives all of cpu; y fits back in: memory 6 - 4 = 2, cpu 12 - 1 = 11.
  EXPECT_EQ(queues.victims(), "x[REC]");
}

}  // namespace
}  // namespace gangway::planning::queueing
