#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "scheduler/look.h"
#include "scheduler/requeue.h"

namespace gangway::scheduler {

using client::Create;
using client::Delete;
using client::Emit;
using client::EventType;
using client::PatchStatus;
using client::resources::kPods;
using planning::PodId;

void Scheduler::Look::evict(const api::Version& allotment, const planning::Gang& gang, PodId id) {
  const planning::Pod& victim = snapshot_.pods[id];
  if (victim.is_terminating) return;
  if (!is_recorded(allotment, gang, victim)) return;
  const api::Version pod = version_of(id);
  if (!may_write(kPods, pod.header->name)) return;
  if (!needs_of(pod)->is_disrupted) {
    const api::Condition condition{"DisruptionTarget", "True", "PreemptionByScheduler",
                                   scheduler_.name_ + ": preempting to accommodate a higher priority pod"};
    outcome_.allowed_now.push_back(
        PatchStatus{client::target_of(kPods, pod), with_condition(pod, condition, view_.now())});
    return;
  }
  if (!is_remembered(allotment, gang, pod, snapshot_.gangs[victim.gang])) return;
  // Who takes its place; where it is one of a gang that takes nobody's, the first of those who do.
  PodId by = gang.ticket->places.front().pod;
  for (const planning::OpenTicket::Place& place : gang.ticket->places) {
    if (place.node != victim.node) continue;
    by = place.pod;
    break;
  }
  Delete eviction{client::target_of(kPods, pod)};
  eviction.announce.done =
      Emit{client::subject_of(kPods, "Pod", pod), EventType::kNormal, "Preempted",
           fmt::format("by {} on node {}", full_name(snapshot_.pods[by]), snapshot_.nodes[victim.node].name)};
  outcome_.allowed_now.push_back(std::move(eviction));
}

// A group that is preempted has that written down in its Allotment first: its peace is counted by it.
bool Scheduler::Look::is_recorded(const api::Version& allotment, const planning::Gang& preemptor,
                                  const planning::Pod& victim) {
  const planning::Gang& gang = snapshot_.gangs[victim.gang];
  if (gang.is_plain) return true;
  const api::Version record = allotment_of_gang(gang);
  if (!record) return true;
  const auto facts = facts_of(record);
  const std::string key = grant_key(*allotment.header);
  if (std::find(facts->preemption_keys.begin(), facts->preemption_keys.end(), key) != facts->preemption_keys.end())
    return true;
  auto tree = json::parse(*record.json);
  if (!tree) return true;
  if (!may_write(kAllotments, record.header->name)) return false;
  json::Array entries = json::array_at(*tree, {"status", "preemptedBy"});
  entries.push_back(json::Object{{"namespace", preemptor.ns},
                                 {"name", preemptor.name},
                                 {"priority", planning::priority_of(snapshot_, preemptor)},
                                 {"at", to_rfc3339(view_.now())},
                                 {"grant", key}});
  constexpr std::size_t kRemembered = 32;
  if (entries.size() > kRemembered) entries.erase(entries.begin());
  json::Value body = json::Object();
  json::object_at(body, {"status"})["preemptedBy"] = std::move(entries);
  outcome_.allowed_now.push_back(PatchStatus{client::target_of(kAllotments, record), std::move(body)});
  return false;
}

// One that comes back is written down first, with its place in line. By then it carries the condition, so that a record
// of a pod that has gone means that it was preempted and not deleted by its user.
bool Scheduler::Look::is_remembered(const api::Version& allotment, const planning::Gang& preemptor,
                                    const api::Version& pod, const planning::Gang& gang) {
  const auto victims = facts_of(allotment)->victims;
  const bool comes_back = std::any_of(victims.begin(), victims.end(), [&](const AllotmentFacts::Victim& victim) {
    return victim.uid == pod.header->uid && victim.how == "Requeue";
  });
  const api::ObjectName& name = pod.header->name;
  const bool has_pod_group = !gang.is_plain && view_.get(kPodGroups, {gang.ns, gang.name});
  if (!comes_back || !must_be_remembered(*pod.header, has_pod_group)) return true;
  const api::ObjectName record{name.ns, requeue_name(name.name, pod.header->uid)};
  if (view_.get(kRequeuedPods, record)) return true;
  if (!may_write(kRequeuedPods, record)) return false;
  outcome_.allowed_now.push_back(
      Create{kRequeuedPods, name.ns, requeue_of(pod, gang, full_name(preemptor), grant_key(*allotment.header))});
  return false;
}

}  // namespace gangway::scheduler
