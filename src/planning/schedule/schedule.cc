#include "planning/schedule/schedule.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "planning/open_ticket.h"
#include "planning/placement/board.h"
#include "planning/placement/finder.h"
#include "planning/placement/gang_placer.h"
#include "planning/placement/judge.h"
#include "planning/placement/preemption.h"
#include "planning/placement/refusal.h"
#include "planning/placement/reservation.h"
#include "planning/placement/victims.h"

namespace gangway::planning {
namespace {

// A gang that waits for something, and what it is still short of.
struct Waiting {
  GangId gang = kNone;
  std::vector<PodId> pods = {};  // without a place, in the order in which they are placed
  std::int64_t needed = 0;       // how many of them it cannot do without; 0: it runs, and would like to grow
  std::int64_t missing = 0;      // how many of those do not even exist
};

// For how many of these late members the ticket holds room.
std::int64_t holds_of(const OpenTicket& ticket, const LateMembers& late) {
  return std::count_if(ticket.holds.begin(), ticket.holds.end(), [&](const OpenTicket::Hold& hold) {
    return hold.shape == late.shape && hold.labels == late.labels;
  });
}

class Scheduling {
 public:
  Scheduling(const Snapshot& snapshot, const Policies& policies, const Budget& budget)
      : snapshot_(snapshot),
        budget_(budget),
        board_(snapshot, policies),
        finder_(board_),
        placer_(board_),
        victims_(snapshot, policies),
        preemption_(board_, victims_) {}

  // 1. Tickets that can no longer be kept are taken back.
  // 2. Those who wait are put in order: priority, then place in line, then name.
  // 3. Each is given what it cannot do without: where there is room, else at the cost of others.
  // 4. The first gang that got nothing has room kept for it, before those behind it are tried.
  // 5. What is left goes to elastic gangs that would like to grow.
  Plan run() {
    take_back_broken_tickets();
    std::vector<Waiting> served;
    for (const GangId id : line_up()) {
      tell_ticket_holder(id);
      auto waiting = waiting_of(id);
      if (!waiting) continue;
      if (waiting->needed > 0) serve(*waiting);
      served.push_back(std::move(*waiting));
    }
    for (const Waiting& waiting : served) grow(waiting);
    return std::move(plan_);
  }

 private:
  void take_back_broken_tickets();
  bool is_kept(GangId id);
  std::vector<GangId> line_up() const;
  void tell_ticket_holder(GangId id);
  std::optional<Waiting> waiting_of(GangId id);
  void serve(const Waiting& waiting);
  bool place_now(const Waiting& waiting, const std::vector<Seeker>& seekers);
  bool make_room(const Waiting& waiting, const std::vector<Seeker>& seekers);
  void grant(const Waiting& waiting, std::vector<Seated> seated, Ticket ticket);
  void refuse(const Waiting& waiting, const std::vector<Seeker>& seekers);
  void grow(const Waiting& waiting);
  std::vector<Seeker> seekers_of(const Waiting& waiting) const;
  std::optional<std::int64_t> preempting_priority(const std::vector<Seeker>& seekers) const;
  bool has_min_resources(const Gang& gang) const;

