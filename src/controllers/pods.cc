#include "controllers/pods.h"

#include <algorithm>
#include <boost/json/monotonic_resource.hpp>

#include "api/conditions.h"
#include "api/owner.h"
#include "client/resource.h"
#include "controllers/int_or_percent.h"

namespace gangway::controllers {
namespace {

PodPhase phase_of(std::string_view text) {
  if (text == "Running") return PodPhase::kRunning;
  if (text == "Succeeded") return PodPhase::kSucceeded;
  if (text == "Failed") return PodPhase::kFailed;
  if (text == "Unknown") return PodPhase::kUnknown;
  return PodPhase::kPending;
}

}  // namespace

PodFacts read_pod(const api::Version& pod) {
  PodFacts facts;
  unsigned char room[16 * 1024];
  boost::json::monotonic_resource arena(room, sizeof(room));
  const auto tree = json::parse(*pod.json, {}, nullptr, &arena);
  if (!tree) return facts;
  facts.phase = phase_of(json::string_at(*tree, {"status", "phase"}));
  facts.node = json::string_at(*tree, {"spec", "nodeName"});
  facts.deletion_cost =
      parse_number(json::string_at(*tree, {"metadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"}))
          .value_or(0);
  if (const json::Object* ready = api::find_condition(*tree, "Ready")) {
    const json::Value condition(*ready);
    facts.ready = json::string_at(condition, {"status"}) == "True";
    if (const auto since = parse_rfc3339(json::string_at(condition, {"lastTransitionTime"})))
      facts.ready_since = *since;
  }
  for (const json::Value& container : json::array_at(*tree, {"status", "containerStatuses"}))
    facts.restarts = std::max(facts.restarts, json::integer_at(container, {"restartCount"}));
  return facts;
}

std::shared_ptr<const PodFacts> pod_facts(const client::View& view, const api::Version& pod) {
  return view.objects(client::resources::kPods).facts<PodFacts>(pod, read_pod);
}

std::optional<WallTime> available_at(const PodFacts& pod, Duration min_ready) {
  if (!pod.ready) return std::nullopt;
  if (min_ready <= Duration::zero()) return WallTime();
  // Without a time it cannot be told how long it has been ready.
  if (!pod.ready_since) return std::nullopt;
  return *pod.ready_since + min_ready;
}

json::Value pod_from_template(const json::Value& pod_template, const api::ObjectName& name,
                              const api::OwnerReference& owner) {
  json::Object metadata{{"name", name.name}, {"namespace", name.ns}, {"generateName", owner.name + "-"}};
  for (const char* key : {"labels", "annotations", "finalizers"}) {
    const json::Value* value = json::find(pod_template, {"metadata", key});
    if (value != nullptr && !value->is_null()) metadata[key] = *value;
  }
  metadata["ownerReferences"] = json::Array{api::to_json(owner)};
  const json::Value* spec = json::find(pod_template, {"spec"});
  return json::Object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", std::move(metadata)},
                      {"spec", spec == nullptr ? json::Value(json::Object()) : *spec}};
}

}  // namespace gangway::controllers
