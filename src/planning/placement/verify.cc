#include "planning/placement/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "planning/placement/verify_fit.h"

namespace gangway::planning {
namespace {

using verifying::Crowd;
using verifying::Someone;

constexpr Duration kHour = std::chrono::hours(1);
// How many orders of a gang's kinds of members are tried before it is let pass.
constexpr int kOrdersTried = 120;

class Verification {
 public:
  Verification(const Snapshot& snapshot, const Policies& policies, const Plan& plan)
      : snapshot_(snapshot),
        policies_(policies),
        plan_(plan),
        gangs_(snapshot.gangs.size()),
        is_placed_(snapshot.pods.size()),
        claims_(snapshot.pods.size()),
        crowd_(snapshot) {}

  std::vector<std::string> run() {
    check_references();
    // What names nothing cannot be looked at any further.
    if (!problems_.empty()) return std::move(problems_);
    look_at_pods();
    look_at_open_tickets();
    for (const Ticket& ticket : plan_.tickets) {
      check_places(ticket);
      check_withdrawn(ticket);
      check_evictions(ticket);
      check_waits(ticket);
      replay(ticket);
    }
    replay_growth();
    check_gangs();
    check_room();
    check_reservation();
    check_verdicts();
    return std::move(problems_);
  }

 private:
  // What is known of a gang; `running` follows the plan.
  struct Facts {
    std::int64_t running = 0;                                          // bound, not terminating, and claimed by nobody
    std::int64_t priority = std::numeric_limits<std::int64_t>::min();  // of its highest member
    WallTime started = WallTime::max();
    std::int64_t kept = 0;    // places of its open ticket, if that is kept
    std::int64_t placed = 0;  // by the plan
    bool has_kept_ticket = false;
    bool is_stopped = false;  // by the plan
    bool has_ticket = false;
    bool has_verdict = false;
  };
  // One member of the ticket that is replayed.
  struct Member {
    Someone who;
    std::optional<WallTime> ends;
    std::string name;
  };
  // More members of a gang whose needs are met: given out after everybody's needs, in the order of the line.
  struct Growth {
    GangId gang = kNone;
    std::vector<Member> members = {};
  };
  // What one ticket takes from a node, and what those leave there whom it waits for.
  struct Share {
    Amounts takes;
    Amounts leaves;
  };

  template <class... Args>
  void report(fmt::format_string<Args...> format, Args&&... args) {
    problems_.push_back(fmt::format(format, std::forward<Args>(args)...));
  }
  std::string name_of(const Ticket& ticket) const { return full_name(snapshot_.gangs[ticket.gang]); }
  const Pod& pod(PodId id) const { return snapshot_.pods[id]; }
  bool is_running(const Pod& pod) const { return pod.node != kNone && !pod.is_terminating; }

  void check_references();
  void look_at_pods();
  void look_at_open_tickets();
  void give_up(GangId gang);
  void check_places(const Ticket& ticket);
  void check_withdrawn(const Ticket& ticket);
  void check_evictions(const Ticket& ticket);
  void check_eviction(const Ticket& ticket, const Eviction& eviction, const std::set<PodId>& inherited);
  void check_protection(const Ticket& ticket, const Gang& victim, std::int64_t priority);
  void claim(const Ticket& ticket, PodId victim);
  void check_waits(const Ticket& ticket);
  void replay(const Ticket& ticket);
  void replay_growth();
  std::string enter_by_kind(const std::vector<std::vector<Member>>& kinds);
  std::string enter_in_order(const std::vector<Member>& members);
  void check_node(const Member& member);
  void check_gangs();
  void check_late(const Ticket& ticket);
  void check_room();
  void check_reservation();
  void check_verdicts();

  std::int64_t least_priority(const Ticket& ticket) const;
  std::vector<PodId> leavers(const Ticket& ticket) const;
  Member member_of(const Placement& place) const;
  Member member_of(const Ticket& ticket, const Hold& hold) const;
  std::vector<Someone> people_of(const OpenTicket& ticket) const;
  Someone someone(PodId id) const;
  bool comes_before(GangId a, GangId b) const;

