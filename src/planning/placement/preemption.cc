#include "planning/placement/preemption.h"

#include <algorithm>
#include <tuple>

namespace gangway::planning {

std::optional<Bargain> Preemption::find(GangId gang, const std::vector<Seeker>& seekers, std::int64_t priority) {
  if (seekers.empty()) return std::nullopt;
  if (seekers.size() == 1) return find_for_one(gang, seekers.front(), priority);
  auto bargain = find_for_many(gang, seekers, priority);
  if (bargain && !survives(*bargain)) return std::nullopt;
  return bargain;
}

Preemption::Preemption(Board& board, Victims& victims) : board_(board), victims_(victims) {
  const Snapshot& snapshot = board.snapshot();
  for (GangId id = 0; id < snapshot.gangs.size(); ++id)
    if (snapshot.gangs[id].ticket && !snapshot.gangs[id].ticket->places.empty()) holders_.push_back(id);
  for (PodId id = 0; id < snapshot.pods.size(); ++id)
    if (snapshot.pods[id].is_terminating && snapshot.pods[id].node != kNone) ending_.push_back(id);
  sort_by_name(ending_);
  std::sort(holders_.begin(), holders_.end(), [&](GangId a, GangId b) {
    return std::make_tuple(priority_of(snapshot, snapshot.gangs[a]), order_name(snapshot.gangs[a])) <
           std::make_tuple(priority_of(snapshot, snapshot.gangs[b]), order_name(snapshot.gangs[b]));
  });
}

// Gangs that wait for room that is held for them, and would have to wait longer.
std::vector<GangId> Preemption::withdrawable(GangId gang, std::int64_t priority) const {
  const Snapshot& snapshot = board_.snapshot();
  std::vector<GangId> gangs;
  for (const GangId id : holders_) {
    const Gang& other = snapshot.gangs[id];
    if (id == gang || board_.is_withdrawn(id) || priority_of(snapshot, other) >= priority) continue;
    // A grant that is half done is completed: without the rest, those who run would be no gang.
    const std::int64_t running = running_of(snapshot, other);
    if (running == 0 || running >= other.min_members) gangs.push_back(id);
  }
  return gangs;
}

// The dearest first: in this order they are spared.
std::vector<Preemption::Obstacle> Preemption::obstacles_on(GangId gang, std::int64_t priority, NodeId node) const {
  const Snapshot& snapshot = board_.snapshot();
  std::vector<Obstacle> obstacles;
  for (const PodId pod : victims_.by_node()[node]) {
    if (snapshot.pods[pod].gang != gang && victims_.may_evict(pod, priority))
      obstacles.push_back({.pod = pod, .cost = victims_.cost_of(pod)});
  }
  std::sort(obstacles.begin(), obstacles.end(), [&](const Obstacle& a, const Obstacle& b) {
    if (a.cost != b.cost) return a.cost > b.cost;
    // Of one gang's members the chief goes last.
    const Pod& first = snapshot.pods[a.pod];
    const Pod& second = snapshot.pods[b.pod];
    if (first.rank != second.rank) return first.rank < second.rank;
    return std::tie(first.ns, first.name) < std::tie(second.ns, second.name);
  });
  for (const GangId other : withdrawable(gang, priority)) {
    const auto& places = snapshot.gangs[other].ticket->places;
    if (std::any_of(places.begin(), places.end(), [&](const auto& place) { return place.node == node; }))
      obstacles.push_back({.ticket = other});
  }
  return obstacles;
}

// Whoever takes over the room that is held for a ticket counts on its victims too.
void Preemption::withdraw(GangId ticket) {
  board_.withdraw(ticket);
  for (const PodId victim : board_.snapshot().gangs[ticket].ticket->victims) board_.remove(victim);
}

void Preemption::restore(GangId ticket) {
  for (const PodId victim : board_.snapshot().gangs[ticket].ticket->victims) board_.put_back(victim);
  board_.restore(ticket);
}

void Preemption::remove(const Obstacle& obstacle) {
  if (obstacle.ticket != kNone) {
    withdraw(obstacle.ticket);
  } else {
    board_.remove(obstacle.pod);
  }
}

void Preemption::put_back(const Obstacle& obstacle) {
  if (obstacle.ticket != kNone) {
    restore(obstacle.ticket);
  } else {
    board_.put_back(obstacle.pod);
  }
}

// They are spared in this order, which must not depend on that of the tables.
void Preemption::sort_by_name(std::vector<PodId>& pods) const {
  const std::vector<Pod>& all = board_.snapshot().pods;
  std::sort(pods.begin(), pods.end(),
            [&](PodId a, PodId b) { return std::tie(all[a].ns, all[a].name) < std::tie(all[b].ns, all[b].name); });
}

std::vector<PodId> Preemption::still_unclaimed(std::vector<PodId> pods) const {
  std::erase_if(pods, [&](PodId pod) { return !victims_.is_ending_unclaimed(pod); });
  return pods;
}

std::vector<PodId> Preemption::ending_for(const Claimant& claimant, NodeId node) const {
  if (board_.looks_around(claimant)) return still_unclaimed(ending_);
  std::vector<PodId> ending = still_unclaimed(victims_.by_node()[node]);
  sort_by_name(ending);
  return ending;
}

// A pod that a withdrawn ticket counted on may not have been told yet that it is to end.
void Preemption::count_on(PodId pod, std::vector<PodId>& evicted, std::vector<PodId>& waits_for) const {
  (board_.snapshot().pods[pod].is_terminating ? waits_for : evicted).push_back(pod);
}

// What the claimant's place on this node would cost; nothing when it has none there however many go.
std::optional<Preemption::Weighed> Preemption::weigh(GangId gang, const Claimant& claimant, std::int64_t priority,
                                                     NodeId node) {
  const Board::Trial trial(board_);
  std::vector<PodId> ending = ending_for(claimant, node);
  const std::vector<Obstacle> obstacles = obstacles_on(gang, priority, node);
  if (obstacles.empty() && ending.empty()) return std::nullopt;
  for (const PodId pod : ending) board_.remove(pod);
  for (const Obstacle& obstacle : obstacles) remove(obstacle);
  if (!board_.fits(claimant, node)) return std::nullopt;

  Weighed weighed;
  for (const Obstacle& obstacle : obstacles) {
    put_back(obstacle);
    if (board_.fits(claimant, node)) continue;
    remove(obstacle);
    if (obstacle.ticket != kNone) {
      weighed.withdrawn.push_back(obstacle.ticket);
      std::vector<PodId> victims = board_.snapshot().gangs[obstacle.ticket].ticket->victims;
      sort_by_name(victims);
      ending.insert(ending.end(), victims.begin(), victims.end());
    } else {
      weighed.evicted.push_back(obstacle.pod);
    }
  }
  for (const PodId pod : ending) {
    board_.put_back(pod);
    if (board_.fits(claimant, node)) continue;
    board_.remove(pod);
    count_on(pod, weighed.evicted, weighed.waits_for);
  }
  weighed.cost = victims_.cost_of(weighed.evicted);
  weighed.withdraws = !weighed.withdrawn.empty();
  return weighed;
}

void Preemption::write(Book& book, GangId gang, const Claimant& claimant, std::int64_t priority, NodeId node) {
  if (const auto known = book.keys.find(node); known != book.keys.end()) {
    book.best.erase(known->second);
    book.keys.erase(known);
  }
  if (const auto weighed = weigh(gang, claimant, priority, node)) {
    const Book::Key key{weighed->cost, weighed->withdraws, board_.order().rank(node)};
    book.keys.emplace(node, key);
    book.best.insert(key);
  }
}

std::optional<Bargain> Preemption::find_for_one(GangId gang, const Seeker& seeker, std::int64_t priority) {
  const Claimant& claimant = seeker.claimant;
  // Pods that look around see more than their node: what was weighed for one may be wrong for the next.
  const bool is_kept = !board_.looks_around(claimant) && board_.snapshot().gangs[gang].is_plain;
  Book scratch;
  Book& book = is_kept ? books_[{claimant.shape, priority, claimant.ends.has_value()}] : scratch;
  if (!book.is_made) {
    for (const NodeId node : board_.admitted(*claimant.shape)) write(book, gang, claimant, priority, node);
    book.is_made = true;
  } else {
    std::set<NodeId> changed(board_.changes().begin() + static_cast<std::ptrdiff_t>(book.seen), board_.changes().end());
    for (const NodeId node : changed)
      if (board_.admits(*claimant.shape, node)) write(book, gang, claimant, priority, node);
  }
  book.seen = board_.changes().size();
  while (!book.best.empty()) {
    const NodeId node = board_.order().by_name()[std::get<2>(*book.best.begin())];
    if (auto weighed = weigh(gang, claimant, priority, node)) {
      Bargain bargain{{{seeker, node}}, weighed->evicted, weighed->waits_for, weighed->withdrawn};
      if (survives(bargain)) return bargain;
    }
    book.best.erase(book.best.begin());
    book.keys.erase(node);
  }
  return std::nullopt;
}

// What gangs of lower priority could give, the cheapest first: members that an elastic gang can do without one by one,
// then whole gangs.
std::vector<std::vector<PodId>> Preemption::offers(GangId gang, std::int64_t priority) const {
  const Snapshot& snapshot = board_.snapshot();
  std::vector<std::pair<std::tuple<Cost, std::string, std::int64_t>, std::vector<PodId>>> offers;
  for (GangId id = 0; id < snapshot.gangs.size(); ++id) {
    const Gang& other = snapshot.gangs[id];
    if (id == gang || other.name.empty()) continue;
    std::vector<PodId> members;
    for (const PodId member : other.members)
      if (snapshot.pods[member].node != kNone && victims_.may_evict(member, priority)) members.push_back(member);
    if (members.empty()) continue;
    std::sort(members.begin(), members.end(), [&](PodId a, PodId b) {
      const Pod& first = snapshot.pods[a];
      const Pod& second = snapshot.pods[b];
      return std::tie(second.rank, second.ns, second.name) < std::tie(first.rank, first.ns, first.name);
    });
    std::vector<PodId> shrunk;
    std::int64_t number = 0;
    for (const PodId member : members) {
      shrunk.push_back(member);
      if (!victims_.can_shrink(other, shrunk)) {
        shrunk.pop_back();
        break;
      }
      offers.push_back({{victims_.cost_of(shrunk), order_name(other), number++}, {member}});
    }
    const std::vector<PodId> rest(members.begin() + static_cast<std::ptrdiff_t>(shrunk.size()), members.end());
    if (!rest.empty()) offers.push_back({{victims_.cost_of(members), order_name(other), number}, rest});
  }
  std::sort(offers.begin(), offers.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::vector<PodId>> ordered;
  ordered.reserve(offers.size());
  for (auto& [cost, pods] : offers) ordered.push_back(std::move(pods));
  return ordered;
}

std::optional<Bargain> Preemption::find_for_many(GangId gang, const std::vector<Seeker>& seekers,
                                                 std::int64_t priority) {
  const Board::Trial trial(board_);
  std::vector<PodId> ending = still_unclaimed(ending_);
  for (const PodId pod : ending) board_.remove(pod);
  const std::vector<GangId> tickets = withdrawable(gang, priority);
  for (const GangId ticket : tickets) withdraw(ticket);

  const std::vector<std::vector<PodId>> all = offers(gang, priority);
  // Who is given up only makes more room, so the least number of offers that suffices can be searched by halves.
  GangPlacer placer(board_);
  const auto try_with = [&](std::size_t count) -> std::optional<std::vector<Seated>> {
    const Board::Trial attempt(board_);
    for (std::size_t i = 0; i < count; ++i)
      for (const PodId pod : all[i]) board_.remove(pod);
    return placer.place(seekers);
  };
  std::optional<std::vector<Seated>> seated = try_with(all.size());
  if (!seated) return std::nullopt;
  std::size_t low = 0;
  std::size_t high = all.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (auto found = try_with(middle)) {
      seated = std::move(found);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return settle(std::move(*seated), ending, tickets, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(high)});
}

// Whether the seats are still good as far as these nodes go.
bool Preemption::stands(const std::vector<Seated>& seated, const std::vector<NodeId>& nodes) const {
  return std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) {
    return board_.ledger().is_sound(node) ||
           std::none_of(seated.begin(), seated.end(), [&](const Seated& seat) { return seat.node == node; });
  });
}

