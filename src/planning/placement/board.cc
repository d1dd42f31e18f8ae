#include "planning/placement/board.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "planning/placement/judge.h"

namespace gangway::planning {

Claimant claimant_of(const Pod& pod) {
  return {pod.shape.get(), &pod.labels, pod.ends};
}

Claimant claimant_of(const LateMembers& late) {
  return {late.shape.get(), &late.labels, std::nullopt};
}

Board::Board(const Snapshot& snapshot, const Policies& policies)
    : snapshot_(snapshot),
      policies_(policies),
      order_(snapshot),
      ledger_(snapshot),
      topology_(snapshot),
      withdrawn_(snapshot.gangs.size()) {
  for (const Pod& pod : snapshot.pods)
    if (!pod.name.empty() && pod.node != kNone) add_ports(*pod.shape, pod.node, 1);
  for (const Gang& gang : snapshot.gangs)
    if (gang.ticket) move_ticket(gang, 1);
  changes_.clear();
}

const Judgement& Board::judge(const PodShape& shape) {
  const auto [at, is_new] = judgements_.try_emplace(&shape);
  Judgement& judgement = at->second;
  if (!is_new) return judgement;
  std::map<std::int64_t, Judgement::Group, std::greater<>> groups;
  judgement.asks_for_names = asks_for_names(shape);
  const auto judge_node = [&](NodeId id, std::int64_t stands_for) -> Judgement::Group* {
    const Node& node = snapshot_.nodes[id];
    if (std::string reason = why_not(shape, node); !reason.empty()) {
      judgement.refusals[std::move(reason)] += stands_for;
      return nullptr;
    }
    const std::int64_t preference = preference_for(shape, node);
    Judgement::Group& group = groups[preference];
    group.preference = preference;
    return &group;
  };
  if (judgement.asks_for_names) {
    for (const NodeId id : order_.by_name())
      if (Judgement::Group* group = judge_node(id, 1)) group->nodes.push_back(id);
  } else {
    for (ClassId id = 0; id < order_.classes().size(); ++id) {
      const NodeClass& nodes = order_.classes()[id];
      if (Judgement::Group* group = judge_node(nodes.nodes.front(), static_cast<std::int64_t>(nodes.nodes.size())))
        group->classes.push_back(id);
    }
  }
  for (auto& [preference, group] : groups) judgement.groups.push_back(std::move(group));
  return judgement;
}

const std::vector<NodeId>& Board::admitted(const PodShape& shape) {
  const auto [at, is_new] = admitted_.try_emplace(&shape);
  if (!is_new) return at->second;
  for (const Judgement::Group& group : judge(shape).groups) {
    at->second.insert(at->second.end(), group.nodes.begin(), group.nodes.end());
    for (const ClassId id : group.classes) {
      const auto& nodes = order_.classes()[id].nodes;
      at->second.insert(at->second.end(), nodes.begin(), nodes.end());
    }
  }
  std::sort(at->second.begin(), at->second.end(), [&](NodeId a, NodeId b) { return order_.rank(a) < order_.rank(b); });
  return at->second;
}

bool Board::admits(const PodShape& shape, NodeId node) {
  return why_not(shape, snapshot_.nodes[node]).empty();
}

bool Board::looks_around(const Claimant& claimant) const {
  return !claimant.shape->ports.empty() || topology_.concerns(*claimant.shape, *claimant.labels);
}

bool Board::fits(const Claimant& claimant, NodeId node) {
  if (!ledger_.fits(node, *claimant.shape, claimant.ends) || !has_free_ports(*claimant.shape, node)) return false;
  return !topology_.concerns(*claimant.shape, *claimant.labels) ||
         topology_.why_not(*claimant.shape, *claimant.labels, node).empty();
}

bool Board::has_free_ports(const PodShape& shape, NodeId node) const {
  if (shape.ports.empty()) return true;
  const auto at = ports_.find(node);
  if (at == ports_.end()) return true;
  return std::none_of(shape.ports.begin(), shape.ports.end(), [&](const HostPort& wanted) {
    return std::any_of(at->second.begin(), at->second.end(),
                       [&](const HostPort& taken) { return wanted.collides_with(taken); });
  });
}

void Board::add_ports(const PodShape& shape, NodeId node, std::int64_t sign) {
  if (shape.ports.empty()) return;
  std::vector<HostPort>& taken = ports_[node];
  for (const HostPort& port : shape.ports) {
    if (sign > 0) {
      taken.push_back(port);
    } else if (const auto at = std::find(taken.begin(), taken.end(), port); at != taken.end()) {
      taken.erase(at);
    }
  }
}

void Board::place(const Claimant& claimant, NodeId node) {
  make({.kind = Move::Kind::kPlace, .claimant = claimant, .node = node});
}

void Board::hold(const std::vector<Seat>& seats, const std::vector<PodId>& victims) {
  std::map<NodeId, Amounts> wanted;
  for (const Seat& seat : seats) {
    add(wanted[seat.node], seat.claimant.shape->request);
    make({.kind = Move::Kind::kPresence, .claimant = seat.claimant, .node = seat.node});
  }
  for (auto& [node, amounts] : beyond_victims(snapshot_, std::move(wanted), victims))
    make({.kind = Move::Kind::kAmounts, .node = node, .amounts = std::move(amounts)});
}

void Board::remove(PodId pod) {
  make({.kind = Move::Kind::kRemove, .id = pod});
}

void Board::put_back(PodId pod) {
  make({.kind = Move::Kind::kRemove, .sign = -1, .id = pod});
}

void Board::withdraw(GangId gang) {
  make({.kind = Move::Kind::kWithdraw, .id = gang});
}

void Board::restore(GangId gang) {
  make({.kind = Move::Kind::kWithdraw, .sign = -1, .id = gang});
}

void Board::make(Move move) {
  apply(move);
  moves_.push_back(std::move(move));
}

void Board::roll_back(Savepoint to) {
  while (moves_.size() > to) {
    Move inverse = std::move(moves_.back());
    moves_.pop_back();
    inverse.sign = -inverse.sign;
    apply(inverse);
  }
}

void Board::move_room(const Amounts& amounts, NodeId node, std::int64_t sign) {
  if (sign > 0) {
    ledger_.take(node, amounts);
  } else {
    ledger_.give(node, amounts);
  }
  room_changed(node);
}

void Board::move_presence(const Claimant& claimant, NodeId node, std::int64_t sign, bool is_terminating) {
  add_ports(*claimant.shape, node, sign);
  topology_.add({claimant.shape, claimant.labels, node, sign, is_terminating});
}

// Sign 1: the ticket comes.
void Board::move_ticket(const Gang& gang, std::int64_t sign) {
  // The node may have gone since: the ticket is about to be taken back then.
  const auto exists = [&](NodeId node) { return node < snapshot_.nodes.size(); };
  for (const NetHold& held : net_holds(snapshot_, *gang.ticket))
    if (exists(held.node)) move_room(held.amounts, held.node, sign);
  for (const OpenTicket::Place& place : gang.ticket->places)
    if (exists(place.node)) move_presence(claimant_of(snapshot_.pods[place.pod]), place.node, sign, false);
  for (const OpenTicket::Hold& held : gang.ticket->holds)
    if (exists(held.node)) move_presence({held.shape.get(), &held.labels, std::nullopt}, held.node, sign, false);
}

void Board::apply(const Move& move) {
  const auto whole = [&](const Claimant& claimant, NodeId node, std::int64_t sign, bool is_terminating) {
    if (sign > 0) {
      ledger_.take(node, *claimant.shape);
    } else {
      ledger_.give(node, *claimant.shape);
    }
    room_changed(node);
    move_presence(claimant, node, sign, is_terminating);
  };
  switch (move.kind) {
    case Move::Kind::kPlace:
      ledger_.come(move.node, *move.claimant.shape, move.claimant.ends, move.sign);
      return whole(move.claimant, move.node, move.sign, false);
    case Move::Kind::kPresence:
      ledger_.come(move.node, *move.claimant.shape, move.claimant.ends, move.sign);
      return move_presence(move.claimant, move.node, move.sign, false);
    case Move::Kind::kAmounts:
      return move_room(move.amounts, move.node, move.sign);
    case Move::Kind::kRemove: {
      const Pod& pod = snapshot_.pods[move.id];
      return whole(claimant_of(pod), pod.node, -move.sign, pod.is_terminating);
    }
    case Move::Kind::kWithdraw:
      withdrawn_[move.id] = move.sign > 0;
      return move_ticket(snapshot_.gangs[move.id], -move.sign);
  }
}

}  // namespace gangway::planning