  const Snapshot& snapshot_;
  const Policies& policies_;
  const Plan& plan_;
  std::vector<Facts> gangs_;
  std::vector<bool> is_placed_;  // by an open ticket that is kept, or by the plan
  std::vector<int> claims_;      // by such tickets; what was half written may claim one twice
  Crowd crowd_;
  std::vector<Growth> growth_;
  std::map<NodeId, std::vector<std::pair<GangId, Member>>> behind_;  // by node: who may have come after the reservation
  std::vector<std::string> problems_;
};

void Verification::check_references() {
  const auto node = [&](NodeId id) { return id < snapshot_.nodes.size() && !snapshot_.nodes[id].name.empty(); };
  const auto pod = [&](PodId id) { return id < snapshot_.pods.size() && !snapshot_.pods[id].name.empty(); };
  const auto gang = [&](GangId id) { return id < snapshot_.gangs.size() && !snapshot_.gangs[id].name.empty(); };
  const auto need = [&](bool exists, const char* what, const std::string& whose) {
    if (!exists) report("places: {} names a {} that does not exist", whose, what);
  };
  const auto check_seats = [&](GangId owner, const auto& seats, const std::string& whose) {
    for (const Placement& place : seats.places) {
      need(pod(place.pod), "pod", whose);
      need(node(place.node), "node", whose);
    }
    for (const Hold& hold : seats.holds) {
      need(hold.late < snapshot_.gangs[owner].late.size(), "kind of late members", whose);
      need(node(hold.node), "node", whose);
    }
  };
  for (const Ticket& ticket : plan_.tickets) {
    need(gang(ticket.gang), "gang", "a ticket");
    if (!gang(ticket.gang)) continue;
    const std::string whose = "the ticket of " + name_of(ticket);
    check_seats(ticket.gang, ticket, whose);
    for (const Eviction& eviction : ticket.evictions) {
      need(gang(eviction.gang), "gang", whose);
      for (const PodId id : eviction.pods) need(pod(id), "pod", whose);
    }
    for (const PodId id : ticket.waits_for) need(pod(id), "pod", whose);
    for (const GangId id : ticket.withdrawn) need(gang(id), "gang", whose);
  }
  for (const GangId id : plan_.taken_back) need(gang(id), "gang", "taken_back");
  for (const Verdict& verdict : plan_.verdicts) {
    need(gang(verdict.gang), "gang", "a verdict");
    if (verdict.pod != kNone) need(pod(verdict.pod), "pod", "a verdict");
  }
  if (!plan_.reservation) return;
  need(gang(plan_.reservation->gang), "gang", "the reservation");
  if (gang(plan_.reservation->gang)) check_seats(plan_.reservation->gang, *plan_.reservation, "the reservation");
}

Someone Verification::someone(PodId id) const {
  return {pod(id).shape.get(), &pod(id).labels, pod(id).node, pod(id).is_terminating};
}

std::vector<Someone> Verification::people_of(const OpenTicket& ticket) const {
  std::vector<Someone> people;
  const auto add_one = [&](const PodShape& shape, const Labels& labels, NodeId node) {
    // A ticket is taken back when its node has gone; until then it holds nothing there.
    if (node < snapshot_.nodes.size()) people.push_back({&shape, &labels, node, false});
  };
  for (const OpenTicket::Place& place : ticket.places)
    add_one(*pod(place.pod).shape, pod(place.pod).labels, place.node);
  for (const OpenTicket::Hold& hold : ticket.holds) add_one(*hold.shape, hold.labels, hold.node);
  return people;
}

void Verification::look_at_pods() {
  for (PodId id = 0; id < snapshot_.pods.size(); ++id) {
    const Pod& one = pod(id);
    if (one.name.empty()) continue;
    if (one.gang != kNone) gangs_[one.gang].priority = std::max(gangs_[one.gang].priority, one.priority);
    if (one.node == kNone) continue;
    crowd_.enter(someone(id));
    if (one.gang == kNone || !is_running(one)) continue;
    Facts& facts = gangs_[one.gang];
    ++facts.running;
    facts.started = std::min(facts.started, one.since);
  }
}

void Verification::look_at_open_tickets() {
  for (GangId id = 0; id < snapshot_.gangs.size(); ++id) {
    const std::optional<OpenTicket>& open = snapshot_.gangs[id].ticket;
    if (!open || snapshot_.gangs[id].name.empty()) continue;
    const OpenTicket& ticket = *open;
    Facts& facts = gangs_[id];
    facts.has_kept_ticket = true;
    facts.kept = static_cast<std::int64_t>(ticket.places.size());
    for (const OpenTicket::Place& place : ticket.places) is_placed_[place.pod] = true;
    for (const PodId victim : ticket.victims) {
      if (++claims_[victim] > 1) continue;
      if (is_running(pod(victim)) && pod(victim).gang != kNone) --gangs_[pod(victim).gang].running;
    }
    for (const Someone& who : people_of(ticket)) crowd_.enter(who);
  }
  for (const GangId id : plan_.taken_back) {
    if (gangs_[id].has_kept_ticket) {
      give_up(id);
    } else {
      report("places: {} has no ticket that could be taken back", full_name(snapshot_.gangs[id]));
    }
  }
}

// An open ticket is no more.
void Verification::give_up(GangId gang) {
  const std::optional<OpenTicket>& open = snapshot_.gangs[gang].ticket;
  if (!open) return;
  const OpenTicket& ticket = *open;
  gangs_[gang].has_kept_ticket = false;
  gangs_[gang].kept = 0;
  for (const OpenTicket::Place& place : ticket.places) is_placed_[place.pod] = false;
  for (const PodId victim : ticket.victims) {
    if (--claims_[victim] > 0) continue;
    if (is_running(pod(victim)) && pod(victim).gang != kNone) ++gangs_[pod(victim).gang].running;
  }
  for (const Someone& who : people_of(ticket)) crowd_.leave(who);
}

void Verification::check_places(const Ticket& ticket) {
  Facts& facts = gangs_[ticket.gang];
  if (facts.has_ticket) report("places: {} has two tickets", name_of(ticket));
  facts.has_ticket = true;
  if (ticket.places.empty()) report("law 3: the ticket of {} places nobody", name_of(ticket));
  for (const Placement& place : ticket.places) {
    const Pod& one = pod(place.pod);
    const char* wrong = nullptr;
    if (one.gang != ticket.gang) {
      wrong = "belongs to another gang";
    } else if (one.node != kNone) {
      wrong = "is bound already";
    } else if (one.is_terminating) {
      wrong = "is terminating";
    } else if (one.is_gated) {
      wrong = "is not ours to place";
    } else if (is_placed_[place.pod]) {
      wrong = "has a place already";
    }
    if (wrong) report("places: {}, placed on {}, {}", full_name(one), snapshot_.nodes[place.node].name, wrong);
    is_placed_[place.pod] = true;
    ++facts.placed;
  }
}

std::int64_t Verification::least_priority(const Ticket& ticket) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Placement& place : ticket.places) least = std::min(least, pod(place.pod).priority);
  return ticket.places.empty() ? std::numeric_limits<std::int64_t>::min() : least;
}