  const Snapshot& snapshot_;
  Budget budget_;
  Board board_;
  Finder finder_;
  GangPlacer placer_;
  Victims victims_;
  Preemption preemption_;
  std::map<GangId, std::size_t> granted_;  // where in the plan
  // Shapes of plain pods that found nothing: room only shrinks while a plan is made, so their equals find nothing too.
  std::map<std::tuple<const PodShape*, std::int64_t, bool, bool>, Verdict> refused_;
  Plan plan_;
};

// Its nodes are there and take its pods, and when its victims have gone there will be room for all of them: nothing
// that somebody else did has taken it away.
bool Scheduling::is_kept(GangId id) {
  const OpenTicket& ticket = *snapshot_.gangs[id].ticket;
  const Board::Trial trial(board_);
  board_.withdraw(id);
  for (const PodId victim : ticket.victims) board_.remove(victim);
  const auto sits = [&](const Claimant& claimant, NodeId node) {
    if (node >= snapshot_.nodes.size() || snapshot_.nodes[node].name.empty()) return false;
    if (!board_.admits(*claimant.shape, node) || !board_.ledger().fits(node, *claimant.shape, claimant.ends))
      return false;
    board_.place(claimant, node);
    return true;
  };
  return std::all_of(ticket.places.begin(), ticket.places.end(),
                     [&](const auto& place) { return sits(claimant_of(snapshot_.pods[place.pod]), place.node); }) &&
         std::all_of(ticket.holds.begin(), ticket.holds.end(),
                     [&](const auto& hold) { return sits({hold.shape.get(), &hold.labels, std::nullopt}, hold.node); });
}

void Scheduling::take_back_broken_tickets() {
  std::vector<GangId> holders;
  for (GangId id = 0; id < snapshot_.gangs.size(); ++id)
    if (snapshot_.gangs[id].ticket) holders.push_back(id);
  // Where two hold the same lost room, the one that matters less gives it up.
  std::sort(holders.begin(), holders.end(), [&](GangId a, GangId b) {
    return std::make_tuple(priority_of(snapshot_, snapshot_.gangs[a]), order_name(snapshot_.gangs[b])) <
           std::make_tuple(priority_of(snapshot_, snapshot_.gangs[b]), order_name(snapshot_.gangs[a]));
  });
  // Whoever began to write two tickets down where one was to take the other's place may have got no further: the room
  // of a victim is the more important one's.
  std::set<PodId> promised;
  std::set<GangId> too_late;
  for (auto id = holders.rbegin(); id != holders.rend(); ++id)
    for (const PodId victim : snapshot_.gangs[*id].ticket->victims)
      if (!promised.insert(victim).second) too_late.insert(*id);
  for (const GangId id : holders) {
    if (!too_late.contains(id) && is_kept(id)) continue;
    board_.withdraw(id);
    victims_.disclaim(*snapshot_.gangs[id].ticket);
    plan_.taken_back.push_back(id);
  }
}

void Scheduling::tell_ticket_holder(GangId id) {
  const Gang& gang = snapshot_.gangs[id];
  if (!gang.ticket || board_.is_withdrawn(id) || gang.ticket->victims.empty()) return;
  Verdict verdict{.gang = id, .code = Verdict::Code::kWaitsForVictims};
  std::map<std::string, GangId> blockers;
  for (const PodId victim : gang.ticket->victims)
    if (const GangId other = snapshot_.pods[victim].gang; other != kNone)
      blockers.emplace(order_name(snapshot_.gangs[other]), other);
  for (const auto& [name, other] : blockers) verdict.blockers.push_back(other);
  verdict.message = "waits for " + std::to_string(gang.ticket->victims.size()) + " pod(s) to end and leave their room";
  plan_.verdicts.push_back(std::move(verdict));
}

// As things stand at its turn: those before it may have taken its ticket over, or members of it as victims.
std::optional<Waiting> Scheduling::waiting_of(GangId id) {
  const Gang& gang = snapshot_.gangs[id];
  Waiting waiting{.gang = id};
  std::vector<PodId> promised;
  if (gang.ticket && !board_.is_withdrawn(id))
    for (const OpenTicket::Place& place : gang.ticket->places) promised.push_back(place.pod);
  for (const PodId member : gang.members) {
    const Pod& pod = snapshot_.pods[member];
    if (pod.node != kNone || pod.is_terminating || pod.is_gated) continue;
    if (std::find(promised.begin(), promised.end(), member) == promised.end()) waiting.pods.push_back(member);
  }
  if (waiting.pods.empty()) return std::nullopt;
  std::sort(waiting.pods.begin(), waiting.pods.end(), [&](PodId a, PodId b) {
    const Pod& first = snapshot_.pods[a];
    const Pod& second = snapshot_.pods[b];
    return std::tie(first.rank, first.ns, first.name) < std::tie(second.rank, second.ns, second.name);
  });
  const std::int64_t has = victims_.running(id) + static_cast<std::int64_t>(promised.size());
  waiting.needed = std::max<std::int64_t>(0, gang.min_members - has);
  waiting.missing = std::max<std::int64_t>(0, waiting.needed - static_cast<std::int64_t>(waiting.pods.size()));
  return waiting;
}

// Everybody with members that are not bound, whether they have a ticket or not.
std::vector<GangId> Scheduling::line_up() const {
  std::vector<std::pair<std::int64_t, GangId>> line;
  for (GangId id = 0; id < snapshot_.gangs.size(); ++id) {
    const Gang& gang = snapshot_.gangs[id];
    if (std::any_of(gang.members.begin(), gang.members.end(),
                    [&](PodId member) { return snapshot_.pods[member].node == kNone; }))
      line.emplace_back(priority_of(snapshot_, gang), id);
  }
  std::sort(line.begin(), line.end(), [&](const auto& a, const auto& b) {
    const Gang& first = snapshot_.gangs[a.second];
    const Gang& second = snapshot_.gangs[b.second];
    // Of a pod and a group that are called the same, the pod.
    return std::tie(b.first, first.since, first.ns, first.name, second.is_plain) <
           std::tie(a.first, second.since, second.ns, second.name, first.is_plain);
  });
  std::vector<GangId> gangs;
  gangs.reserve(line.size());
  for (const auto& [priority, id] : line) gangs.push_back(id);
  return gangs;
}

// Those members that must be placed now, and room for all that will be made later.
std::vector<Seeker> Scheduling::seekers_of(const Waiting& waiting) const {
  std::vector<Seeker> seekers;
  for (std::int64_t i = 0; i < waiting.needed && i < static_cast<std::int64_t>(waiting.pods.size()); ++i) {
    const PodId pod = waiting.pods[static_cast<std::size_t>(i)];
    seekers.push_back({claimant_of(snapshot_.pods[pod]), pod, kNone});
  }
  const Gang& gang = snapshot_.gangs[waiting.gang];
  const bool has_begun = running_of(snapshot_, gang) > 0;
  if (gang.ticket && !board_.is_withdrawn(waiting.gang)) return seekers;
  for (std::uint32_t i = 0; i < gang.late.size(); ++i) {
    std::int64_t count = gang.late[i].count;
    // A gang that runs has had room for them since its start: all it can lack is what was held by a ticket that is
    // lost.
    if (has_begun) count = gang.ticket ? holds_of(*gang.ticket, gang.late[i]) : 0;
    for (; count > 0; --count) seekers.push_back({claimant_of(gang.late[i]), kNone, i});
  }
  return seekers;
}

// What all of them may preempt with: that of the least among them. None when one never does.
std::optional<std::int64_t> Scheduling::preempting_priority(const std::vector<Seeker>& seekers) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Seeker& seeker : seekers) {
    if (seeker.pod == kNone) continue;
    const Pod& pod = snapshot_.pods[seeker.pod];
    if (pod.never_preempts) return std::nullopt;
    least = std::min(least, pod.priority);
  }
  return least;
}

