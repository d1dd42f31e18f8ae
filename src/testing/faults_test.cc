#include "testing/faults.h"

#include <gtest/gtest.h>

namespace gangway::testing {
namespace {

using namespace std::chrono_literals;

constexpr unsigned kOften = 500'000;

std::uint64_t count(std::uint64_t seed, std::string_view site, int times) {
  Simulation simulation(seed);
  Faults faults(simulation);
  for (int i = 0; i < times; ++i) static_cast<void>(faults.happens(site, kOften));
  return faults.sites().find(site)->second.happened;
}

TEST(FaultsTest, EachSeedUsesSomeSitesAtRatesOfTheirOwn) {
  int unused = 0;
  std::set<std::uint64_t> counts;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const auto happened = count(seed, "a.site", 400);
    EXPECT_EQ(happened, count(seed, "a.site", 400));
    EXPECT_LE(happened, 260U);  // half of them, and some luck
    unused += happened == 0 ? 1 : 0;
    counts.insert(happened);
  }
  EXPECT_GT(unused, 30);
  EXPECT_LT(unused, 70);
  EXPECT_GT(counts.size(), 20U);
}

TEST(FaultsTest, WhetherASiteIsUsedDoesNotDependOnTheOthers) {
  Simulation simulation(3);
  Faults faults(simulation);
  for (const auto* site : {"x", "y", "z", "a.site"}) static_cast<void>(faults.happens(site, kOften));
  Simulation again(3);
  Faults alone(again);
  static_cast<void>(alone.happens("a.site", kOften));
  EXPECT_EQ(faults.sites().find("a.site")->second.rate, alone.sites().find("a.site")->second.rate);
}

// The first seed that uses the site at all.
std::uint64_t a_seed_with(std::string_view site) {
  std::uint64_t seed = 1;
  while (count(seed, site, 1000) == 0) ++seed;
  return seed;
}

TEST(FaultsTest, NothingHappensInFairWeatherOrOutsideOfWhatIsAllowed) {
  Simulation simulation(a_seed_with("api.lost"));
  Faults faults(simulation);
  faults.stop();
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(faults.happens("api.lost", kOften));
  Faults others(simulation);
  others.allow_only({"watch."});
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(others.happens("api.lost", kOften));
}

TEST(FaultsTest, AProcessIsKilledOnceAndOnlySoManyAre) {
  Simulation simulation(a_seed_with("here"));
  Faults faults(simulation);
  faults.set_most_kills(1);
  SimProcess first(simulation, "first");
  SimLoop& loop = first.add_loop("main");
  int hooks = 0;
  bool ran = false;
  first.on_kill([&] { ++hooks; });
  loop.post([&] { ran = true; });
  while (!faults.kills("here", first, kOften)) {
  }
  EXPECT_FALSE(first.is_alive());
  EXPECT_TRUE(faults.kills("here", first, kOften)) << "it stays dead";
  first.kill();
  EXPECT_EQ(hooks, 1);
  simulation.run_for(1s);
  EXPECT_FALSE(ran);

  SimProcess second(simulation, "second");
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(faults.kills("here", second, kOften));
}

TEST(SimProcessTest, APausedProcessGoesOnWhereItWas) {
  Simulation simulation(1);
  SimProcess process(simulation, "p");
  SimLoop& loop = process.add_loop("main");
  MonoTime ran;
  loop.post([&] { ran = simulation.now(); });
  process.pause_until(MonoTime(3min));
  simulation.run_for(10min);
  EXPECT_EQ(ran, MonoTime(3min));
}

}  // namespace
}  // namespace gangway::testing