std::vector<PodId> Verification::leavers(const Ticket& ticket) const {
  std::vector<PodId> pods = ticket.waits_for;
  for (const Eviction& eviction : ticket.evictions) pods.insert(pods.end(), eviction.pods.begin(), eviction.pods.end());
  return pods;
}

void Verification::check_withdrawn(const Ticket& ticket) {
  for (const GangId id : ticket.withdrawn) {
    const Gang& other = snapshot_.gangs[id];
    if (id == ticket.gang || !gangs_[id].has_kept_ticket) {
      report("places: {} withdraws a ticket that {} does not have", name_of(ticket), full_name(other));
      continue;
    }
    if (priority_of(snapshot_, other) >= least_priority(ticket))
      report("law 2: {} withdraws the ticket of {}, which is not of lower priority", name_of(ticket), full_name(other));
    give_up(id);
    // A grant that is half done is completed; nobody takes over what is left of it.
    if (const std::int64_t running = running_of(snapshot_, other); running > 0 && running < other.min_members)
      report("law 3: {} withdraws the ticket of {}, of which {} run and {} must", name_of(ticket), full_name(other),
             running, other.min_members);
  }
}

void Verification::check_evictions(const Ticket& ticket) {
  if (ticket.evictions.empty() && ticket.withdrawn.empty()) return;
  for (const Placement& place : ticket.places)
    if (pod(place.pod).never_preempts)
      report("law 2: {} preempts, and {} never may", name_of(ticket), full_name(pod(place.pod)));
  // Whoever takes over a ticket may go on with what it had begun.
  std::set<PodId> inherited;
  for (const GangId id : ticket.withdrawn)
    if (const auto& open = snapshot_.gangs[id].ticket) inherited.insert(open->victims.begin(), open->victims.end());
  for (const Eviction& eviction : ticket.evictions) check_eviction(ticket, eviction, inherited);
}