bool Scheduling::has_min_resources(const Gang& gang) const {
  return std::all_of(gang.min_resources.begin(), gang.min_resources.end(), [&](const auto& wanted) {
    std::int64_t left = 0;
    for (const NodeId node : board_.order().by_name())
      left += std::max<std::int64_t>(0, board_.ledger().left(node, wanted.first));
    return left >= wanted.second;
  });
}

void Scheduling::serve(const Waiting& waiting) {
  const Gang& gang = snapshot_.gangs[waiting.gang];
  if (waiting.missing > 0) {
    plan_.verdicts.push_back({.gang = waiting.gang,
                              .code = Verdict::Code::kGangIncomplete,
                              .message = "the pod group has " + std::to_string(gang.min_members - waiting.missing) +
                                         " of the " + std::to_string(gang.min_members) +
                                         " pods that it needs to start"});
    return;
  }
  const std::vector<Seeker> seekers = seekers_of(waiting);
  const auto priority = preempting_priority(seekers);
  const std::tuple kind{seekers.front().claimant.shape, priority.value_or(std::numeric_limits<std::int64_t>::min()),
                        seekers.front().claimant.ends.has_value(), priority.has_value()};
  const bool is_single = gang.is_plain && seekers.size() == 1 && !board_.looks_around(seekers.front().claimant);
  if (is_single) {
    if (const auto known = refused_.find(kind); known != refused_.end()) {
      Verdict verdict = known->second;
      verdict.gang = waiting.gang;
      verdict.pod = seekers.front().pod;
      plan_.verdicts.push_back(std::move(verdict));
      return;
    }
  }
  if (budget_.gangs-- <= 0) return;
  if (has_min_resources(gang) && (place_now(waiting, seekers) || make_room(waiting, seekers))) return;
  refuse(waiting, seekers);
  if (is_single) refused_.emplace(kind, plan_.verdicts.back());
  if (!plan_.reservation) plan_.reservation = reserve(board_, victims_, waiting.gang, seekers);
}

bool Scheduling::place_now(const Waiting& waiting, const std::vector<Seeker>& seekers) {
  if (seekers.size() == 1) {
    const NodeId node = finder_.find(seekers.front().claimant);
    if (node == kNone) return false;
    board_.place(seekers.front().claimant, node);
    grant(waiting, {{seekers.front(), node}}, {});
    return true;
  }
  auto seated = placer_.place(seekers);
  if (!seated) return false;
  grant(waiting, std::move(*seated), {});
  return true;
}

