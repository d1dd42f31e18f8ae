#include "scheduler/allotment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "client/action.h"
#include "json/access.h"

namespace gangway::scheduler {
namespace {

using planning::Eviction;

const char* word_of(Eviction::How how) {
  switch (how) {
    case Eviction::How::kShrink:
      return "Shrink";
    case Eviction::How::kRequeue:
      return "Requeue";
    case Eviction::How::kFail:
      break;
  }
  return "Fail";
}

json::Object to_json(const AllotmentFacts::Place& place) {
  return {{"pod", place.pod}, {"uid", place.uid}, {"node", place.node}};
}

json::Object to_json(const AllotmentFacts::Hold& hold) {
  json::Object object{{"name", hold.name}, {"node", hold.node}};
  if (!hold.requests.is_null()) object["requests"] = hold.requests;
  return object;
}

json::Object to_json(const AllotmentFacts::Victim& victim) {
  json::Object object{{"namespace", victim.pod.ns},
                      {"pod", victim.pod.name},
                      {"uid", victim.uid},
                      {"node", victim.node},
                      {"how", victim.how}};
  if (!victim.gang.empty()) object["gang"] = victim.gang;
  return object;
}

AllotmentFacts::Hold hold_of(const planning::Snapshot& snapshot, const planning::Gang& gang,
                             const planning::Hold& hold) {
  const planning::LateMembers& late = gang.late[hold.late];
  json::Object requests;
  for (const auto& [resource, amount] : late.shape->request) {
    const std::string& name = snapshot.resources.name_of(resource);
    requests[name] = fmt::format("{}{}", amount, name == "cpu" ? "m" : "");
  }
  return {late.name, snapshot.nodes[hold.node].name, std::move(requests)};
}

json::Object victim_of(const planning::Snapshot& snapshot, planning::PodId id, const char* how) {
  const planning::Pod& pod = snapshot.pods[id];
  json::Object victim{{"namespace", pod.ns},
                      {"pod", pod.name},
                      {"uid", pod.uid},
                      {"node", snapshot.nodes[pod.node].name},
                      {"how", how}};
  if (pod.gang != planning::kNone && !snapshot.gangs[pod.gang].is_plain)
    victim["gang"] = full_name(snapshot.gangs[pod.gang]);
  return victim;
}

}  // namespace

AllotmentFacts read_grant(const json::Value& tree) {
  AllotmentFacts facts;
  facts.is_group = json::string_at(tree, {"spec", "gang", "kind"}) == "PodGroup";
  facts.gang = json::string_at(tree, {"spec", "gang", "name"});
  facts.epoch = json::integer_at(tree, {"spec", "epoch"});
  for (const auto& place : json::array_at(tree, {"spec", "places"}))
    facts.places.push_back({std::string(json::string_at(place, {"pod"})), std::string(json::string_at(place, {"uid"})),
                            std::string(json::string_at(place, {"node"}))});
  for (const auto& hold : json::array_at(tree, {"spec", "holds"})) {
    const json::Value* requests = json::find(hold, {"requests"});
    facts.holds.push_back({std::string(json::string_at(hold, {"name"})), std::string(json::string_at(hold, {"node"})),
                           requests == nullptr ? json::Value(nullptr) : *requests});
  }
  for (const auto& victim : json::array_at(tree, {"spec", "victims"}))
    facts.victims.push_back(
        {{std::string(json::string_at(victim, {"namespace"})), std::string(json::string_at(victim, {"pod"}))},
         std::string(json::string_at(victim, {"uid"})),
         std::string(json::string_at(victim, {"node"})),
         std::string(json::string_at(victim, {"gang"})),
         std::string(json::string_at(victim, {"how"}))});
  return facts;
}

AllotmentFacts read_allotment(const api::Version& version) {
  const auto tree = json::parse(*version.json);
  if (!tree) return {};
  AllotmentFacts facts = read_grant(*tree);
  facts.epoch = std::max(facts.epoch, json::integer_at(*tree, {"status", "epoch"}));
  facts.is_observed = json::integer_at(*tree, {"status", "observedGeneration"}) == version.header->generation;
  facts.phase = json::string_at(*tree, {"status", "phase"});
  for (const auto& entry : json::array_at(*tree, {"status", "preemptedBy"})) {
    const auto at = parse_rfc3339(json::string_at(entry, {"at"}));
    if (!at) continue;
    facts.preemptions.push_back(*at);
    facts.preemption_keys.emplace_back(json::string_at(entry, {"grant"}));
  }
  return facts;
}

client::KeyIndex allotments_by_victim() {
  return {"allotments_by_victim", [](const client::ObjectCache& cache, const api::Version& allotment) {
            std::vector<std::string> uids;
            for (const auto& victim : cache.facts(allotment, read_allotment)->victims) uids.push_back(victim.uid);
            return uids;
          }};
}

std::string grant_key(const api::Header& allotment) {
  return fmt::format("{}/{} {}", allotment.name.ns, allotment.name.name, allotment.generation);
}

json::Value to_json(const TicketVerdict& verdict, WallTime since) {
  if (verdict.code.empty()) return nullptr;
  json::Array blockers;
  for (const std::string& blocker : verdict.blockers) blockers.emplace_back(blocker);
  // As a merge patch it replaces another verdict, whose blockers must not stay.
  return json::Object{{"code", verdict.code},
                      {"message", verdict.message},
                      {"blockers", verdict.blockers.empty() ? json::Value(nullptr) : json::Value(std::move(blockers))},
                      {"since", to_rfc3339(since)}};
}

TicketVerdict waits_for(const std::vector<std::string>& victims) {
  constexpr std::size_t kNamed = 10;
  const std::size_t named = std::min(victims.size(), kNamed);
  TicketVerdict verdict{"WaitsForVictims", "pods have to end first: ", {victims.begin(), victims.begin() + named}};
  verdict.message += fmt::format("{}", fmt::join(verdict.blockers, ", "));
  if (victims.size() > named) verdict.message += fmt::format(" and {} more", victims.size() - named);
  return verdict;
}

TicketVerdict taken_over_by(const std::string& gang) {
  return {"TakenOver", "its room went to " + gang, {gang}};
}

TicketVerdict taken_back() {
  return {"TakenBack", "a node that it counted on takes it no more", {}};
}

TicketVerdict nobody_is_left() {
  return {"TakenBack", "none of the pods that it was for are there any more", {}};
}

json::Value allotment_of(const planning::Snapshot& snapshot, const planning::Ticket& ticket, WallTime now,
                         std::int64_t epoch, const AllotmentFacts& kept) {
  const planning::Gang& gang = snapshot.gangs[ticket.gang];
  json::Array places;
  for (const auto& place : kept.places) places.push_back(to_json(place));
  for (const planning::Placement& place : ticket.places) {
    const planning::Pod& pod = snapshot.pods[place.pod];
    places.push_back(to_json(AllotmentFacts::Place{pod.name, pod.uid, snapshot.nodes[place.node].name}));
  }
  json::Array holds;
  for (const auto& hold : kept.holds) holds.push_back(to_json(hold));
  for (const planning::Hold& hold : ticket.holds) holds.push_back(to_json(hold_of(snapshot, gang, hold)));
  json::Array victims;
  for (const auto& victim : kept.victims) victims.push_back(to_json(victim));
  for (const Eviction& eviction : ticket.evictions)
    for (const planning::PodId pod : eviction.pods) victims.push_back(victim_of(snapshot, pod, word_of(eviction.how)));
  for (const planning::PodId pod : ticket.waits_for) victims.push_back(victim_of(snapshot, pod, "Fail"));

  json::Object spec{{"gang", json::Object{{"kind", gang.is_plain ? "Pod" : "PodGroup"}, {"name", gang.name}}},
                    {"places", std::move(places)},
                    {"grantedAt", to_rfc3339(now)}};
  if (epoch > 0) spec["epoch"] = epoch;
  if (!gang.uid.empty()) spec["gang"].as_object()["uid"] = gang.uid;
  if (!holds.empty()) spec["holds"] = std::move(holds);
  if (!victims.empty()) spec["victims"] = std::move(victims);
  if (ticket.lost_gpu_seconds > 0) spec["lostGpuSeconds"] = ticket.lost_gpu_seconds;
  return json::Object{
      {"apiVersion", "gangway.dev/v1alpha1"},
      {"kind", "Allotment"},
      {"metadata", json::Object{{"namespace", gang.ns}, {"name", allotment_name(!gang.is_plain, gang.name)}}},
      {"spec", std::move(spec)}};
}

}  // namespace gangway::scheduler
