#include "controllers/pod_ranking.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/decode.h"
#include "testing/builders.h"

namespace gangway::controllers {
namespace {

using namespace std::chrono_literals;

const WallTime kNow = *parse_rfc3339("2026-01-10T00:00:00Z");

// A running, ready pod on a node, a day old; each case differs in what its row says.
struct Candidate {
  const char* name;
  PodFacts facts = {.phase = PodPhase::kRunning,
                    .node = "n",
                    .ready = true,
                    .ready_since = kNow - 24h,
                    .deletion_cost = 0,
                    .restarts = 0};
  Duration age = 24h;
  std::int64_t neighbours = 1;
};

std::vector<std::string> order(const std::vector<Candidate>& candidates) {
  std::vector<Replica> replicas;
  for (const Candidate& each : candidates) {
    json::Value pod = testing::a_pod("default", each.name);
    json::object_at(pod, {"metadata"})["uid"] = each.name;
    json::object_at(pod, {"metadata"})["creationTimestamp"] = to_rfc3339(kNow - each.age);
    replicas.push_back({*client::encode_object(pod), std::make_shared<const PodFacts>(each.facts), each.neighbours});
  }
  sort_for_deletion(replicas, kNow);
  std::vector<std::string> names;
  for (const Replica& replica : replicas) names.push_back(replica.pod.header->name.name);
  return names;
}

using Names = std::vector<std::string>;

Candidate with(const char* name, const std::function<void(Candidate&)>& change) {
  Candidate candidate{name};
  change(candidate);
  return candidate;
}

// Each criterion decides against all that come after it: "z" is worse by one, "a" by every later one.
TEST(PodRankingTest, CriteriaCountInTheirOrder) {
  const std::vector<std::function<void(Candidate&)>> criteria = {
      [](Candidate& c) { c.facts.node = ""; },     [](Candidate& c) { c.facts.phase = PodPhase::kPending; },
      [](Candidate& c) { c.facts.ready = false; }, [](Candidate& c) { c.facts.deletion_cost = -1; },
      [](Candidate& c) { c.neighbours = 2; },      [](Candidate& c) { c.facts.ready_since = kNow - 1h; },
      [](Candidate& c) { c.facts.restarts = 1; },  [](Candidate& c) { c.age = 1h; },
  };
  for (std::size_t i = 0; i < criteria.size(); ++i) {
    const auto later = with("a", [&](Candidate& c) {
      for (std::size_t j = i + 1; j < criteria.size(); ++j) criteria[j](c);
    });
    // Time of readiness says nothing about a pod that is not ready.
    EXPECT_EQ(order({later, with("z", criteria[i])}), (Names{"z", "a"})) << "criterion " << i;
  }
}

TEST(PodRankingTest, UnknownIsBetweenPendingAndRunning) {
  EXPECT_EQ(order({with("running", [](Candidate&) {}),
                   with("unknown", [](Candidate& c) { c.facts.phase = PodPhase::kUnknown; }),
                   with("pending", [](Candidate& c) { c.facts.phase = PodPhase::kPending; })}),
            (Names{"pending", "unknown", "running"}));
}

// 24 h and 26 h are of the same power of two in nanoseconds (2^46 ns is 19.5 h, 2^47 ns is 39 h), so the uid decides.
TEST(PodRankingTest, AgesCountByTheirMagnitude) {
  const auto older = with("a", [](Candidate& c) { c.age = 26h, c.facts.ready_since = kNow - 26h; });
  const auto newer = with("b", [](Candidate& c) { c.age = 24h, c.facts.ready_since = kNow - 24h; });
  const auto much_newer = with("c", [](Candidate& c) { c.age = 10h, c.facts.ready_since = kNow - 10h; });
  EXPECT_EQ(order({older, newer, much_newer}), (Names{"c", "a", "b"}));
}

TEST(PodRankingTest, AReadyPodWithoutATimeGoesBeforeOthers) {
  EXPECT_EQ(order({with("a", [](Candidate& c) { c.facts.ready_since = kNow - 1s; }),
                   with("b", [](Candidate& c) { c.facts.ready_since.reset(); })}),
            (Names{"b", "a"}));
}

}  // namespace
}  // namespace gangway::controllers