bool Scheduling::make_room(const Waiting& waiting, const std::vector<Seeker>& seekers) {
  const auto priority = preempting_priority(seekers);
  if (!priority || budget_.preemptions <= 0) return false;
  if (!victims_.has_anyone_below(*priority)) return false;
  --budget_.preemptions;
  auto bargain = preemption_.find(waiting.gang, seekers, *priority);
  if (!bargain) return false;
  Ticket ticket;
  ticket.waits_for = bargain->waits_for;
  ticket.withdrawn = bargain->withdrawn;
  for (const GangId other : ticket.withdrawn) {
    board_.withdraw(other);
    victims_.disclaim(*snapshot_.gangs[other].ticket);
  }
  ticket.evictions = victims_.evictions_for(bargain->evicted);
  ticket.lost_gpu_seconds = victims_.lost_by(ticket.evictions);
  std::vector<PodId> leaving = ticket.waits_for;
  for (const Eviction& eviction : ticket.evictions)
    leaving.insert(leaving.end(), eviction.pods.begin(), eviction.pods.end());
  victims_.claim(ticket.waits_for);
  victims_.claim(ticket.evictions);
  std::vector<Board::Seat> seats;
  for (const Seated& seat : bargain->seated) seats.push_back({seat.seeker.claimant, seat.node});
  board_.hold(seats, leaving);
  // What these gangs' other members would cost is different from now on.
  for (const Eviction& eviction : ticket.evictions)
    for (const PodId member : snapshot_.gangs[eviction.gang].members)
      if (snapshot_.pods[member].node != kNone) board_.note_change(snapshot_.pods[member].node);
  grant(waiting, std::move(bargain->seated), std::move(ticket));
  return true;
}

void Scheduling::grant(const Waiting& waiting, std::vector<Seated> seated, Ticket ticket) {
  ticket.gang = waiting.gang;
  for (const Seated& seat : seated) {
    if (seat.seeker.pod != kNone) {
      ticket.places.push_back({seat.seeker.pod, seat.node});
    } else {
      ticket.holds.push_back({seat.seeker.late, seat.node});
    }
  }
  std::sort(ticket.places.begin(), ticket.places.end(), [&](const Placement& a, const Placement& b) {
    const Pod& first = snapshot_.pods[a.pod];
    const Pod& second = snapshot_.pods[b.pod];
    return std::tie(first.rank, first.ns, first.name) < std::tie(second.rank, second.ns, second.name);
  });
  granted_[waiting.gang] = plan_.tickets.size();
  plan_.tickets.push_back(std::move(ticket));
}

void Scheduling::refuse(const Waiting& waiting, const std::vector<Seeker>& seekers) {
  Verdict verdict{.gang = waiting.gang};
  // The member that stands in the way of the others: the first that finds no place when they are placed in turn.
  const Board::Trial trial(board_);
  const Seeker* stuck = &seekers.front();
  for (const Seeker& seeker : seekers) {
    stuck = &seeker;
    NodeId node = kNone;
    for (const NodeId candidate : board_.admitted(*seeker.claimant.shape)) {
      if (!board_.fits(seeker.claimant, candidate)) continue;
      node = candidate;
      break;
    }
    if (node == kNone) break;
    board_.place(seeker.claimant, node);
  }
  verdict.pod = stuck->pod;
  explain_refusal(board_, victims_, stuck->claimant, preempting_priority(seekers), verdict);
  if (seekers.size() > 1)
    verdict.message =
        "all " + std::to_string(seekers.size()) + " pods of the group must fit at once: " + verdict.message;
  plan_.verdicts.push_back(std::move(verdict));
}

// After everybody's needs: one more member at a time, wherever there is room, at nobody's cost.
void Scheduling::grow(const Waiting& waiting) {
  const Gang& gang = snapshot_.gangs[waiting.gang];
  const auto at = granted_.find(waiting.gang);
  // What it needed may have cost somebody something; what it would like to have may not.
  if (waiting.needed > 0 && (at == granted_.end() || !plan_.tickets[at->second].is_immediate() ||
                             !plan_.tickets[at->second].withdrawn.empty()))
    return;
  // One thing at a time; but those for whom room is held may come only when the gang has grown.
  if (gang.ticket && !board_.is_withdrawn(waiting.gang) && !only_holds(*gang.ticket)) return;
  Ticket growth{.gang = waiting.gang, .is_growth = true};
  for (auto i = static_cast<std::size_t>(waiting.needed); i < waiting.pods.size(); ++i) {
    const PodId pod = waiting.pods[i];
    const Claimant claimant = claimant_of(snapshot_.pods[pod]);
    const NodeId node = finder_.find(claimant);
    if (node == kNone) {
      Verdict verdict{.gang = waiting.gang, .pod = pod};
      explain_refusal(board_, victims_, claimant, std::nullopt, verdict, kForGrowth);
      plan_.verdicts.push_back(std::move(verdict));
      break;
    }
    board_.place(claimant, node);
    growth.places.push_back({pod, node});
  }
  if (growth.places.empty()) return;
  if (at == granted_.end()) {
    plan_.tickets.push_back(std::move(growth));
  } else {
    auto& places = plan_.tickets[at->second].places;
    places.insert(places.end(), growth.places.begin(), growth.places.end());
  }
}

}  // namespace

Plan schedule(const Snapshot& snapshot, const Policies& policies, const Budget& budget) {
  return Scheduling(snapshot, policies, budget).run();
}

}  // namespace gangway::planning