bool Preemption::looks_around(const std::vector<Seated>& seated) const {
  return std::any_of(seated.begin(), seated.end(),
                     [&](const Seated& seat) { return board_.looks_around(seat.seeker.claimant); });
}

// Whether all of them can take their seats one after the other, as things are on the board.
bool Preemption::can_sit(const std::vector<Seated>& seated) {
  const Board::Trial trial(board_);
  return std::all_of(seated.begin(), seated.end(), [&](const Seated& seat) {
    if (!board_.fits(seat.seeker.claimant, seat.node)) return false;
    board_.place(seat.seeker.claimant, seat.node);
    return true;
  });
}

// More may go than was asked for, where gangs go whole. Who looks around may miss them.
bool Preemption::survives(const Bargain& bargain) {
  if (!looks_around(bargain.seated)) return true;
  const Board::Trial trial(board_);
  for (const GangId ticket : bargain.withdrawn) board_.withdraw(ticket);
  std::set<PodId> leaving(bargain.waits_for.begin(), bargain.waits_for.end());
  leaving.insert(bargain.evicted.begin(), bargain.evicted.end());
  for (const Eviction& eviction : victims_.evictions_for(bargain.evicted))
    leaving.insert(eviction.pods.begin(), eviction.pods.end());
  for (const PodId pod : leaving) board_.remove(pod);
  return can_sit(bargain.seated);
}

