#include "planning/placement/gang_placer.h"

#include <algorithm>
#include <map>
#include <utility>

#include "planning/placement/finder.h"

namespace gangway::planning {
namespace {

// How many domains of one level are tried: the tightest that could hold the gang are nearly always those that do.
constexpr std::size_t kDomainsTried = 8;

// Members that are alike, the most demanding kinds first: what needs devices has the fewest places to go to.
std::vector<std::vector<Seeker>> by_kind(const Snapshot& snapshot, std::vector<Seeker> seekers) {
  const auto demand = [&](const Seeker& seeker) {
    const PodShape& shape = *seeker.claimant.shape;
    const ResourceId device = device_wanted(snapshot, shape);
    return std::make_tuple(device == kCpu ? 0 : amount_of(shape.request, device), amount_of(shape.request, kCpu),
                           amount_of(shape.request, kMemory));
  };
  std::vector<std::vector<Seeker>> kinds;
  std::map<std::pair<const PodShape*, std::optional<WallTime>>, std::size_t> known;
  for (Seeker& seeker : seekers) {
    const auto [at, is_new] = known.try_emplace({seeker.claimant.shape, seeker.claimant.ends}, kinds.size());
    if (is_new) kinds.emplace_back();
    kinds[at->second].push_back(seeker);
  }
  // Equal demands stay in the order of the seekers, which is that of ranks and names.
  std::stable_sort(kinds.begin(), kinds.end(),
                   [&](const auto& a, const auto& b) { return demand(a.front()) > demand(b.front()); });
  return kinds;
}

}  // namespace

std::optional<std::vector<Seated>> GangPlacer::place(std::vector<Seeker> seekers) {
  const auto kinds = by_kind(board_.snapshot(), std::move(seekers));
  if (kinds.empty()) return std::vector<Seated>();
  if (kinds.size() > 1 || kinds.front().size() > 1) {
    for (const std::string& label : board_.policies().topology)
      if (auto seated = place_near(kinds, label)) return seated;
  }
  return place_within(kinds, nullptr);
}

// In the tightest domain of this level that takes them all.
std::optional<std::vector<Seated>> GangPlacer::place_near(const std::vector<std::vector<Seeker>>& kinds,
                                                          const std::string& label) {
  const std::vector<Seeker>& main = kinds.front();
  const auto wanted = static_cast<std::int64_t>(main.size());
  std::map<std::string, std::pair<std::int64_t, Nodes>> domains;
  for (const NodeId node : board_.order().by_name())
    if (const std::string* value = find_label(board_.snapshot().nodes[node].traits->labels, label))
      domains[*value].second.push_back(node);
  if (domains.size() < 2) return std::nullopt;  // everywhere is near, or nobody knows
  for (const Room& room : rooms(main.front().claimant, wanted, board_.admitted(*main.front().claimant.shape)))
    if (const std::string* value = find_label(board_.snapshot().nodes[room.node].traits->labels, label))
      domains[*value].first += room.count;

  std::vector<std::pair<std::int64_t, const Nodes*>> tightest;
  for (const auto& [value, domain] : domains)
    if (domain.first >= wanted) tightest.emplace_back(domain.first, &domain.second);
  std::stable_sort(tightest.begin(), tightest.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (tightest.size() > kDomainsTried) tightest.resize(kDomainsTried);
  for (const auto& [count, nodes] : tightest)
    if (auto seated = place_within(kinds, nodes)) return seated;
  return std::nullopt;
}

std::optional<std::vector<Seated>> GangPlacer::place_within(const std::vector<std::vector<Seeker>>& kinds,
                                                            const Nodes* domain) {
  const Board::Savepoint before = board_.savepoint();
  std::vector<Seated> seated;
  for (const std::vector<Seeker>& kind : kinds) {
    const Nodes& admitted = board_.admitted(*kind.front().claimant.shape);
    Nodes nodes;
    if (domain) {
      const auto by_rank = [&](NodeId a, NodeId b) { return board_.order().rank(a) < board_.order().rank(b); };
      std::set_intersection(admitted.begin(), admitted.end(), domain->begin(), domain->end(), std::back_inserter(nodes),
                            by_rank);
    }
    const Nodes& candidates = domain ? nodes : admitted;
    const bool looks_around = std::any_of(kind.begin(), kind.end(),
                                          [&](const Seeker& seeker) { return board_.looks_around(seeker.claimant); });
    if (looks_around ? seat_one_by_one(kind, candidates, seated) : seat_equals(kind, candidates, seated)) continue;
    board_.roll_back(before);
    return std::nullopt;
  }
  return seated;
}

std::vector<GangPlacer::Room> GangPlacer::rooms(const Claimant& claimant, std::int64_t wanted,
                                                const Nodes& nodes) const {
  std::vector<Room> rooms;
  for (const NodeId node : nodes) {
    const std::int64_t count = board_.ledger().count_fits(node, *claimant.shape, claimant.ends, wanted);
    if (count > 0) rooms.push_back({node, count});
  }
  return rooms;
}

void GangPlacer::seat(const Seeker& seeker, NodeId node, std::vector<Seated>& seated) {
  board_.place(seeker.claimant, node);
  seated.push_back({seeker, node});
}

// Fills the roomiest nodes first, and puts the rest where it leaves least.
bool GangPlacer::seat_equals(const std::vector<Seeker>& kind, const Nodes& nodes, std::vector<Seated>& seated) {
  const Claimant& claimant = kind.front().claimant;
  const ResourceId device = device_wanted(board_.snapshot(), *claimant.shape);
  std::vector<Room> free = rooms(claimant, static_cast<std::int64_t>(kind.size()), nodes);
  // Of nodes that take equally many, those where the gang is already, then those with the fewest devices to spare.
  const auto is_home = [&](NodeId node) {
    return std::any_of(seated.begin(), seated.end(), [&](const Seated& other) { return other.node == node; });
  };
  std::vector<std::pair<std::tuple<std::int64_t, bool, std::int64_t, std::uint32_t>, NodeId>> ordered;
  ordered.reserve(free.size());
  for (const Room& room : free)
    ordered.push_back({{-room.count, !is_home(room.node), device == kCpu ? 0 : board_.ledger().left(room.node, device),
                        board_.order().rank(room.node)},
                       room.node});
  std::sort(ordered.begin(), ordered.end());

  std::size_t next = 0;
  std::size_t first = 0;
  while (next < kind.size()) {
    if (first == ordered.size()) return false;
    const auto rest = static_cast<std::int64_t>(kind.size() - next);
    auto chosen = ordered.begin() + static_cast<std::ptrdiff_t>(first);
    if (-std::get<0>(chosen->first) >= rest) {
      // One node takes all that are left: the one that has just enough, and of those the best.
      const auto past = std::partition_point(chosen, ordered.end(),
                                             [&](const auto& entry) { return -std::get<0>(entry.first) >= rest; });
      const std::int64_t least = -std::get<0>(std::prev(past)->first);
      chosen = std::partition_point(chosen, past, [&](const auto& entry) { return -std::get<0>(entry.first) > least; });
    } else {
      ++first;
    }
    const std::int64_t count = std::min(rest, -std::get<0>(chosen->first));
    for (std::int64_t i = 0; i < count; ++i) seat(kind[next++], chosen->second, seated);
  }
  return true;
}

bool GangPlacer::seat_one_by_one(const std::vector<Seeker>& kind, const Nodes& nodes, std::vector<Seated>& seated) {
  for (const Seeker& seeker : kind) {
    NodeId best = kNone;
    std::tuple<std::int64_t, bool, std::uint32_t> best_score;
    for (const NodeId node : nodes) {
      if (!board_.fits(seeker.claimant, node)) continue;
      const bool is_home =
          std::any_of(seated.begin(), seated.end(), [&](const Seated& other) { return other.node == node; });
      const std::tuple score{-board_.topology().preference_for(*seeker.claimant.shape, node), !is_home,
                             board_.order().rank(node)};
      if (best == kNone || score < best_score) {
        best = node;
        best_score = score;
      }
    }
    if (best == kNone) return false;
    seat(seeker, best, seated);
  }
  return true;
}

}  // namespace gangway::planning
