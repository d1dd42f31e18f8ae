#include "scheduler/plan_preview.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "client/resource.h"
#include "scheduler/facts.h"
#include "scheduler/listed_model.h"
#include "scheduler/pod_notes.h"
#include "scheduler/scheduler.h"
#include "scheduler/wait_text.h"

namespace gangway::scheduler {
namespace {

using client::resources::kPods;
using planning::GangId;
using planning::kNone;
using planning::PodId;

constexpr const char* kHow[] = {"Shrink", "Fail", "Requeue"};

std::string scheduler_of(const client::View& view, const std::set<api::ObjectName>& pods) {
  for (const api::ObjectName& name : pods)
    if (const api::Version pod = view.get(kPods, name)) return view.objects(kPods).facts(pod, read_pod)->scheduler;
  return Scheduler::kDefaultName;
}

PlanPreview::Placed placed_by(const planning::Snapshot& snapshot, const planning::Ticket& ticket) {
  PlanPreview::Placed placed{.gang = name_of(snapshot.gangs[ticket.gang])};
  for (const planning::Placement& place : ticket.places)
    placed.places.emplace_back(snapshot.pods[place.pod].name, snapshot.nodes[place.node].name);
  for (const planning::Eviction& eviction : ticket.evictions) {
    PlanPreview::Victim victim{name_of(snapshot.gangs[eviction.gang]), kHow[static_cast<int>(eviction.how)], {}};
    for (const PodId pod : eviction.pods) victim.pods.push_back(snapshot.pods[pod].name);
    placed.preempts.push_back(std::move(victim));
  }
  for (const PodId pod : ticket.waits_for) placed.waits_for.push_back(full_name(snapshot.pods[pod]));
  placed.lost_gpu_seconds = ticket.lost_gpu_seconds;
  return placed;
}

}  // namespace

PlanPreview preview(const client::View& view, const std::set<api::ObjectName>& pods) {
  PlanPreview result{.now = view.now()};
  const auto model = model_of(view, scheduler_of(view, pods));
  const planning::Snapshot& snapshot = model->snapshot();
  const GangExplainer explainer(snapshot, model->policies(), priority_classes(view));
  std::set<GangId> ours;
  std::set<api::ObjectName> known;
  for (PodId id = 0; id < snapshot.pods.size(); ++id) {
    const planning::Pod& pod = snapshot.pods[id];
    if (pod.name.empty() || !pods.contains({pod.ns, pod.name})) continue;
    known.insert({pod.ns, pod.name});
    if (const auto refusal = model->refusals().find(id); refusal != model->refusals().end())
      result.notes.push_back(fmt::format("pod {} cannot be placed: {}", pod.name, refusal->second));
    ours.insert(pod.gang);
  }
  for (const api::ObjectName& name : pods) {
    const api::Version pod = view.get(kPods, name);
    if (pod && !known.contains(name))
      result.notes.push_back(fmt::format("pod {} is left to the scheduler {}", name.name,
                                         view.objects(kPods).facts(pod, read_pod)->scheduler));
    if (pod)
      for (std::string& note : notes_on_pod(view, pod)) result.notes.push_back(std::move(note));
  }
  std::set<GangId> served;
  for (const planning::Ticket& ticket : explainer.plan().tickets) {
    if (!ours.contains(ticket.gang)) continue;
    served.insert(ticket.gang);
    result.placed.push_back(placed_by(snapshot, ticket));
  }
  // Pods that nothing distinguishes are explained once.
  std::map<std::pair<const planning::PodShape*, std::int64_t>, std::size_t> alike;
  for (const GangId gang : line_of(snapshot)) {
    if (!ours.contains(gang) || served.contains(gang)) continue;
    const planning::Pod& pod = snapshot.pods[waiting_members(snapshot, gang).front()];
    if (snapshot.gangs[gang].is_plain) {
      const auto [at, is_first] = alike.emplace(std::pair(pod.shape.get(), pod.priority), result.waits.size());
      if (!is_first) {
        result.waits[at->second].pods.push_back(pod.name);
        continue;
      }
    }
    result.waits.push_back(explainer.why_waits({gang, kNone, node_selector_of(view, pod)}));
  }
  return result;
}

std::string to_text(const PlanPreview& preview) {
  std::string text;
  std::int64_t lost = 0;
  for (const PlanPreview::Placed& placed : preview.placed) {
    text += fmt::format("{} {} would go to:\n", placed.gang.kind, placed.gang.full());
    for (const auto& [pod, node] : placed.places) text += fmt::format("  {}  {}\n", node, pod);
    if (!placed.preempts.empty()) text += "  after these are preempted:\n";
    for (const PlanPreview::Victim& victim : placed.preempts)
      text += fmt::format("    {} ({}): {}\n", victim.gang.full(), victim.how, fmt::join(victim.pods, ", "));
    if (!placed.waits_for.empty())
      text += fmt::format("  after these, which are ending already, have gone: {}\n", list_of(placed.waits_for));
    lost += placed.lost_gpu_seconds;
  }
  for (const WaitReport& wait : preview.waits) text += to_text(wait, preview.now);
  for (const std::string& note : preview.notes) text += "note: " + note + "\n";
  if (!preview.placed.empty()) text += fmt::format("Lost work: {:.1f} GPU-minutes.\n", static_cast<double>(lost) / 60);
  return text;
}

json::Value to_json(const PlanPreview& preview) {
  json::Array placed;
  std::int64_t lost = 0;
  for (const PlanPreview::Placed& one : preview.placed) {
    json::Array victims;
    for (const PlanPreview::Victim& victim : one.preempts) {
      json::Object object = name_json(victim.gang);
      object["how"] = victim.how;
      object["pods"] = array_of(victim.pods);
      victims.push_back(std::move(object));
    }
    json::Object object = name_json(one.gang);
    object["places"] = places_json(one.places);
    object["preempts"] = std::move(victims);
    object["waitsFor"] = array_of(one.waits_for);
    object["lostGpuSeconds"] = one.lost_gpu_seconds;
    lost += one.lost_gpu_seconds;
    placed.push_back(std::move(object));
  }
  json::Array waits;
  for (const WaitReport& wait : preview.waits) waits.push_back(to_document(wait));
  return json::Object{{"placed", std::move(placed)},
                      {"waits", std::move(waits)},
                      {"notes", array_of(preview.notes)},
                      {"lostGpuSeconds", lost}};
}

}  // namespace gangway::scheduler