// With the seats fixed, spares everybody who is not in their way, the dearest first.
// Requires: whatever is in `ending` and `tickets` is off the board.
Bargain Preemption::settle(std::vector<Seated> seated, std::vector<PodId> ending, const std::vector<GangId>& tickets,
                           const std::vector<std::vector<PodId>>& given) {
  Bargain bargain;
  for (const auto& pods : given)
    for (const PodId pod : pods) board_.remove(pod);
  const Snapshot& snapshot = board_.snapshot();
  // Where nobody looks around, room on the nodes concerned is all that matters.
  const bool looks = looks_around(seated);
  if (!looks)
    for (const Seated& seat : seated) board_.place(seat.seeker.claimant, seat.node);
  const auto is_good = [&](const std::vector<NodeId>& nodes) {
    return looks ? can_sit(seated) : stands(seated, nodes);
  };
  const auto node_of = [&](PodId pod) { return snapshot.pods[pod].node; };
  const auto is_needed = [&](PodId pod) {
    board_.put_back(pod);
    if (is_good({node_of(pod)})) return false;
    board_.remove(pod);
    return true;
  };
  for (auto offer = given.rbegin(); offer != given.rend(); ++offer)
    // Members of a gang are in the order in which they are given up.
    for (auto pod = offer->rbegin(); pod != offer->rend(); ++pod)
      if (is_needed(*pod)) bargain.evicted.push_back(*pod);
  for (auto ticket = tickets.rbegin(); ticket != tickets.rend(); ++ticket) {
    const OpenTicket& held = *snapshot.gangs[*ticket].ticket;
    std::vector<NodeId> nodes;
    for (const NetHold& hold : net_holds(snapshot, held)) nodes.push_back(hold.node);
    for (const PodId victim : held.victims) nodes.push_back(node_of(victim));
    restore(*ticket);
    if (is_good(nodes)) continue;
    withdraw(*ticket);
    bargain.withdrawn.push_back(*ticket);
    std::vector<PodId> victims = held.victims;
    sort_by_name(victims);
    ending.insert(ending.end(), victims.begin(), victims.end());
  }
  for (const PodId pod : ending)
    if (is_needed(pod)) count_on(pod, bargain.evicted, bargain.waits_for);
  bargain.seated = std::move(seated);
  return bargain;
}

}  // namespace gangway::planning
