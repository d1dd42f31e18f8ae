#include "agent/endpoints/agent_pods.h"

#include "json/value.h"

namespace gangway::agent {
namespace {

using Stage = ContainerRecord::Stage;

const json::Value* waiting_state(const json::Value& pod, std::string_view container) {
  for (const auto key : {"containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"}) {
    const auto* statuses = json::find(pod, {"status", key});
    if (!statuses || !statuses->is_array()) continue;
    for (const auto& status : statuses->get_array())
      if (json::string_at(status, {"name"}) == container) return json::find(status, {"state", "waiting"});
  }
  return nullptr;
}

ServedContainer served_container(const PodRecord& pod, const ContainerRecord& record, const json::Value& object) {
  ServedContainer served{.name = record.name};
  const auto run = [&](unsigned attempt) { return ContainerId{pod.pod.uid, record.name, attempt}; };
  if (record.last) served.last = run(record.last->attempt);
  if (record.stage == Stage::kRunning) {
    served.current = run(record.attempt);
    served.running = true;
    served.started_at = record.started_at;
    return served;
  }
  const auto* waiting = waiting_state(object, record.name);
  if (waiting) served.waiting_reason = json::string_at(*waiting, {"reason"});
  if (record.stage == Stage::kExited) (waiting ? served.last : served.current) = run(record.attempt);
  return served;
}

}  // namespace

ServedPod served_pod(const PodRecord& record, const api::Version& object) {
  ServedPod served{.identity = record.pod, .containers = {}, .started_at = {}, .object = object};
  if (record.judged) served.started_at = record.started_at;
  const auto parsed = object.json ? json::parse(*object.json) : Result<json::Value>(json::Value());
  const json::Value tree = parsed ? *parsed : json::Value();
  for (const auto& container : record.containers)
    served.containers.push_back(served_container(record, container, tree));
  return served;
}

std::vector<ServedPod> AgentPods::pods(std::string_view node) const {
  std::vector<ServedPod> found;
  agent_.visit([&](const PodRecord& record, const api::Version& object) {
    if (record.pod.node == node) found.push_back(served_pod(record, object));
  });
  return found;
}

std::optional<ServedPod> AgentPods::find(std::string_view node, std::string_view ns, std::string_view name) const {
  std::optional<ServedPod> found;
  agent_.visit([&](const PodRecord& record, const api::Version& object) {
    const bool meant = record.pod.node == node && record.pod.ns == ns && record.pod.name == name;
    // One that is on its way out may share its name with the one that follows.
    if (meant && (!found || !record.ending)) found = served_pod(record, object);
  });
  return found;
}

bool AgentPods::is_running(const ContainerId& container) const {
  bool running = false;
  agent_.visit([&](const PodRecord& record, const api::Version&) {
    const auto* found = record.pod.uid == container.pod_uid ? record.find(container.container) : nullptr;
    running = running || (found && found->is_alive() && found->attempt == container.attempt);
  });
  return running;
}

}  // namespace gangway::agent