void Verification::check_eviction(const Ticket& ticket, const Eviction& eviction, const std::set<PodId>& inherited) {
  const Gang& victim = snapshot_.gangs[eviction.gang];
  Facts& facts = gangs_[eviction.gang];
  const std::int64_t priority = least_priority(ticket);
  if (eviction.pods.empty()) report("law 3: {} evicts nobody of {}", name_of(ticket), full_name(victim));
  if (eviction.gang == ticket.gang) report("law 2: {} evicts its own", name_of(ticket));
  if (facts.priority >= priority)
    report("law 2: {} (priority {}) evicts {} (priority {})", name_of(ticket), priority, full_name(victim),
           facts.priority);
  const bool is_inherited =
      std::all_of(eviction.pods.begin(), eviction.pods.end(), [&](PodId id) { return inherited.contains(id); });
  if (!facts.is_stopped && !is_inherited) check_protection(ticket, victim, priority);

  const std::int64_t before = facts.running;
  for (const PodId id : eviction.pods) {
    const Pod& one = pod(id);
    if (one.gang != eviction.gang || !is_running(one))
      report("law 3: {}, evicted for {}, does not run in {}", full_name(one), name_of(ticket), full_name(victim));
    if (eviction.how == Eviction::How::kShrink && one.rank == 0)
      report("law 3: {} is shrunk for {} by its chief {}", full_name(victim), name_of(ticket), full_name(one));
    claim(ticket, id);
  }
  switch (eviction.how) {
    case Eviction::How::kShrink:
      if (!victim.is_elastic() || facts.is_stopped)
        report("law 3: {} is shrunk for {} and cannot be", full_name(victim), name_of(ticket));
      if (facts.running < victim.min_members)
        report("law 3: {} is shrunk for {} from {} to {}, below its minimum of {}", full_name(victim), name_of(ticket),
               before, facts.running, victim.min_members);
      return;
    case Eviction::How::kRequeue:
      if (victim.on_preempt != OnPreempt::kRequeue)
        report("law 3: {} is requeued for {} and did not choose to", full_name(victim), name_of(ticket));
      if (facts.running > 0)
        report("law 3: {} is requeued for {}, but {} of it run on", full_name(victim), name_of(ticket), facts.running);
      break;
    case Eviction::How::kFail:
      if (victim.on_preempt == OnPreempt::kRequeue)
        report("law 3: {} fails for {} and chose to be requeued", full_name(victim), name_of(ticket));
      break;
  }
  facts.is_stopped = true;
}

void Verification::check_protection(const Ticket& ticket, const Gang& victim, std::int64_t priority) {
  if (priority >= policies_.top_priority) return;
  const Facts& facts = gangs_[static_cast<std::size_t>(&victim - snapshot_.gangs.data())];
  if (facts.started != WallTime::max() && snapshot_.now - facts.started < victim.min_runtime)
    report("law 2: {} evicts {}, which has not had its minimum of time", name_of(ticket), full_name(victim));
  const auto recent = std::count_if(victim.preempted.begin(), victim.preempted.end(),
                                    [&](WallTime at) { return snapshot_.now - at < kHour; });
  if (recent >= victim.max_preemptions)
    report("law 2: {} evicts {}, which was preempted {} times in an hour", name_of(ticket), full_name(victim), recent);
}

