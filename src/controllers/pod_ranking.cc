#include "controllers/pod_ranking.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

namespace gangway::controllers {
namespace {

int liveliness(PodPhase phase) {
  switch (phase) {
    case PodPhase::kPending:
      return 0;
    case PodPhase::kUnknown:
      return 1;
    default:
      return 2;
  }
}

int magnitude(WallTime since, WallTime now) {
  const auto age = (now - since).count();
  return age <= 0 ? -1 : std::bit_width(static_cast<std::uint64_t>(age)) - 1;
}

int ready_magnitude(const PodFacts& facts, WallTime now) {
  if (!facts.ready) return 0;
  return facts.ready_since ? magnitude(*facts.ready_since, now) : -2;
}

using Rank = std::tuple<bool, int, bool, std::int64_t, std::int64_t, int, std::int64_t, int, std::string_view>;

Rank rank_of(const Replica& replica, WallTime now) {
  const PodFacts& facts = *replica.facts;
  return {
      !facts.node.empty(),    liveliness(facts.phase),     facts.ready,     facts.deletion_cost,
      -replica.neighbours,    ready_magnitude(facts, now), -facts.restarts, magnitude(replica.pod.header->created, now),
      replica.pod.header->uid};
}

}  // namespace

void sort_for_deletion(std::vector<Replica>& replicas, WallTime now) {
  std::vector<std::pair<Rank, std::size_t>> order;
  order.reserve(replicas.size());
  for (std::size_t i = 0; i < replicas.size(); ++i) order.emplace_back(rank_of(replicas[i], now), i);
  std::sort(order.begin(), order.end());
  std::vector<Replica> sorted;
  sorted.reserve(replicas.size());
  for (const auto& [rank, i] : order) sorted.push_back(std::move(replicas[i]));
  replicas = std::move(sorted);
}

}  // namespace gangway::controllers
