#include "scheduler/fence.h"

#include <algorithm>

#include "api/conditions.h"
#include "client/resource.h"
#include "json/access.h"
#include "scheduler/facts.h"

namespace gangway::scheduler {

using client::resources::kPods;

std::vector<api::Version> Fence::still_open(const client::View& view, const std::string& scheduler_name) {
  std::vector<api::Version> open;
  if (term_began_ == 0) return open;
  const auto& pods = view.objects(kPods);
  for (const api::Version& pod : pods.with_field("spec.nodeName", ""))
    if (pod.header->revision <= term_began_ && pods.facts(pod, read_pod)->scheduler == scheduler_name)
      open.push_back(pod);
  if (open.empty()) term_began_ = 0;
  return open;
}

json::Value Fence::mark(const api::Version& pod, WallTime now) {
  json::Value body = json::Object();
  auto tree = json::parse(*pod.json);
  if (!tree) return body;
  json::Array conditions = json::array_at(*tree, {"status", "conditions"});
  const auto at = std::find_if(conditions.begin(), conditions.end(), [](const json::Value& condition) {
    return json::string_at(condition, {"type"}) == "PodScheduled";
  });
  if (at == conditions.end()) {
    conditions.push_back(json::Object{{"type", "PodScheduled"},
                                      {"status", "False"},
                                      {"reason", "SchedulerChanged"},
                                      {"message", "another scheduler leads now, and has not looked at the pod yet"},
                                      {"lastProbeTime", to_rfc3339(now)},
                                      {"lastTransitionTime", to_rfc3339(now)}});
  } else {
    at->as_object()["lastProbeTime"] = to_rfc3339(now);
  }
  json::object_at(body, {"status"})["conditions"] = std::move(conditions);
  return body;
}

}  // namespace gangway::scheduler