void Verification::claim(const Ticket& ticket, PodId victim) {
  if (claims_[victim] > 0) {
    report("law 4: {} counts on the room of {}, which is promised", name_of(ticket), full_name(pod(victim)));
    return;
  }
  ++claims_[victim];
  if (is_running(pod(victim)) && pod(victim).gang != kNone) --gangs_[pod(victim).gang].running;
}

void Verification::check_waits(const Ticket& ticket) {
  for (const PodId id : ticket.waits_for) {
    if (!pod(id).is_terminating || pod(id).node == kNone)
      report("law 4: {} waits for {}, which is not ending", name_of(ticket), full_name(pod(id)));
    claim(ticket, id);
  }
}

Verification::Member Verification::member_of(const Placement& place) const {
  const Pod& one = pod(place.pod);
  return {{one.shape.get(), &one.labels, place.node, false}, one.ends, full_name(one)};
}

Verification::Member Verification::member_of(const Ticket& ticket, const Hold& hold) const {
  const LateMembers& late = snapshot_.gangs[ticket.gang].late[hold.late];
  return {{late.shape.get(), &late.labels, hold.node, false}, std::nullopt, "a late member of " + name_of(ticket)};
}

void Verification::check_node(const Member& member) {
  const Node& node = snapshot_.nodes[member.who.node];
  if (const std::string objection = verifying::node_objection(*member.who.shape, node); !objection.empty())
    report("fit: {} may not be on {}: {}", member.name, node.name, objection);
}

// Those of its members that the gang cannot do without, as things stood when the ticket was given.
void Verification::replay(const Ticket& ticket) {
  const Gang& gang = snapshot_.gangs[ticket.gang];
  const Facts& facts = gangs_[ticket.gang];
  const std::int64_t needed =
      ticket.is_growth ? 0 : std::max<std::int64_t>(0, gang.min_members - facts.running - facts.kept);
  std::vector<Member> members;
  Growth growth{.gang = ticket.gang};
  for (const Placement& place : ticket.places) {
    const bool is_needed = static_cast<std::int64_t>(members.size()) < needed || !ticket.is_immediate();
    (is_needed ? members : growth.members).push_back(member_of(place));
  }
  for (const Hold& hold : ticket.holds) members.push_back(member_of(ticket, hold));
  for (const Member& member : members) {
    check_node(member);
    behind_[member.who.node].emplace_back(ticket.gang, member);
  }

  const std::vector<PodId> gone = leavers(ticket);
  for (const PodId id : gone)
    if (pod(id).node != kNone) crowd_.leave(someone(id));
  // Members that are alike are placed in their order; which kind came first is not written down.
  std::vector<std::vector<Member>> kinds;
  for (const Member& member : members) {
    const auto alike = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) {
      return kind.front().who.shape == member.who.shape && kind.front().ends == member.ends;
    });
    if (alike == kinds.end()) {
      kinds.push_back({member});
    } else {
      alike->push_back(member);
    }
  }
  if (std::string objection = enter_by_kind(kinds); !objection.empty()) problems_.push_back(std::move(objection));
  for (const PodId id : gone)
    if (pod(id).node != kNone) crowd_.enter(someone(id));
  if (!growth.members.empty()) growth_.push_back(std::move(growth));
}

