#include "api/convert/kueue.h"

#include <string>

#include "api/topology_assignment.h"

namespace gangway::api {
namespace {

constexpr std::string_view kWorkloadSource = "kueue.x-k8s.io/workloadpriorityclass";
constexpr std::string_view kPodSource = "scheduling.k8s.io/priorityclass";
constexpr std::string_view kPodGroup = "scheduling.k8s.io";

// An object below the root; null when there is none.
json::Object* members(json::Value& object, std::initializer_list<std::string_view> path) {
  auto* found = json::find(object, path);
  return found && found->is_object() ? &found->get_object() : nullptr;
}

void erase(json::Object& object, std::string_view key) {
  if (auto at = object.find(key); at != object.end()) object.stable_erase(at);
}

void rename(json::Object* object, std::string_view from, std::string_view to) {
  auto* value = object ? object->if_contains(from) : nullptr;
  if (!value) return;
  json::Value moved = std::move(*value);
  erase(*object, from);
  (*object)[to] = std::move(moved);
}

std::string text_of(const json::Object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

// The objects in the list at `path`.
template <class Each>
void for_each_item(json::Value& object, std::initializer_list<std::string_view> path, Each each) {
  auto* list = json::find(object, path);
  if (!list || !list->is_array()) return;
  for (auto& item : list->get_array()) {
    if (item.is_object()) each(item.get_object());
  }
}

// ── ClusterQueue ──

void checks_to_strategy(json::Object& spec) {
  const auto* names = spec.if_contains("admissionChecks");
  if (!names) return;
  json::Array rules;
  if (names->is_array()) {
    for (const auto& name : names->get_array()) rules.push_back(json::Object{{"name", name}});
  }
  erase(spec, "admissionChecks");
  if (!rules.empty() && !spec.contains("admissionChecksStrategy"))
    spec["admissionChecksStrategy"] = json::Object{{"admissionChecks", std::move(rules)}};
}

void cluster_queue_to_newer(json::Value& queue) {
  auto* spec = members(queue, {"spec"});
  if (!spec) return;
  rename(spec, "cohort", "cohortName");
  checks_to_strategy(*spec);
  auto* fungibility = members(queue, {"spec", "flavorFungibility"});
  if (!fungibility) return;
  if (text_of(*fungibility, "whenCanBorrow") == "Borrow") (*fungibility)["whenCanBorrow"] = "MayStopSearch";
  if (text_of(*fungibility, "whenCanPreempt") == "Preempt") (*fungibility)["whenCanPreempt"] = "MayStopSearch";
}

void cluster_queue_to_older(json::Value& queue) {
  rename(members(queue, {"spec"}), "cohortName", "cohort");
}

// ── LocalQueue ──

void local_queue_to_newer(json::Value& queue) {
  rename(members(queue, {"status"}), "flavorUsage", "flavorsUsage");
}

void local_queue_to_older(json::Value& queue) {
  rename(members(queue, {"status"}), "flavorsUsage", "flavorUsage");
}

// ── Workload ──

void class_to_reference(json::Object& spec) {
  const auto name = text_of(spec, "priorityClassName");
  const auto source = text_of(spec, "priorityClassSource");
  erase(spec, "priorityClassName");
  erase(spec, "priorityClassSource");
  if (name.empty() || (source != kWorkloadSource && source != kPodSource)) return;
  const bool is_own = source == kWorkloadSource;
  spec["priorityClassRef"] = json::Object{{"group", is_own ? kKueueGroup : kPodGroup},
                                          {"kind", is_own ? "WorkloadPriorityClass" : "PriorityClass"},
                                          {"name", name}};
}

void reference_to_class(json::Object& spec) {
  const auto* reference = spec.if_contains("priorityClassRef");
  if (!reference) return;
  const auto group = std::string(json::string_at(*reference, {"group"}));
  const auto kind = std::string(json::string_at(*reference, {"kind"}));
  const auto name = std::string(json::string_at(*reference, {"name"}));
  erase(spec, "priorityClassRef");
  const bool is_own = group == kKueueGroup && kind == "WorkloadPriorityClass";
  if (name.empty() || (!is_own && (group != kPodGroup || kind != "PriorityClass"))) return;
  spec["priorityClassName"] = name;
  spec["priorityClassSource"] = is_own ? kWorkloadSource : kPodSource;
}

void workload_to_newer(json::Value& workload) {
  if (auto* spec = members(workload, {"spec"})) class_to_reference(*spec);
  rename(members(workload, {"status"}), "accumulatedPastExexcutionTimeSeconds", "accumulatedPastExecutionTimeSeconds");
  for_each_item(workload, {"status", "admission", "podSetAssignments"}, [](json::Object& assignment) {
    if (auto* topology = assignment.if_contains("topologyAssignment"); topology && topology->is_object())
      *topology = to_topology_slices(read_topology_domains(*topology));
  });
}

void workload_to_older(json::Value& workload) {
  if (auto* spec = members(workload, {"spec"})) reference_to_class(*spec);
  for_each_item(workload, {"spec", "podSets"}, [](json::Object& set) {
    if (auto* topology = set.if_contains("topologyRequest"); topology && topology->is_object())
      erase(topology->get_object(), "podsetSliceRequiredTopologyConstraints");
  });
  rename(members(workload, {"status"}), "accumulatedPastExecutionTimeSeconds", "accumulatedPastExexcutionTimeSeconds");
  for_each_item(workload, {"status", "admission", "podSetAssignments"}, [](json::Object& assignment) {
    if (auto* topology = assignment.if_contains("topologyAssignment"); topology && topology->is_object())
      *topology = to_topology_domains(read_topology_slices(*topology));
  });
}

}  // namespace

const VersionPair& cluster_queue_versions() {
  static constexpr VersionPair kPair{kKueueOlder, kKueueNewer, cluster_queue_to_newer, cluster_queue_to_older};
  return kPair;
}

const VersionPair& local_queue_versions() {
  static constexpr VersionPair kPair{kKueueOlder, kKueueNewer, local_queue_to_newer, local_queue_to_older};
  return kPair;
}

const VersionPair& workload_versions() {
  static constexpr VersionPair kPair{kKueueOlder, kKueueNewer, workload_to_newer, workload_to_older};
  return kPair;
}

}  // namespace gangway::api
