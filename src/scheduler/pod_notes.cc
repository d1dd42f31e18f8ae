#include "scheduler/pod_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "api/conditions.h"
#include "client/resource.h"
#include "json/access.h"
#include "json/value.h"

namespace gangway::scheduler {
namespace {

using client::resources::kEvents;
using client::resources::kNodes;

// "reason: message", of what there is.
std::string said(std::string_view reason, std::string_view message) {
  if (reason.empty() || message.empty()) return std::string(reason) + std::string(message);
  return fmt::format("{}: {}", reason, message);
}

std::string said_by(const json::Value& object, const char* condition) {
  const json::Object* found = api::find_condition(object, condition);
  if (found == nullptr) return {};
  const json::Value value = *found;
  if (json::string_at(value, {"status"}) != "True") return {};
  return said(json::string_at(value, {"reason"}), json::string_at(value, {"message"}));
}

// The newest warning about the object that an event tells of.
std::string last_warning(const client::View& view, const api::Version& about) {
  std::string newest;
  std::string text;
  for (const api::Version& event : view.objects(kEvents).in_namespace(about.header->name.ns)) {
    const auto tree = json::parse(*event.json);
    if (!tree || json::string_at(*tree, {"involvedObject", "uid"}) != about.header->uid) continue;
    if (json::string_at(*tree, {"type"}) != "Warning") continue;
    std::string at(json::string_at(*tree, {"lastTimestamp"}));
    if (at.empty()) at = json::string_at(*tree, {"eventTime"});
    if (at < newest) continue;
    newest = std::move(at);
    text = said(json::string_at(*tree, {"reason"}), json::string_at(*tree, {"message"}));
  }
  return text;
}

bool is_on_its_way(std::string_view reason) {
  return reason.empty() || reason == "ContainerCreating" || reason == "PodInitializing";
}

void note_containers(const json::Value& pod, const std::string& name, std::vector<std::string>& notes) {
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const json::Value& status : json::array_at(pod, {"status", list})) {
      const auto reason = json::string_at(status, {"state", "waiting", "reason"});
      if (is_on_its_way(reason)) continue;
      std::string note = fmt::format("pod {}: container {} cannot start: {}", name, json::string_at(status, {"name"}),
                                     said(reason, json::string_at(status, {"state", "waiting", "message"})));
      if (json::find(status, {"lastState", "terminated"}) != nullptr)
        note += fmt::format(" (last exit code {}, {} restarts)",
                            json::integer_at(status, {"lastState", "terminated", "exitCode"}),
                            json::integer_at(status, {"restartCount"}));
      notes.push_back(std::move(note));
    }
  }
}

std::string why_failed(const json::Value& pod) {
  if (std::string text = said(json::string_at(pod, {"status", "reason"}), json::string_at(pod, {"status", "message"}));
      !text.empty())
    return text;
  for (const json::Value& status : json::array_at(pod, {"status", "containerStatuses"})) {
    const std::int64_t code = json::integer_at(status, {"state", "terminated", "exitCode"});
    if (code != 0) return fmt::format("container {} ended with exit code {}", json::string_at(status, {"name"}), code);
  }
  return {};
}

}  // namespace

std::vector<std::string> notes_on_pod(const client::View& view, const api::Version& version) {
  std::vector<std::string> notes;
  const auto tree = json::parse(*version.json);
  if (!tree) return notes;
  const std::string& name = version.header->name.name;
  const auto phase = json::string_at(*tree, {"status", "phase"});
  if (phase == "Succeeded") return {fmt::format("pod {} has ended well", name)};
  if (phase == "Failed") {
    const std::string why = why_failed(*tree);
    return {fmt::format("pod {} has failed{}{}", name, why.empty() ? "" : ": ", why)};
  }
  if (version.header->deleting_since)
    notes.push_back(fmt::format("pod {} has been told to end, and is gone by {}", name,
                                to_rfc3339(*version.header->deleting_since)));
  std::vector<std::string> gates;
  for (const json::Value& gate : json::array_at(*tree, {"spec", "schedulingGates"}))
    gates.emplace_back(json::string_at(gate, {"name"}));
  const auto node = json::string_at(*tree, {"spec", "nodeName"});
  if (!gates.empty() && node.empty())
    notes.push_back(fmt::format("pod {} has scheduling gates and is not placed before they are removed: {}", name,
                                fmt::join(gates, ", ")));
  if (!node.empty() && !view.get(kNodes, {"", std::string(node)}))
    notes.push_back(fmt::format("pod {} is bound to node {}, which does not exist", name, node));
  note_containers(*tree, name, notes);
  if (notes.empty() && !node.empty() && phase == "Pending") {
    const std::string warning = last_warning(view, version);
    notes.push_back(fmt::format("pod {} is starting on node {}{}{}", name, node,
                                warning.empty() ? "" : "; the last event: ", warning));
  }
  return notes;
}

std::vector<std::string> notes_on_workload(const client::View& view, const std::string& kind,
                                           const api::Version& version, std::size_t pods) {
  std::vector<std::string> notes;
  const auto tree = json::parse(*version.json);
  if (!tree) return notes;
  const auto quote = [&](const char* condition, std::string_view words) {
    const json::Object* found = api::find_condition(*tree, condition);
    if (found == nullptr || !api::condition_is_true(*tree, condition)) return;
    const std::string text = said_by(*tree, condition);
    notes.push_back(fmt::format("{}{}{}", words, text.empty() ? "" : ": ", text));
  };
  if (version.header->deleting_since) notes.emplace_back("it is being deleted");
  if (json::flag_at(*tree, {"spec", "suspend"})) {
    const std::string text = said_by(*tree, "Suspended");
    notes.push_back(fmt::format("it is suspended (spec.suspend: true) and makes no pods until it is resumed{}{}",
                                text.empty() ? "" : ": ", text));
  }
  if (json::flag_at(*tree, {"spec", "paused"})) notes.emplace_back("it is paused (spec.paused: true)");
  quote("Complete", "it has completed");
  quote("Failed", "it has failed");
  quote("ReplicaFailure", "it cannot make its pods");
  const bool is_scaled = kind == "Deployment" || kind == "ReplicaSet" || kind == "StatefulSet";
  if (is_scaled && json::integer_at(*tree, {"spec", "replicas"}, 1) == 0)
    notes.emplace_back("it asks for no pods (spec.replicas: 0)");
  if (pods == 0 && notes.empty()) {
    const std::string warning = last_warning(view, version);
    notes.push_back(warning.empty() ? "it has no pods" : "it has no pods; the last event: " + warning);
  }
  return notes;
}

}  // namespace gangway::scheduler