// The kinds enter one after the other, in any order to which nobody objects.
std::string Verification::enter_by_kind(const std::vector<std::vector<Member>>& kinds) {
  std::vector<std::size_t> order(kinds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::string first;
  for (int tried = 1;; ++tried) {
    std::vector<Member> members;
    for (const std::size_t kind : order) members.insert(members.end(), kinds[kind].begin(), kinds[kind].end());
    std::string objection = enter_in_order(members);
    if (objection.empty() || tried == kOrdersTried) return {};
    if (first.empty()) first = std::move(objection);
    if (!std::next_permutation(order.begin(), order.end())) return first;
    for (const Member& member : members) crowd_.leave(member.who);
  }
}

// All of them enter; the first objection is said.
std::string Verification::enter_in_order(const std::vector<Member>& members) {
  std::string first;
  for (const Member& member : members) {
    if (first.empty()) {
      if (const std::string objection = crowd_.objection(member.who); !objection.empty())
        first =
            fmt::format("fit: {} may not be on {}: {}", member.name, snapshot_.nodes[member.who.node].name, objection);
    }
    crowd_.enter(member.who);
  }
  return first;
}

bool Verification::comes_before(GangId a, GangId b) const {
  const auto key = [&](GangId id) {
    const Gang& gang = snapshot_.gangs[id];
    return std::make_tuple(-priority_of(snapshot_, gang), gang.since, gang.ns, gang.name);
  };
  return key(a) < key(b);
}

void Verification::replay_growth() {
  std::stable_sort(growth_.begin(), growth_.end(),
                   [&](const Growth& a, const Growth& b) { return comes_before(a.gang, b.gang); });
  for (const Growth& growth : growth_) {
    for (const Member& member : growth.members) {
      check_node(member);
      behind_[member.who.node].emplace_back(kNone, member);
    }
    if (std::string objection = enter_in_order(growth.members); !objection.empty())
      problems_.push_back(std::move(objection));
  }
}

void Verification::check_gangs() {
  for (const Ticket& ticket : plan_.tickets) {
    const Gang& gang = snapshot_.gangs[ticket.gang];
    const Facts& facts = gangs_[ticket.gang];
    if (const std::int64_t in_all = facts.running + facts.kept + facts.placed; in_all < gang.min_members)
      report("law 3: {} would be {} of the {} that it needs", name_of(ticket), in_all, gang.min_members);
    check_late(ticket);
  }
}

void Verification::check_late(const Ticket& ticket) {
  const Gang& gang = snapshot_.gangs[ticket.gang];
  for (std::uint32_t i = 0; i < gang.late.size(); ++i) {
    const LateMembers& late = gang.late[i];
    std::int64_t wanted = late.count;
    if (gangs_[ticket.gang].has_kept_ticket || ticket.is_growth) {
      wanted = 0;
    } else if (running_of(snapshot_, gang) > 0) {
      // What has begun has had room for them since then, unless its ticket was lost.
      wanted = 0;
      if (gang.ticket)
        for (const OpenTicket::Hold& hold : gang.ticket->holds)
          if (hold.shape == late.shape && hold.labels == late.labels) ++wanted;
    }
    const auto held =
        std::count_if(ticket.holds.begin(), ticket.holds.end(), [&](const Hold& hold) { return hold.late == i; });
    if (held != wanted) report("law 3: {} has room for {} of {} late members", name_of(ticket), held, wanted);
  }
}

void Verification::check_room() {
  // By node that the plan gives something of, and ticket: the plan's by their number, then the open ones.
  std::map<NodeId, std::map<std::size_t, Share>> shares;
  const auto count_leavers = [&](std::size_t number, const std::vector<PodId>& pods) {
    for (const PodId id : std::set<PodId>(pods.begin(), pods.end()))
      if (const auto at = shares.find(pod(id).node); at != shares.end())
        add(at->second[number].leaves, pod(id).shape->request);
  };
  for (std::size_t i = 0; i < plan_.tickets.size(); ++i) {
    const Ticket& ticket = plan_.tickets[i];
    for (const Placement& place : ticket.places) add(shares[place.node][i].takes, pod(place.pod).shape->request);
    for (const Hold& hold : ticket.holds)
      add(shares[hold.node][i].takes, snapshot_.gangs[ticket.gang].late[hold.late].shape->request);
  }
  for (std::size_t i = 0; i < plan_.tickets.size(); ++i) count_leavers(i, leavers(plan_.tickets[i]));
  for (GangId id = 0; id < snapshot_.gangs.size(); ++id) {
    const std::optional<OpenTicket>& open = snapshot_.gangs[id].ticket;
    if (!open || !gangs_[id].has_kept_ticket) continue;
    const OpenTicket& ticket = *open;
    const std::size_t number = plan_.tickets.size() + id;
    for (const Someone& who : people_of(ticket))
      if (const auto at = shares.find(who.node); at != shares.end()) add(at->second[number].takes, who.shape->request);
    count_leavers(number, ticket.victims);
  }

  std::map<NodeId, Amounts> left;
  for (const auto& [node, by_ticket] : shares) left[node] = snapshot_.nodes[node].allocatable;
  for (const Pod& one : snapshot_.pods)
    if (!one.name.empty() && one.node != kNone)
      if (const auto at = left.find(one.node); at != left.end()) subtract(at->second, one.shape->request);

  // Tickets come to their room in any order. The worst for one of them is that all those have theirs already who take
  // more than their own victims leave, and that nobody else's victims have gone.
  for (const auto& [node, by_ticket] : shares) {
    for (std::size_t index = 0; index < snapshot_.resources.size(); ++index) {
      const auto id = static_cast<ResourceId>(index);
      const auto beyond = [&](const Share& share) {
        return std::max<std::int64_t>(0, amount_of(share.takes, id) - amount_of(share.leaves, id));
      };
      std::int64_t in_all = 0;
      for (const auto& [number, share] : by_ticket) in_all += beyond(share);
      for (const auto& [number, share] : by_ticket) {
        if (number >= plan_.tickets.size() || amount_of(share.takes, id) == 0) continue;
        const std::int64_t rest = amount_of(left[node], id) + amount_of(share.leaves, id) - amount_of(share.takes, id) -
                                  (in_all - beyond(share));
        if (rest < 0)
          report("law 1: {} would take {} {} too much of {}", name_of(plan_.tickets[number]), -rest,
                 snapshot_.resources.name_of(id), snapshot_.nodes[node].name);
      }
    }
  }
}

void Verification::check_reservation() {
  if (!plan_.reservation) return;
  const Reservation& reservation = *plan_.reservation;
  const Gang& gang = snapshot_.gangs[reservation.gang];
  if (gangs_[reservation.gang].has_ticket)
    report("reservation: room is kept for {}, which has a ticket", full_name(gang));
  std::map<NodeId, Amounts> wanted;
  for (const Placement& place : reservation.places) add(wanted[place.node], pod(place.pod).shape->request);
  for (const Hold& hold : reservation.holds) add(wanted[hold.node], gang.late[hold.late].shape->request);
  for (auto& [node, amounts] : wanted) {
    const auto at = behind_.find(node);
    if (at == behind_.end()) continue;
    for (const auto& [owner, member] : at->second) {
      if (owner != kNone && comes_before(owner, reservation.gang)) continue;
      if (member.ends && reservation.starts && *member.ends <= *reservation.starts) continue;
      add(amounts, member.who.shape->request);
      for (const auto& [id, amount] : member.who.shape->request)
        if (amount_of(amounts, id) > amount_of(snapshot_.nodes[node].allocatable, id))
          report("reservation: {} takes {} of {} that is kept for {}", member.name, snapshot_.resources.name_of(id),
                 snapshot_.nodes[node].name, full_name(gang));
    }
  }
}

void Verification::check_verdicts() {
  for (const Verdict& verdict : plan_.verdicts) {
    gangs_[verdict.gang].has_verdict = true;
    if (verdict.code == Verdict::Code::kUnschedulable && verdict.message.empty())
      report("law 7: {} is unschedulable and is not told why", full_name(snapshot_.gangs[verdict.gang]));
  }
  for (GangId id = 0; id < snapshot_.gangs.size(); ++id) {
    const Gang& gang = snapshot_.gangs[id];
    const Facts& facts = gangs_[id];
    if (gang.name.empty() || facts.has_verdict) continue;
    const auto waits = std::find_if(gang.members.begin(), gang.members.end(), [&](PodId member) {
      const Pod& one = pod(member);
      return one.node == kNone && !one.is_gated && !one.is_terminating && !is_placed_[member];
    });
    if (waits != gang.members.end() && facts.running + facts.kept + facts.placed < gang.min_members)
      report("law 7: {} waits with {} and is not told why", full_name(gang), full_name(pod(*waits)));
  }
}

}  // namespace

std::vector<std::string> verify(const Snapshot& snapshot, const Policies& policies, const Plan& plan) {
  return Verification(snapshot, policies, plan).run();
}

}  // namespace gangway::planning
