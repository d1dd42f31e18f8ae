#include "testing/sim_loop.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

namespace gangway::testing {
namespace {

using namespace std::chrono_literals;

// Three loops that post to each other, and what came of it.
struct Outcome {
  std::string order;
  std::uint64_t hash = 0;
};

Outcome run(std::uint64_t seed) {
  Simulation simulation(seed);
  simulation.set_longest_task(3us);
  SimClock clock(simulation);
  SimLoop a(simulation, clock, "a");
  SimLoop b(simulation, clock, "b");
  SimLoop c(simulation, clock, "c");
  Outcome result;
  for (SimLoop* loop : {&a, &b, &c}) {
    for (int i = 0; i < 4; ++i) {
      loop->post([&result, loop] { result.order += loop->name(); });
      loop->run_after(1ms, [&result, loop] { result.order += loop->name(); });
    }
  }
  simulation.run_for(1s);
  result.hash = simulation.trace().hash();
  return result;
}

TEST(SimLoopTest, TheSameSeedGivesTheSameRun) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Outcome first = run(seed);
    const Outcome second = run(seed);
    EXPECT_EQ(first.order.size(), 24U);
    EXPECT_EQ(first.order, second.order);
    EXPECT_EQ(first.hash, second.hash);
  }
}

TEST(SimLoopTest, OtherSeedsGiveOtherOrders) {
  std::set<std::string> orders;
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    orders.insert(run(seed).order);
    hashes.insert(run(seed).hash);
  }
  EXPECT_GE(orders.size(), 18U);
  EXPECT_EQ(hashes.size(), 20U);
}

struct OneLoop {
  Simulation simulation{1};
  SimClock clock{simulation};
  std::optional<SimLoop> loop{std::in_place, simulation, clock, "loop"};
};

TEST(SimLoopTest, TheClockGoesFromTimerToTimer) {
  OneLoop one;
  std::vector<Duration> at;
  for (const auto after : {30ms, 10ms, 20ms})
    one.loop->run_after(after, [&] { at.push_back(one.simulation.now().time_since_epoch()); });
  one.simulation.run_for(25ms);
  EXPECT_EQ(at, (std::vector<Duration>{10ms, 20ms}));
  EXPECT_EQ(one.simulation.now().time_since_epoch(), Duration(25ms));
  one.simulation.run_for(10ms);
  EXPECT_EQ(at.back(), Duration(30ms));
  EXPECT_EQ(one.simulation.steps(), 3U);
}

TEST(SimLoopTest, TasksTakeTime) {
  OneLoop one;
  one.simulation.set_longest_task(1ms);
  for (int i = 0; i < 1000; ++i) one.loop->post([] {});
  bool last = false;
  one.loop->post([&] { last = true; });
  ASSERT_TRUE(one.simulation.run_until([&] { return last; }, 10s));
  // 1001 tasks of half a millisecond each, give or take.
  EXPECT_GT(one.simulation.now().time_since_epoch(), Duration(400ms));
  EXPECT_LT(one.simulation.now().time_since_epoch(), Duration(600ms));
}

TEST(SimLoopTest, AStalledLoopRunsNothingUntilThen) {
  OneLoop one;
  SimLoop other(one.simulation, one.clock, "other");
  std::string ran;
  one.loop->stall_until(MonoTime(5s));
  one.loop->post([&] { ran += "s"; });
  one.loop->run_after(1s, [&] { ran += "t"; });
  other.run_after(4s, [&] { ran += "o"; });
  one.simulation.run_for(4999ms);
  EXPECT_EQ(ran, "o");
  one.simulation.run_for(1ms);
  EXPECT_EQ(std::set<char>(ran.begin(), ran.end()), (std::set<char>{'o', 's', 't'}));
}

TEST(SimLoopTest, WhatWaitsKeepsItsOrder) {
  OneLoop one;
  one.loop->set_longest_wait(10ms);
  std::vector<int> ran;
  std::vector<Duration> at;
  for (int i = 0; i < 50; ++i) {
    one.loop->post([&, i] {
      ran.push_back(i);
      at.push_back(one.simulation.now().time_since_epoch());
    });
  }
  one.simulation.run_for(10ms);
  ASSERT_EQ(ran.size(), 50U);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
  EXPECT_GT(at.back(), Duration(5ms));
}

TEST(SimLoopTest, TheDeadRunNothingAndKeepWhatTheyAreGivenUntilTheyGo) {
  OneLoop one;
  auto held = std::make_shared<int>(1);
  bool ran = false;
  const auto note = [&ran, held] { ran = true; };
  one.loop->post(note);
  one.loop->run_after(1s, note);
  one.loop->post(sys::Lane::kSystem, [&] { one.loop->die(); });
  one.simulation.run_for(10s);
  one.loop->post(note);
  one.simulation.run_for(10s);
  EXPECT_FALSE(ran);
  EXPECT_EQ(held.use_count(), 5);  // ours, `note`'s, two posted and a timer
  one.loop.reset();
  EXPECT_EQ(held.use_count(), 2);
  EXPECT_EQ(one.simulation.steps(), 1U);
}

TEST(SimLoopTest, ATaskThatIsDroppedMayPostAgain) {
  OneLoop one;
  struct Poster {
    SimLoop* loop;
    std::shared_ptr<int> held;
    ~Poster() {
      loop->post([kept = held] { static_cast<void>(kept); });
    }
  };
  auto held = std::make_shared<int>(1);
  one.loop->post([poster = std::make_shared<Poster>(Poster{&*one.loop, held})] { static_cast<void>(poster); });
  one.loop.reset();
  EXPECT_EQ(held.use_count(), 1);
}

TEST(SimLoopTest, AClockMayBeWrongAboutTheTimeOfDayOnly) {
  OneLoop one;
  one.simulation.run_for(1h);
  EXPECT_EQ(to_rfc3339(one.clock.wall()), "2026-01-01T01:00:00Z");
  one.clock.set_ahead(-90min);
  EXPECT_EQ(to_rfc3339(one.clock.wall()), "2025-12-31T23:30:00Z");
  EXPECT_EQ(one.clock.mono().time_since_epoch(), Duration(1h));
}

TEST(RandomTest, ForksDependOnTheirNameAndNotOnWhoAskedFirst) {
  const Random random(7);
  EXPECT_EQ(random.fork("a").next(), random.fork("a").next());
  EXPECT_NE(random.fork("a").next(), random.fork("b").next());
  EXPECT_NE(random.fork("a").next(), Random(8).fork("a").next());
}

TEST(TraceTest, TheHashTellsOrderTimeAndTextApart) {
  const auto hash = [](std::vector<std::pair<Duration, std::string>> notes, bool shown = false) {
    Trace trace;
    if (shown) trace.show_to([](auto...) {});
    for (const auto& [at, what] : notes) trace.note(MonoTime(at), "who", what);
    return trace.hash();
  };
  const auto one = hash({{1s, "a"}, {2s, "b"}});
  EXPECT_EQ(hash({{1s, "a"}, {2s, "b"}}, true), one);
  EXPECT_NE(hash({{1s, "b"}, {2s, "a"}}), one);
  EXPECT_NE(hash({{1s, "a"}, {3s, "b"}}), one);
  EXPECT_NE(hash({{1s, "a"}}), one);
}

}  // namespace
}  // namespace gangway::testing
