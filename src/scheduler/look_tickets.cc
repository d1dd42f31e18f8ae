#include <algorithm>
#include <utility>

#include "scheduler/look.h"

namespace gangway::scheduler {

using client::Delete;
using client::PatchStatus;
using client::resources::kPods;
using planning::GangId;
using planning::PodId;

void Scheduler::Look::take_back(const planning::Plan& plan) {
  for (const GangId gang : plan.taken_back) withdraw(gang, taken_back());
  for (const planning::Ticket& ticket : plan.tickets)
    for (const GangId gang : ticket.withdrawn) withdraw(gang, taken_over_by(full_name(snapshot_.gangs[ticket.gang])));
}

void Scheduler::Look::withdraw(GangId gang, const TicketVerdict& why) {
  withdrawn_.insert(gang);
  const planning::Gang& whose = snapshot_.gangs[gang];
  const api::ObjectName name{whose.ns, allotment_name(!whose.is_plain, whose.name)};
  // Also one that is still being written: it is closed once it is there.
  model_.pending().close(name);
  if (const api::Version allotment = view_.get(kAllotments, name)) close(allotment, kWithdrawn, why);
}

// The end of a ticket gives its room back at once: nothing is done for it any more, whether that is shown or not.
void Scheduler::Look::close(const api::Version& allotment, const char* phase, const TicketVerdict& why) {
  if (set_status(allotment, phase, why)) model_.pending().close(allotment.header->name);
}

bool Scheduler::Look::set_status(const api::Version& allotment, const char* phase, const TicketVerdict& why) {
  return patch_status(
      allotment,
      {{"phase", phase}, {"observedGeneration", allotment.header->generation}, {"verdict", to_json(why, view_.now())}});
}

void Scheduler::Look::take_on(const api::Version& allotment) {
  patch_status(allotment, {});
}

bool Scheduler::Look::patch_status(const api::Version& allotment, json::Object status) {
  if (!may_write(kAllotments, allotment.header->name)) return false;
  if (scheduler_.epoch_ > 0) status["epoch"] = scheduler_.epoch_;
  json::Value body = json::Object();
  json::object_at(body, {"status"}) = std::move(status);
  outcome_.allowed_now.push_back(PatchStatus{client::target_of(kAllotments, allotment), std::move(body)});
  return true;
}

std::vector<std::string> Scheduler::Look::names_of(const std::vector<PodId>& pods) const {
  std::vector<std::string> names;
  for (const PodId pod : pods) names.push_back(full_name(snapshot_.pods[pod]));
  return names;
}

// Goes on with a ticket, or clears it away when there is nobody left whose it is.
void Scheduler::Look::advance(const api::Version& allotment) {
  if (allotment.header->deleting_since || view_.is_held(kAllotments, allotment.header->name)) return;
  const auto facts = facts_of(allotment);
  const api::ObjectName owner{allotment.header->name.ns, facts->gang};
  const auto id = model_.find_gang(facts->is_group, owner);
  if (!id) return clear_away(allotment, *facts);
  if (!facts->is_open() || withdrawn_.contains(*id) || model_.pending().is_being_granted(allotment.header->name))
    return;
  const planning::Gang& gang = snapshot_.gangs[*id];
  if (!gang.ticket) {
    bool is_given_up = facts->places.empty();
    for (const AllotmentFacts::Place& place : facts->places) {
      const api::ObjectName name{allotment.header->name.ns, place.pod};
      const api::Version pod = view_.get(kPods, name);
      if (!pod || pod.header->uid != place.uid || is_bound(*pod.header)) continue;
      if (model_.assumed().contains(name)) return;  // its binding may still fail: the ticket is not over
      is_given_up = true;                           // a node that it counted on is gone
    }
    return is_given_up ? close(allotment, kWithdrawn, taken_back()) : close(allotment, kBound);
  }
  // One that an earlier leader wrote is taken on first: what he may still have on the way about it then fails.
  if (facts->epoch < scheduler_.epoch_) return take_on(allotment);
  release(allotment, gang);
}

// Nobody is there whose it is. What is told of a group stays as long as the group.
void Scheduler::Look::clear_away(const api::Version& allotment, const AllotmentFacts& facts) {
  const std::string& ns = allotment.header->name.ns;
  if (!facts.is_group || !view_.get(kPodGroups, {ns, facts.gang})) {
    if (may_write(kAllotments, allotment.header->name))
      outcome_.allowed_now.push_back(Delete{client::target_of(kAllotments, allotment)});
    return;
  }
  if (!facts.is_open()) return;
  const bool has_run = std::any_of(facts.places.begin(), facts.places.end(), [&](const AllotmentFacts::Place& place) {
    const api::Version pod = view_.get(kPods, {ns, place.pod});
    return pod && pod.header->uid == place.uid && is_bound(*pod.header);
  });
  has_run ? close(allotment, kBound) : close(allotment, kWithdrawn, nobody_is_left());
}

// Those in the way go; when the last has gone, its pods are bound.
void Scheduler::Look::release(const api::Version& allotment, const planning::Gang& gang) {
  for (const PodId victim : gang.ticket->victims) evict(allotment, gang, victim);
  if (!gang.ticket->victims.empty()) {
    const auto facts = facts_of(allotment);
    if (!facts->is_observed || facts->phase != kReleasing)
      set_status(allotment, kReleasing, waits_for(names_of(gang.ticket->victims)));
    return nominate(*gang.ticket);
  }
  for (const planning::OpenTicket::Place& place : gang.ticket->places)
    bind(version_of(place.pod), snapshot_.nodes[place.node].name);
}

void Scheduler::Look::nominate(const planning::OpenTicket& ticket) {
  for (const planning::OpenTicket::Place& place : ticket.places) {
    const api::Version pod = version_of(place.pod);
    const std::string& node = snapshot_.nodes[place.node].name;
    if (needs_of(pod)->nominated == node || !may_write(kPods, pod.header->name)) continue;
    json::Value body = json::Object();
    json::object_at(body, {"status"})["nominatedNodeName"] = node;
    outcome_.allowed_now.push_back(PatchStatus{client::target_of(kPods, pod), std::move(body)});
  }
}

}  // namespace gangway::scheduler
