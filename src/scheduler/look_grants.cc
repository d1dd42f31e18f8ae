#include <algorithm>
#include <utility>

#include "planning/open_ticket.h"
#include "scheduler/look.h"

namespace gangway::scheduler {

using client::Create;
using client::Update;
using client::resources::kPods;
using planning::GangId;
using planning::PodId;

// Places that were taken back, or given for others, and that Allotments still name, or may come to name.
void Scheduler::Look::read_old_promises() {
  for (const auto& [name, allotment] : view_.objects(kAllotments).all()) {
    const auto shown = facts_of(allotment);
    if (shown->is_open() && model_.grant_of(view_, name) != shown) note_old_promise(name, *shown);
  }
  for (const auto& [name, facts] : model_.pending().given_up()) note_old_promise(name, *facts);
}

void Scheduler::Look::note_old_promise(const api::ObjectName& allotment, const AllotmentFacts& facts) {
  const auto gang = model_.find_gang(facts.is_group, {allotment.ns, facts.gang});
  if (!gang) return;
  for (const AllotmentFacts::Place& place : facts.places) {
    const api::Version pod = view_.get(kPods, {allotment.ns, place.pod});
    if (!pod || pod.header->uid != place.uid || is_bound(*pod.header)) continue;
    const auto assumed = model_.assumed().find(pod.header->name);
    if (assumed != model_.assumed().end() && assumed->second.node == place.node) continue;
    if (const auto node = model_.find_node(place.node)) old_promises_.emplace(*node, *gang);
  }
  for (const AllotmentFacts::Hold& hold : facts.holds)
    if (const auto node = model_.find_node(hold.node)) old_promises_.emplace(*node, *gang);
}

// Room that is promised may be taken over by a higher priority at once, by others only when everybody can read that the
// promise is over: if this process dies before that, it is kept by the next.
bool Scheduler::Look::is_promised(const planning::Ticket& ticket) const {
  const auto priority_of = [&](GangId gang) { return planning::priority_of(snapshot_, snapshot_.gangs[gang]); };
  return std::any_of(ticket.places.begin(), ticket.places.end(), [&](const planning::Placement& place) {
    const auto [first, last] = old_promises_.equal_range(place.node);
    return std::any_of(first, last, [&](const auto& promise) {
      return promise.second != ticket.gang && priority_of(promise.second) >= priority_of(ticket.gang);
    });
  });
}

// That the minimum runs is only assumed. What more it gets waits until that is seen: bindings may fail, and a grant for
// others would no longer name those that are being bound.
bool Scheduler::Look::is_half_bound(const planning::Gang& gang) const {
  if (gang.is_plain || model_.assumed().empty()) return false;
  std::int64_t running = 0;
  bool is_being_bound = false;
  for (const PodId member : gang.members) {
    const planning::Pod& pod = snapshot_.pods[member];
    if (model_.assumed().contains({pod.ns, pod.name})) {
      is_being_bound = true;
    } else if (pod.node != planning::kNone && !pod.is_terminating) {
      ++running;
    }
  }
  return is_being_bound && running < gang.min_members;
}

// The top class may take from those who are protected, and in one plan others take what that has stopped. Written
// beside each other the second could be there without the first: it is decided anew when the first is seen.
bool Scheduler::Look::follows_the_top_class(const planning::Ticket& ticket) {
  const bool is_top = planning::priority_of(snapshot_, snapshot_.gangs[ticket.gang]) >= model_.policies().top_priority;
  bool follows = false;
  for (const planning::Eviction& eviction : ticket.evictions) {
    if (is_top) topped_.insert(eviction.gang);
    if (!is_top && topped_.contains(eviction.gang)) follows = true;
  }
  return follows;
}

void Scheduler::Look::give(const planning::Ticket& ticket) {
  const planning::Gang& gang = snapshot_.gangs[ticket.gang];
  if (follows_the_top_class(ticket)) return;
  // What it was given before may still be there, with its victims: nothing else is begun for it meanwhile.
  if (model_.pending().has_given_up({gang.ns, allotment_name(!gang.is_plain, gang.name)})) return;
  if (is_half_bound(gang) || is_promised(ticket)) return;
  const bool is_open = gang.ticket && !(ticket.is_growth && planning::only_holds(*gang.ticket));
  const bool is_simple =
      ticket.is_immediate() && ticket.holds.empty() && !is_open && (ticket.places.size() == 1 || ticket.is_growth);
  if (!is_simple) return write(ticket);
  if (shares_a_claim(ticket)) return;
  for (const planning::Placement& place : ticket.places) bind(version_of(place.pod), snapshot_.nodes[place.node].name);
}

// Two pods that wait for the same unbound claim must meet on one node: the second waits until the first is there.
bool Scheduler::Look::shares_a_claim(const planning::Ticket& ticket) {
  for (const planning::Placement& place : ticket.places) {
    const api::Version pod = version_of(place.pod);
    for (const std::string& claim : needs_of(pod)->claims) {
      const std::string& node = snapshot_.nodes[place.node].name;
      if (claims_.emplace(api::ObjectName{pod.header->name.ns, claim}, node).first->second != node) return true;
    }
  }
  return false;
}

// What the gang's open ticket still gives it: a second grant takes the place of the first.
AllotmentFacts Scheduler::Look::kept_of(const planning::Ticket& ticket) const {
  AllotmentFacts kept;
  const planning::Gang& gang = snapshot_.gangs[ticket.gang];
  if (!gang.ticket || withdrawn_.contains(ticket.gang)) return kept;
  for (const planning::OpenTicket::Place& place : gang.ticket->places)
    kept.places.push_back(
        {snapshot_.pods[place.pod].name, snapshot_.pods[place.pod].uid, snapshot_.nodes[place.node].name});
  const auto grant = model_.grant_of(view_, {gang.ns, allotment_name(!gang.is_plain, gang.name)});
  if (!grant) return kept;
  std::vector<AllotmentFacts::Hold> holds = grant->holds;
  for (const planning::OpenTicket::Hold& open : gang.ticket->holds) {
    const auto at = std::find_if(holds.begin(), holds.end(), [&](const AllotmentFacts::Hold& hold) {
      return hold.name == open.name && hold.node == snapshot_.nodes[open.node].name;
    });
    if (at == holds.end()) continue;
    kept.holds.push_back(*at);
    holds.erase(at);
  }
  for (const AllotmentFacts::Victim& victim : grant->victims)
    if (std::any_of(gang.ticket->victims.begin(), gang.ticket->victims.end(),
                    [&](PodId pod) { return snapshot_.pods[pod].uid == victim.uid; }))
      kept.victims.push_back(victim);
  return kept;
}

void Scheduler::Look::write(const planning::Ticket& ticket) {
  const planning::Gang& gang = snapshot_.gangs[ticket.gang];
  json::Value body = allotment_of(snapshot_, ticket, view_.now(), scheduler_.epoch_, kept_of(ticket));
  const api::ObjectName name{gang.ns, allotment_name(!gang.is_plain, gang.name)};
  const api::Version before = view_.get(kAllotments, name);
  auto grant = std::make_shared<const AllotmentFacts>(read_grant(body));
  client::Action write = Create{kAllotments, gang.ns, body};
  if (before) {
    auto tree = json::parse(*before.json);
    if (!tree) return;
    // Two grants are never the same, or the end of the first would be taken for that of the second.
    body.as_object()["spec"].as_object()["attempt"] = json::integer_at(*tree, {"spec", "attempt"}) + 1;
    // An embedded server's versions do not say what they are, and an update must.
    for (const char* key : {"apiVersion", "kind", "spec"}) tree->as_object()[key] = body.as_object()[key];
    write = Update{client::target_of(kAllotments, before), std::move(*tree)};
  }
  // Where something else is being written to it, the room is kept until that is over and it can be granted.
  const bool is_asked = may_write(kAllotments, name);
  if (is_asked) outcome_.allowed_now.push_back(write);
  model_.pending().grant(name, before ? before.header->revision : 0, std::move(grant), std::move(write), is_asked);
}

}  // namespace gangway::scheduler
