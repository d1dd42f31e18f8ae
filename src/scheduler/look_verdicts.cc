#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scheduler/look.h"

namespace gangway::scheduler {
namespace {

using client::Emit;
using client::EventType;
using client::PatchStatus;
using client::resources::kPods;
using planning::GangId;
using planning::PodId;

// What protects somebody may be over: time alone changes nothing that could be watched.
constexpr Duration kProtectionsAgain = std::chrono::seconds(10);

}  // namespace

void Scheduler::Look::tell(const planning::Verdict& verdict) {
  if (!verdict.protections.empty()) outcome_.look_again(view_.now() + kProtectionsAgain);
  for (const PodId member : snapshot_.gangs[verdict.gang].members) {
    const planning::Pod& pod = snapshot_.pods[member];
    if (pod.node != planning::kNone || pod.is_gated || pod.is_terminating) continue;
    take_nomination_back(member);
    tell(member, verdict.message);
  }
}

void Scheduler::Look::tell(PodId id, const std::string& message) {
  const api::Version pod = version_of(id);
  if (!pod || needs_of(pod)->said == "Unschedulable: " + message) return;
  const auto last = scheduler_.last_told_.find(pod.header->uid);
  if (last != scheduler_.last_told_.end()) return outcome_.look_again(last->second + kRepeatAfter);
  if (!may_write(kPods, pod.header->name)) return;
  PatchStatus patch{client::target_of(kPods, pod),
                    with_condition(pod, {"PodScheduled", "False", "Unschedulable", message}, view_.now())};
  patch.announce.done = Emit{client::subject_of(kPods, "Pod", pod), EventType::kWarning, "FailedScheduling", message};
  outcome_.allowed_now.push_back(std::move(patch));
  scheduler_.last_told_[pod.header->uid] = view_.now();
}

void Scheduler::Look::tell_refused() {
  const auto nodes = std::count_if(snapshot_.nodes.begin(), snapshot_.nodes.end(),
                                   [](const planning::Node& node) { return !node.name.empty(); });
  for (const auto& [id, refusal] : model_.refusals())
    tell(id, fmt::format("0/{0} nodes are available: {1}. preemption: 0/{0} nodes are available: "
                         "{0} Preemption is not helpful for scheduling.",
                         nodes, refusal));
}

// Somebody of higher priority has taken the room over, or it is lost with its node.
void Scheduler::Look::take_nomination_back(PodId id) {
  const api::Version pod = version_of(id);
  if (!pod || needs_of(pod)->nominated.empty()) return;
  const GangId gang = snapshot_.pods[id].gang;
  const auto& ticket = snapshot_.gangs[gang].ticket;
  const bool has_place = ticket && !withdrawn_.contains(gang) &&
                         std::any_of(ticket->places.begin(), ticket->places.end(),
                                     [&](const planning::OpenTicket::Place& place) { return place.pod == id; });
  if (has_place || !may_write(kPods, pod.header->name)) return;
  json::Value body = json::Object();
  json::object_at(body, {"status"})["nominatedNodeName"] = nullptr;
  outcome_.allowed_now.push_back(PatchStatus{client::target_of(kPods, pod), std::move(body)});
}

}  // namespace gangway::scheduler
